import type { Dispute } from "../../reference/dispute.ts";
import type { SourcePosition } from "./sourcePosition.ts";

/** A workgroup whose words the WGSL specification does not allow, found by an audit. */
export interface Disagreement {
  /** The name of the kernel: the label of its pipeline, or else its entry point. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /** The workgroup. */
  readonly workgroup: readonly [x: number, y: number, z: number];
  /** The place of the first wrong word, such as `out[3].position.y`. */
  readonly place: string;
  /** The offset of the word in its binding, in bytes. */
  readonly offset: number;
  /** The value that the specification demands, or the interval that it allows. */
  readonly expected: string;
  /** The value on the device. */
  readonly actual: string;
  /** The number of wrong words of the workgroup. */
  readonly wrong: number;
  /** The statement that stores the word. */
  readonly site: SourcePosition;
  /**
   * The dispatch, for `belay blame`. The first disagreement of a kernel has it, if the buffers have
   * at most 256 KiB.
   */
  readonly dispute?: Dispute;
}

/** Describes a disagreement in one line. */
export function describeDisagreement(found: Disagreement): string {
  const { kernel, workgroup, place, expected, actual, wrong, site } = found;
  const more = wrong > 1 ? `, and ${wrong - 1} more words are wrong` : "";
  return `kernel "${kernel}" is computed wrong in workgroup (${workgroup.join(", ")}): ${place}, stored in line ${site.line}, is ${actual}, not ${expected}${more}`;
}
