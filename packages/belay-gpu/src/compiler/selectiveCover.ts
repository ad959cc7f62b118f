/** Chooses the values of a kernel that are computed twice, from what faults in them did. */
import type { Span } from "../diagnostics/diagnostic.ts";
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

/** Returns true for a selective cover whose parts are valid. */
export function isSelectiveCover(cover: unknown): cover is SelectiveCover {
  if (!isSelective(cover)) return false;
  const { sdc, faults } = cover as Partial<SelectiveCover>;
  const isKernel = (each: Partial<KernelFaults> | null) =>
    typeof each?.source === "string" && Array.isArray(each.values);
  return typeof sdc === "number" && sdc > 0 && sdc <= 1 && Array.isArray(faults) && faults.every(isKernel);
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
 * kernel's silent corruption. Values whose faults corrupt most for each execution come first.
 * Undefined if no campaign has struck the kernel.
 */
export function chosenValues(
  source: string,
  entryPoint: string,
  { sdc, faults }: SelectiveCover,
): readonly Span[] | undefined {
  const digest = digestOf(source);
  const own = faults.find(
    (each) => each.entryPoint === entryPoint && (each.source === source || each.source === digest),
  );
  if (!own) return undefined;
  const total = own.values.reduce((sum, { silent }) => sum + silent, 0);
  const rate = ({ silent, executions }: ValueFaults) => silent / Math.max(1, executions);
  const ranked = [...own.values].sort((a, b) => rate(b) - rate(a));
  const chosen: Span[] = [];
  let covered = 0;
  for (const { span, silent } of ranked) {
    if (covered >= sdc * total || silent === 0) break;
    chosen.push(span);
    covered += silent;
  }
  return chosen;
}
