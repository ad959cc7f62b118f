/**
 * Which faults stand for which structure of a GPU: where they strike, who is struck, and how.
 *
 * A structure is modelled by what a fault in it does to values of the source. That is exact for
 * what leaves a lane, and an approximation of what lies below the source; docs/campaigns.md says
 * for each structure why.
 */
import { structures } from "belay-gpu/internal/compiler/configurations";
import type { FaultSite } from "belay-gpu/internal/compiler/contract";
import type { ArmedFault } from "belay-gpu/internal/runtime/injection/injector";
import { type StruckKernel, type StruckSite, toExecution } from "./profile.ts";
import { Draws } from "./random.ts";

/**
 * What faults in the program's own values and memory stand for: the structures of the coverage
 * tables, and global memory.
 */
export const programStructures = [...structures, "L1", "memory"] as const;
/**
 * What protection adds to kernels: all of it, but for what happens between comparison and store,
 * and that window.
 */
export const addedStructures = ["machinery", "window"] as const;
/** All that faults strike. */
export const struckStructures = [...programStructures, ...addedStructures] as const;
/** A structure that faults strike; see {@link struckStructures}. */
export type StruckStructure = (typeof struckStructures)[number];

/**
 * The ways in which a fault changes what it strikes. docs/campaigns.md says which stand for which
 * structure.
 */
export const faultModels = [
  "single-bit",
  "adjacent-bits",
  "random-word",
  "zero",
  "stuck-lane",
  "subgroup-wide",
  "address",
  "branch",
  "skip",
  "at-rest",
] as const;
/** How a fault changes what it strikes; see {@link faultModels}. */
export type FaultModel = (typeof faultModels)[number];

/** A bit that flips in a buffer while nothing uses it. */
export interface RestingFault {
  /** The program's buffers are numbered as it makes them. */
  readonly buffer: number;
  readonly byteOffset: number;
  readonly mask: number;
}

/** A fault in what executes a kernel, or in memory. */
export type Fault = ArmedFault | RestingFault;

export const isResting = (fault: Fault): fault is RestingFault => "buffer" in fault;

type SiteKind = FaultSite["kind"];

interface Strikes {
  readonly kind: SiteKind;
  /** Only values that are the same in all lanes of a subgroup. */
  readonly uniform?: true;
  /** Which sites in what protection adds; default: none of them. */
  readonly machinery?: FaultSite["machinery"];
  readonly extent: NonNullable<ArmedFault["extent"]>;
  readonly models: readonly FaultModel[];
}

const wrongWord = ["single-bit", "adjacent-bits", "random-word", "zero"] as const;
const lane = { kind: "value", extent: "invocation" } as const;
const scalar = { kind: "value", extent: "subgroup", uniform: true, models: wrongWord } as const;

const added = { ...lane, models: [...wrongWord, "branch", "skip"] } as const;

const strikesOf: Readonly<Record<Exclude<StruckStructure, "memory">, Strikes>> = {
  ALU: { ...lane, models: [...wrongWord, "stuck-lane", "address"] },
  VRF: { ...lane, models: [...wrongWord, "address"] },
  LDS: { kind: "local", extent: "invocation", models: wrongWord },
  SU: scalar,
  SRF: scalar,
  ID: { kind: "value", extent: "subgroup", models: ["subgroup-wide"] },
  "IF/SCHED": { kind: "branch", extent: "subgroup", models: ["branch", "skip"] },
  machinery: { ...added, machinery: "inside" },
  window: { ...added, machinery: "window" },
  L1: { kind: "load", extent: "line", models: wrongWord },
};

/** Models whose sites are of a kind of their own, whatever structure they stand for. */
const kindOf: Partial<Record<FaultModel, SiteKind>> = {
  address: "address",
  branch: "branch",
  skip: "statement",
};

/** The models that stand for a structure. */
export function modelsOf(structure: StruckStructure): readonly FaultModel[] {
  return structure === "memory" ? ["at-rest"] : strikesOf[structure].models;
}

/**
 * The sites of a kernel that a fault of this model in this structure can strike, as far as a run
 * executes them.
 */
function sitesFor(kernel: StruckKernel, structure: StruckStructure, model: FaultModel): StruckSite[] {
  if (structure === "memory") return [];
  const { kind, uniform, machinery } = strikesOf[structure];
  return kernel.sites.filter(
    (site) =>
      site.samples.length > 0 &&
      site.machinery === machinery &&
      site.kind === (kindOf[model] ?? kind) &&
      (uniform === undefined || site.uniform),
  );
}

/**
 * Of the models allowed, those that stand for a structure and have something to strike in the
 * kernel.
 */
export function modelsFor(
  kernel: StruckKernel,
  structure: StruckStructure,
  allowed: readonly FaultModel[],
): FaultModel[] {
  return modelsOf(structure).filter(
    (model) => allowed.includes(model) && sitesFor(kernel, structure, model).length > 0,
  );
}

/**
 * How many times the loop iterations of a clean run a struck invocation may run before it counts as
 * hanging.
 */
const FUEL = 8;

/**
 * Draws a fault that strikes a kernel: each of `models` is as likely, and with it each word of each
 * execution of its sites. The name decides everything.
 */
export function drawFault(
  name: string,
  kernel: StruckKernel,
  structure: Exclude<StruckStructure, "memory">,
  models: readonly FaultModel[],
  replicas: 1 | 2,
): { model: FaultModel; fault: ArmedFault } {
  const draws = new Draws(name);
  const model = draws.pick(models);
  const sites = sitesFor(kernel, structure, model);
  const site = draws.weighted(sites, ({ executions, components }) => executions * Math.max(1, components))!;
  const fault: ArmedFault = {
    kernel: kernel.kernel,
    site: site.id,
    ...toExecution(draws.pick(site.samples)),
    replica: draws.below(replicas) as 0 | 1,
    component: draws.below(Math.max(1, site.components)),
    effect: effectOf(model, draws),
    extent: strikesOf[structure].extent,
    duration: model === "stuck-lane" ? "launch" : "once",
    fuel: FUEL * kernel.iterations + 1000,
  };
  return { model, fault };
}

function effectOf(model: FaultModel, draws: Draws): ArmedFault["effect"] {
  const bit = draws.below(32);
  switch (model) {
    case "zero":
      return { set: 0 };
    case "adjacent-bits":
      return { xor: 0b11 * 2 ** (bit % 31) };
    case "random-word":
    case "subgroup-wide":
      return { xor: draws.word() || 1 };
    case "branch":
    case "skip":
      return { xor: 1 };
    default:
      return { xor: 2 ** bit };
  }
}

/** Draws a bit of a buffer at rest; each byte of all of them is as likely. */
export function drawRestingFault(name: string, bufferBytes: readonly number[]): RestingFault {
  const draws = new Draws(name);
  const buffers = bufferBytes.map((bytes, buffer) => ({ bytes, buffer }));
  const { bytes, buffer } = draws.weighted(buffers, (each) => each.bytes)!;
  return { buffer, byteOffset: 4 * draws.below(Math.floor(bytes / 4)), mask: 2 ** draws.below(32) };
}

/** The bits that differ after a fault, as far as the fault alone decides them. */
export function struckBits(fault: Fault): number | undefined {
  if (isResting(fault)) return fault.mask;
  return "xor" in fault.effect ? fault.effect.xor : undefined;
}
