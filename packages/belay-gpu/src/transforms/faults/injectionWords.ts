/** The part of the report buffer by which the host arms a fault and learns what became of it. */
import { reportWords } from "../redundancy/reportBuffer.ts";

/**
 * The words of a report, with `injectFaults`, that follow `reportWords.grid`. The host arms a fault
 * by writing the `armed*` words (site 0 = none).
 */
export const injectionWords = {
  /** How often an armed fault really struck. */
  strikes: 5,
  /** How often an invocation ran out of fuel. */
  hangs: 6,
  /** The word that was struck last, before it was. */
  struck: 7,
  /** Dispatches of the kernel since the fault was armed. */
  dispatch: 8,
  armedSite: 9,
  /** 0 or 1: the replica struck. */
  armedReplica: 10,
  /** Who is struck (`faultExtent`). */
  armedExtent: 11,
  /** The bits of the struck word that are cleared first. */
  armedClear: 12,
  /** XORed into the struck word then. */
  armedMask: 13,
  /** Component of a vector value. */
  armedComponent: 14,
  /**
   * The struck invocation: workgroup id x, y, z and local invocation index, as the unprotected
   * kernel numbers them.
   */
  armedWorkgroupX: 15,
  armedWorkgroupY: 16,
  armedWorkgroupZ: 17,
  armedLocalIndex: 18,
  /**
   * The first dynamic execution of the site by that invocation that is struck, counted from 0, and
   * how many are.
   */
  armedOccurrence: 19,
  armedOccurrences: 20,
  /** The first dispatch that is struck, counted from 0, and how many are. */
  armedDispatch: 21,
  armedDispatches: 22,
  /** The line of memory whose loads are struck. */
  armedLine: 23,
  /** How many turns of loops an invocation may take; 0 for any number. */
  fuel: 24,
} as const;

/** The members of the report at these words. The last one fills the space before the records. */
export const injectionMembers = `
  strikes: atomic<u32>,
  hangs: atomic<u32>,
  struck: u32,
  dispatch: u32,
  armed_site: u32,
  armed_replica: u32,
  armed_extent: u32,
  armed_clear: u32,
  armed_mask: u32,
  armed_component: u32,
  armed_workgroup_x: u32,
  armed_workgroup_y: u32,
  armed_workgroup_z: u32,
  armed_local_index: u32,
  armed_occurrence: u32,
  armed_occurrences: u32,
  armed_dispatch: u32,
  armed_dispatches: u32,
  armed_line: u32,
  @size(${4 * (reportWords.records - injectionWords.fuel)}) fuel: u32,`;

/**
 * Who is struck by an armed fault: one invocation, all that run in its subgroup, or all who load
 * from a line of memory.
 */
export const faultExtent = { invocation: 0, subgroup: 1, line: 2 } as const;

/** Bytes of a line of memory. */
export const lineBytes = 128;
