import { allOf, bytesOf, type ProtectedBuffer } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";

/** The work that used a buffer without a verification: the numbers of the checks that cover it. */
interface Trust {
  readonly first: number;
  readonly last: number;
  /** The time of the latest verification before it, as `performance.now` tells it. */
  readonly since: number;
}

/** A buffer that work used before a verification, whose outcome a check reads. */
interface Doubt extends Pick<Trust, "first" | "last"> {
  /** The milliseconds since the verification before the work. */
  readonly milliseconds: number;
}

/** The buffers in doubt. A check that finds errors in one of them finds them late. */
export interface Doubts {
  /** The number of the check. */
  readonly check: number;
  readonly buffers: ReadonlyMap<ProtectedBuffer, Doubt>;
}

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
  /** The buffers that were verified after that, and whose verification no check has read. */
  #doubted = new Map<ProtectedBuffer, Trust>();
  /** The number of the check that covers the work from now on. */
  #next = 1;

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
      const use = { first: this.#next, last: this.#next, since };
      this.#trusted.set(owner, joined(this.#trusted.get(owner), use));
      owner.counts.trustedBytes += bytesOf(allOf(owner)).size;
    }
    for (const owner of memory.verifies) this.#doubt(owner);
    for (const owner of written) this.change(owner, () => verify(owner));
  }

  /** Records that a buffer changes or goes next. Calls `verify` before if work has trusted it. */
  change(owner: ProtectedBuffer, verify: () => void = () => {}): void {
    if (this.#trusted.has(owner)) verify();
    this.#verifiedAt.delete(owner);
  }

  /** Records that all of a buffer is verified next in the queue. */
  verifies(owner: ProtectedBuffer): void {
    this.#doubt(owner);
    this.#trusted.delete(owner);
    this.#verifiedAt.set(owner, performance.now());
  }

  /** Returns the buffers in doubt for the check of all work so far that no earlier check covers. */
  beginCheck(check: number): Doubts {
    this.#next = check + 1;
    return this.continueCheck(check);
  }

  /** Returns the buffers in doubt for a check that began earlier. */
  continueCheck(check: number): Doubts {
    const now = performance.now();
    const doubts = [...this.#doubted].map(
      ([owner, { first, last, since }]) => [owner, { first, last, milliseconds: now - since }] as const,
    );
    this.#doubted = new Map();
    return { check, buffers: new Map(doubts) };
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
