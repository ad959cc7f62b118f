import { allOf, bytesOf, type ProtectedBuffer } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";

/** The work that used a buffer without a verification, by the numbers of checks. */
interface Trust {
  readonly first: number;
  readonly last: number;
  /** The time of the latest verification before it, as `performance.now` tells it. */
  readonly since: number;
}

/** A buffer that work used before a verification, whose outcome a check reads. */
export interface Doubt {
  /** The milliseconds since the verification before the work. */
  readonly milliseconds: number;
  /** True if work of this check used the buffer. */
  readonly isCurrent: boolean;
  /** True if work of earlier checks did, so its results may be released. */
  readonly isReleased: boolean;
}

/** The buffers in doubt. A check that finds errors in one of them finds them late. */
export type Doubts = ReadonlyMap<ProtectedBuffer, Doubt>;

/** Commands that are submitted. */
interface AdmittedCommands {
  readonly memory: Pick<MemoryState, "trusted" | "verifies" | "verifiedFirst">;
  /** The buffers of `verifiedFirst`, and those that the commands write. */
  readonly verifiedFirst: readonly ProtectedBuffer[];
  readonly written: readonly ProtectedBuffer[];
}

/**
 * Knows which buffers are *at rest*: verified since they last changed, less than an interval ago.
 * Kernels of some policies trust data at rest: they load it without another verification.
 */
export class RestingData {
  readonly #interval: number;
  readonly #verifiedAt = new WeakMap<ProtectedBuffer, number>();
  /** The buffers that work has trusted since they were last verified. */
  readonly #trusted = new Map<ProtectedBuffer, Trust>();
  /** Those that were verified after that, since the latest check began. */
  #doubted = new Map<ProtectedBuffer, Trust>();
  #checks = 0;

  constructor(interval: number) {
    this.#interval = interval;
  }

  /**
   * Records that commands are submitted. They get a verification before them of each buffer that
   * they trust and that is not at rest, or that they change and that earlier work trusted.
   */
  admit({ memory, verifiedFirst, written }: AdmittedCommands): void {
    const verify = (owner: ProtectedBuffer) => {
      memory.verifiedFirst.add(owner.buffer);
      this.verifies(owner);
    };
    for (const owner of verifiedFirst) this.verifies(owner);
    for (const owner of memory.trusted) {
      if (!this.#isAtRest(owner)) verify(owner);
      const since = this.#verifiedAt.get(owner)!;
      const use = { first: this.#checks, last: this.#checks, since };
      this.#trusted.set(owner, joined(this.#trusted.get(owner), use));
      owner.counts.trustedBytes += bytesOf(allOf(owner)).size;
    }
    for (const owner of memory.verifies) this.#doubt(owner);
    for (const owner of written) this.change(owner, () => verify(owner));
  }

  /** Records that a buffer changes next. Calls `verify` before that if work has trusted it. */
  change(owner: ProtectedBuffer, verify: () => void): void {
    if (this.#trusted.has(owner)) verify();
    this.#verifiedAt.delete(owner);
  }

  /** Records that all of a buffer is verified next in the queue. */
  verifies(owner: ProtectedBuffer): void {
    this.#doubt(owner);
    this.#trusted.delete(owner);
    this.#verifiedAt.set(owner, performance.now());
  }

  /**
   * Returns the buffers in doubt, for a check that begins now. With `isContinued`, it continues an
   * earlier one, which may be of any work so far.
   */
  takeDoubts(isContinued: boolean): Doubts {
    const number = this.#checks++;
    const now = performance.now();
    const doubts = [...this.#doubted].map(([owner, { first, last, since }]): [ProtectedBuffer, Doubt] => [
      owner,
      { milliseconds: now - since, isCurrent: isContinued || last === number, isReleased: first < number },
    ]);
    this.#doubted = new Map();
    return new Map(doubts);
  }

  #doubt(owner: ProtectedBuffer): void {
    const trust = this.#trusted.get(owner);
    if (trust) this.#doubted.set(owner, joined(this.#doubted.get(owner), trust));
  }

  #isAtRest(owner: ProtectedBuffer): boolean {
    const verified = this.#verifiedAt.get(owner);
    return verified !== undefined && performance.now() - verified < this.#interval;
  }
}

function joined(before: Trust | undefined, { first, last, since }: Trust): Trust {
  return { first: before?.first ?? first, last, since: before?.since ?? since };
}
