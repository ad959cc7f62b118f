/**
 * The faults that represent each structure of a GPU: their sites, their victims and their effects.
 *
 * A structure is modeled by the effect of its faults on values of the source. The model is exact
 * for values that leave a lane. It approximates everything below the source;
 * docs/design/measurements/faults.md gives the reasons for each structure.
 */
import { structures } from "belay-gpu/internal/compiler/configurations";
import type { CampaignSite } from "belay-gpu/internal/compiler/contract";
import type { ArmedFault } from "belay-gpu/internal/runtime/injection/injector";
import { type StruckKernel, type StruckSite, toExecution } from "./profile.ts";
import { Draws } from "./random.ts";

/**
 * The structures that faults in the program's own values and memory represent: those of the
 * coverage tables, and memory.
 */
export const programStructures = [...structures, "L1", "memory"] as const;
/**
 * The parts of the code that protection adds. The window lies between comparison and store; the
 * machinery is the rest.
 */
export const addedStructures = ["machinery", "window"] as const;
/** The structures that faults can strike. */
export const struckStructures = [...programStructures, ...addedStructures] as const;
/** A structure that faults can strike; see {@link struckStructures}. */
export type StruckStructure = (typeof struckStructures)[number];

/**
 * The effects that a fault can have. docs/design/measurements/faults.md says which represent which
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
/** The effect of a fault; see {@link faultModels}. */
export type FaultModel = (typeof faultModels)[number];

/** A bit that flips in a buffer while nothing uses the buffer. */
export interface RestingFault {
  /** The number of the buffer, in the order in which the program creates its buffers. */
  readonly buffer: number;
  readonly byteOffset: number;
  readonly mask: number;
}

/** A fault in the execution of a kernel, or in memory. */
export type Fault = ArmedFault | RestingFault;

export const isResting = (fault: Fault): fault is RestingFault => "buffer" in fault;

type SiteKind = CampaignSite["kind"];

interface Strikes {
  readonly kind: SiteKind;
  /** True if only values that are the same in all lanes of a subgroup are struck. */
  readonly uniform?: true;
  /** The part of the added code that is struck. Default: none of it. */
  readonly machinery?: CampaignSite["machinery"];
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

/** The kinds of sites for models whose kind does not depend on the structure. */
const kindOf: Partial<Record<FaultModel, SiteKind>> = {
  address: "address",
  branch: "branch",
  skip: "statement",
};

/** Returns the models that represent a structure. */
export function modelsOf(structure: StruckStructure): readonly FaultModel[] {
  return structure === "memory" ? ["at-rest"] : strikesOf[structure].models;
}

/**
 * Returns the executed sites of a kernel that a fault of this model in this structure can strike.
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

/** Returns the allowed models that represent a structure and have a site in the kernel. */
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
 * The factor on a clean run's loop iterations after which a struck invocation counts as hanging.
 */
const FUEL = 8;

/**
 * Draws a fault that strikes a kernel. Each of `models` is equally likely. Within a model, each
 * word of each execution of its sites is equally likely. The name alone determines the fault.
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

/** Draws a bit of a buffer at rest. All words of all buffers are equally likely. */
export function drawRestingFault(name: string, bufferBytes: readonly number[]): RestingFault {
  const draws = new Draws(name);
  const buffers = bufferBytes.map((bytes, buffer) => ({ bytes, buffer }));
  const { bytes, buffer } = draws.weighted(buffers, (each) => each.bytes)!;
  return { buffer, byteOffset: 4 * draws.below(Math.floor(bytes / 4)), mask: 2 ** draws.below(32) };
}

/** Returns the bits that a fault flips, or undefined if they also depend on the struck value. */
export function struckBits(fault: Fault): number | undefined {
  if (isResting(fault)) return fault.mask;
  return "xor" in fault.effect ? fault.effect.xor : undefined;
}
