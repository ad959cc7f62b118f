/** Chooses the values of a kernel that are computed twice, from what faults in them did. */
import type { Span } from "../diagnostics/diagnostic.ts";
import { listOf, refuseUnknown, type Values, wholeFrom } from "../diagnostics/options.ts";
import type { Structure } from "./configurations.ts";

/** The faults that a campaign injected into one value of an unprotected kernel. */
export interface ValueFaults {
  /** The place of the value in the source. */
  readonly span: Span;
  /** The executions of the value in one run. */
  readonly executions: number;
  /** The injected faults. Each executed word is struck with the same probability. */
  readonly injected: number;
  /** The faults that ended in silent corruption. */
  readonly silent: number;
}

/** The faults that a campaign injected into one kernel. */
export interface KernelFaults {
  /** The WGSL of the kernel's module, as the program has it, or its digest (`digestOf`). */
  readonly source: string;
  /** The name of the entry point. */
  readonly entryPoint: string;
  /** The values that faults have struck. */
  readonly values: readonly ValueFaults[];
}

/** Selective protection: a share of the faults that corrupt results silently. */
export interface SelectiveCover {
  /** The least share of silent corruption to detect, such as 0.99. */
  readonly sdc: number;
  /** The kernels that campaigns have struck. Other kernels are protected as a whole. */
  readonly faults: readonly KernelFaults[];
}

/** Returns true for a cover that asks for a share of silent corruption. */
export const isSelective = (cover: unknown): cover is SelectiveCover =>
  typeof cover === "object" && cover !== null && !Array.isArray(cover);

const text: Values = { what: "a text", has: (value) => typeof value === "string" && value !== "" };
const share: Values = {
  what: "a number above 0, and at most 1",
  has: (value) => typeof value === "number" && value > 0 && value <= 1,
};

/** Throws a `TypeError` that names the first wrong part of a selective cover. */
export function refuseWrongCover(cover: SelectiveCover): void {
  refuseUnknown(cover, { sdc: share, faults: listOf("kernels", () => true) }, " of cover", ["sdc", "faults"]);
  for (const [i, kernel] of cover.faults.entries()) {
    const of = `cover.faults[${i}]`;
    refuseUnknown(
      kernel,
      { source: text, entryPoint: text, values: listOf("values", () => true) },
      ` of ${of}`,
      ["source", "entryPoint", "values"],
    );
    for (const [j, value] of kernel.values.entries()) refuseWrongValue(value, `${of}.values[${j}]`);
  }
}

function refuseWrongValue(value: ValueFaults, of: string): void {
  const whole = wholeFrom(0);
  const names = ["span", "executions", "injected", "silent"] as const;
  const anObject: Values = { what: "an object", has: (each) => typeof each === "object" && each !== null };
  refuseUnknown(
    value,
    { span: anObject, executions: whole, injected: whole, silent: whole },
    ` of ${of}`,
    names,
  );
  const { span, injected, silent } = value;
  refuseUnknown(span, { start: whole, end: whole }, ` of ${of}.span`, ["start", "end"]);
  if (span.end < span.start) throw new TypeError(`${of}.span ends before it starts`);
  if (silent > injected)
    throw new TypeError(`${of} has ${silent} silent faults, and ${injected} were injected`);
}

/** The structures to cover where nothing else is asked for. */
export const usuallyCovered: readonly Structure[] = ["ALU", "VRF", "LDS"];

/** Returns the structures that kernels must cover which are protected as a whole. */
export const structuresOf = (cover: readonly Structure[] | SelectiveCover): readonly Structure[] =>
  isSelective(cover) ? usuallyCovered : cover;

/** Returns a short digest of a source, which stands for it in files. */
export function digestOf(source: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < source.length; i++)
    hash = ((hash ^ BigInt(source.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash.toString(16).padStart(16, "0");
}

/**
 * Returns the places of the values to compute twice, so that they have the wanted share of a
 * kernel's silent corruption. Values whose faults corrupt most for each execution come first. No
 * value is chosen if no fault was silent. Undefined if no campaign has struck the kernel.
 */
export function chosenValues(
  source: string,
  entryPoint: string,
  cover: SelectiveCover,
): readonly Span[] | undefined {
  const values = struckValues(source, entryPoint, cover);
  if (values.every(({ injected }) => injected === 0)) return undefined;
  const total = values.reduce((sum, { silent }) => sum + silent, 0);
  const rate = ({ silent, executions }: ValueFaults) => silent / Math.max(1, executions);
  const ranked = values.toSorted((a, b) => rate(b) - rate(a));
  const chosen: Span[] = [];
  let covered = 0;
  for (const { span, silent } of ranked) {
    if (covered >= cover.sdc * total || silent === 0) break;
    chosen.push(span);
    covered += silent;
  }
  return chosen;
}

/** Returns the number of faults that campaigns injected into a kernel. */
export const injectedInto = (source: string, entryPoint: string, cover: SelectiveCover): number =>
  struckValues(source, entryPoint, cover).reduce((sum, { injected }) => sum + injected, 0);

/**
 * Returns the values of a kernel that campaigns have struck. Values in one place are one, as are
 * the faults of several campaigns.
 */
function struckValues(source: string, entryPoint: string, { faults }: SelectiveCover): ValueFaults[] {
  const digest = digestOf(source);
  const byPlace = new Map<string, ValueFaults>();
  for (const kernel of faults) {
    if (kernel.entryPoint !== entryPoint || (kernel.source !== source && kernel.source !== digest)) continue;
    for (const { span, executions, injected, silent } of kernel.values) {
      const place = `${span.start} ${span.end}`;
      const known = byPlace.get(place) ?? { executions: 0, injected: 0, silent: 0 };
      byPlace.set(place, {
        span,
        executions: known.executions + executions,
        injected: known.injected + injected,
        silent: known.silent + silent,
      });
    }
  }
  return [...byPlace.values()];
}
