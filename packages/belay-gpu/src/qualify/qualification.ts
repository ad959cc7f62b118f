/** The kernels that `qualify` takes, and its result. */
import type { Dispute } from "../reference/dispute.ts";
import type { ReferenceSource } from "../reference/referenceKernel.ts";

export type { Dispute };

/** The contents of a buffer of a kernel. */
export interface KernelBuffer {
  /** The number in `@group`. */
  readonly group: number;
  /** The number in `@binding`. */
  readonly binding: number;
  /** The bytes, a multiple of four. */
  readonly data: ArrayBuffer | ArrayBufferView;
}

/** A kernel of the program, to be tried in addition to the built-in ones. */
export interface KernelToQualify extends ReferenceSource {
  /** The name in the result. Default: the name of the entry point. */
  readonly name?: string;
  /** The size of the grid. Default: several, with a partial last workgroup. */
  readonly workgroups?: readonly [x: number, y: number, z: number];
  /** The buffers. The others are made from the types of their bindings. */
  readonly buffers?: readonly KernelBuffer[];
}

/** A word of a device that the WGSL specification does not allow. */
export interface WrongWord {
  /** The place, such as `out[3].position.y`. */
  readonly place: string;
  /** The offset of the word in its buffer, in bytes. */
  readonly offset: number;
  /** The value that the specification demands, or the interval that it allows. */
  readonly expected: string;
  /** The value on the device. */
  readonly actual: string;
  /** The number of wrong words in all buffers of the kernel. */
  readonly wrong: number;
}

/** A kernel that was tried on the device. */
export interface KernelCase {
  /** The area of a built-in kernel, or the name of a kernel of the program. */
  readonly name: string;
  /**
   * `"differs"`: a word is wrong. `"failed"`: the device rejects the kernel or does not finish it.
   * `"undecided"`: the specification does not fix the results. `"not-checked"`: the reference
   * executor lacks a construct of the kernel, or the kernel has an error of its own.
   */
  readonly outcome: "agrees" | "differs" | "failed" | "undecided" | "not-checked";
  /** The features that the kernel needs, by their names in WebGPU. */
  readonly needs: readonly string[];
  /** The number of words that were compared. */
  readonly words: number;
  /** The reason of every outcome but `"agrees"`. */
  readonly reason?: string;
  /** The first wrong word. */
  readonly wrong?: WrongWord;
  /** The dispatch that computed the wrong word. */
  readonly dispute?: Dispute;
}

/** The result of `qualify`. It holds for the device object that was tried. */
export interface Qualification {
  /**
   * `"usable-without"`: only kernels that need one of some features are wrong. `"not-usable"`:
   * others are wrong, too, or nothing could be compared.
   */
  readonly verdict: "usable" | "usable-without" | "not-usable";
  /** The features to avoid, by their names in WebGPU. */
  readonly without: readonly string[];
  /** A sentence for each kernel that is wrong. */
  readonly reasons: readonly string[];
  /** All kernels, the built-in ones first. */
  readonly cases: readonly KernelCase[];
}
