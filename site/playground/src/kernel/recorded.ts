/** Plays results that a script recorded on a real device, where the browser has no WebGPU. */
import type { FaultSite } from "belay-gpu";
import type { CleanRun, KernelProtection, KernelResults, StrikeFault, StruckRun } from "./results.ts";
import type { Runnable } from "./runnable.ts";

/** The recorded results of one kernel. */
export interface RecordedKernel {
  readonly adapter: string;
  readonly date: string;
  readonly example: string;
  readonly protection: KernelProtection;
  readonly fault: StrikeFault;
  /** The words of the shown buffer in base 64. */
  readonly words: string;
  readonly sites: readonly FaultSite[];
  readonly struck: Omit<StruckRun, "words">;
  /** The struck run without protection: the words that are wrong, by their index. */
  readonly wrong: readonly (readonly [index: number, word: number])[];
}

/** The results of a recording. Each strike is the recorded one. */
export class Recording implements KernelResults {
  readonly #recorded: RecordedKernel;

  constructor(recorded: RecordedKernel) {
    this.#recorded = recorded;
  }

  async run(_runnable: Runnable): Promise<CleanRun> {
    return { words: unpackWords(this.#recorded.words), sites: this.#recorded.sites };
  }

  async strike(_runnable: Runnable, { redundancy }: KernelProtection): Promise<StruckRun> {
    const words = unpackWords(this.#recorded.words);
    const { struck, heard } = this.#recorded.struck;
    if (redundancy !== "none") return { words, struck, heard };
    for (const [index, word] of this.#recorded.wrong) words[index] = word;
    return { words, struck, heard: [] };
  }

  /** Returns nothing: times of a recording say nothing about this machine. */
  async measure(): Promise<null> {
    return null;
  }

  close(): void {}
}

/** Returns words as text in base 64. */
export function packWords(words: Uint32Array): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function unpackWords(text: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}
