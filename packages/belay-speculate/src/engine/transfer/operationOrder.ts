/**
 * The order of operations: loops, and reads and writes of arrays that stay on a device, take effect
 * in the order in which they were called, as far as they use the same memory or the same variables.
 */

/**
 * What an operation uses: memory, or a variable of the program. True where no other operation may
 * use it at the same time.
 */
type Uses = ReadonlyMap<object, boolean>;

/** Operations that have not ended, in the order of their calls. */
const underWay = new Set<Operation>();

/** The place of one operation in the order. It must be ended, or all that follow wait for ever. */
export class Operation {
  readonly #uses: Uses | "everything";
  readonly #ended: Promise<void>;
  #resolve!: () => void;
  readonly #comes: Promise<unknown> | null;

  /** Takes the next place. */
  constructor(uses: Uses | "everything") {
    this.#uses = uses;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const earlier = [...underWay].filter((other) => conflict(other.#uses, uses));
    this.#comes = earlier.length === 0 ? null : Promise.all(earlier.map((other) => other.#ended));
    underWay.add(this);
  }

  /** Resolves when all earlier operations on the same things have ended; null when they have. */
  get comes(): Promise<unknown> | null {
    return this.#comes;
  }

  end(): void {
    underWay.delete(this);
    this.#resolve();
  }

  /** Whether an operation is under way that may change what this object stands for. */
  static isAwaited(used: object): boolean {
    return [...underWay].some((turn) => conflict(turn.#uses, new Map([[used, false]])));
  }
}

function conflict(one: Uses | "everything", other: Uses | "everything"): boolean {
  if (one === "everything" || other === "everything") return true;
  return [...one].some(([used, isAlone]) => other.has(used) && (isAlone || other.get(used)!));
}

/** All these uses together. */
export function combineUses(each: Iterable<readonly [used: object, isAlone: boolean]>): Uses {
  const uses = new Map<object, boolean>();
  for (const [used, isAlone] of each) uses.set(used, uses.get(used) || isAlone);
  return uses;
}

/** What stands for the memory of an array. */
export const memoryOf = (array: object): object => (ArrayBuffer.isView(array) ? array.buffer : array);

/** Runs `work` in its turn. */
export async function inCallOrder<Result>(uses: Uses, work: () => Promise<Result>): Promise<Result> {
  const turn = new Operation(uses);
  try {
    if (turn.comes) await turn.comes;
    return await work();
  } finally {
    turn.end();
  }
}
