/** The words of the report buffer by which the host arms a fault and learns its outcome. */

/**
 * The offsets of these words, between `reportWords.grid` and `reportWords.skip`. The host arms
 * a fault by writing the `armed*` words (site 0 = none).
 */
export const injectionWords = {
  /** The number of times that an armed fault struck. */
  strikes: 5,
  /** The number of times that an invocation ran out of fuel. */
  hangs: 6,
  /** The last struck word, as it was before. */
  struck: 7,
  /** The number of dispatches of the kernel since the fault was armed. */
  dispatch: 8,
  armedSite: 9,
  /** The struck replica, 0 or 1. */
  armedReplica: 10,
  /** The struck invocations, a value of `faultExtent`. */
  armedExtent: 11,
  /** The bits of the struck word that are cleared first. */
  armedClear: 12,
  /** The bits of the struck word that are then flipped. */
  armedMask: 13,
  /** The struck component of a vector. */
  armedComponent: 14,
  /**
   * The struck invocation, numbered as in the unprotected kernel: workgroup id x, y, z and local
   * invocation index.
   */
  armedWorkgroupX: 15,
  armedWorkgroupY: 16,
  armedWorkgroupZ: 17,
  armedLocalIndex: 18,
  /** The first struck execution of the site by that invocation, counted from 0. */
  armedOccurrence: 19,
  /** The number of struck executions. */
  armedOccurrences: 20,
  /** The first struck dispatch, counted from 0. */
  armedDispatch: 21,
  /** The number of struck dispatches. */
  armedDispatches: 22,
  /** The line of memory whose loads are struck. */
  armedLine: 23,
  /** The loop iterations that an invocation may execute; 0 for no limit. */
  fuel: 24,
} as const;

/** The members of the report at these words, as WGSL. */
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
  fuel: u32,`;

/**
 * The invocations that an armed fault strikes: one, all that run in its subgroup, or all that load
 * from a line of memory.
 */
export const faultExtent = { invocation: 0, subgroup: 1, line: 2 } as const;

/** The bytes of a line of memory. */
export const lineBytes = 128;
