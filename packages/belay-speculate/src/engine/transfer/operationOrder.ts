/**
 * The order of operations. An operation is a loop, or a read or a write of an array that stays on a
 * device. Operations on the same memory or variables take effect in the order of their calls.
 */

/** The memory and the program's variables that an operation uses. True for exclusive use. */
type Uses = ReadonlyMap<object, boolean>;

/** The operations that have not ended, in the order of their calls. */
const unfinished = new Set<OrderedOperation>();

/** One operation in the order. It must be ended, or all later ones wait for ever. */
export class OrderedOperation {
  readonly #uses: Uses | "everything";
  readonly #ended: Promise<void>;
  #resolve!: () => void;
  readonly #earlier: Promise<unknown> | null;

  /** Adds the operation after all earlier ones. */
  constructor(uses: Uses | "everything") {
    this.#uses = uses;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const earlier = [...unfinished].filter((other) => conflict(other.#uses, uses));
    this.#earlier = earlier.length === 0 ? null : Promise.all(earlier.map((other) => other.#ended));
    unfinished.add(this);
  }

  /** Resolves when all earlier operations on the same things have ended; null if they have. */
  get comes(): Promise<unknown> | null {
    return this.#earlier;
  }

  end(): void {
    unfinished.delete(this);
    this.#resolve();
  }

  /** Returns true if an operation that has not ended may change this object. */
  static isAwaited(used: object): boolean {
    return [...unfinished].some((operation) => conflict(operation.#uses, new Map([[used, false]])));
  }
}

function conflict(one: Uses | "everything", other: Uses | "everything"): boolean {
  if (one === "everything" || other === "everything") return true;
  return [...one].some(([used, isExclusive]) => other.has(used) && (isExclusive || other.get(used)!));
}

/** Returns the union of these uses. */
export function combineUses(each: Iterable<readonly [used: object, isExclusive: boolean]>): Uses {
  const uses = new Map<object, boolean>();
  for (const [used, isExclusive] of each) uses.set(used, uses.get(used) || isExclusive);
  return uses;
}

/** Returns the object that identifies an array's memory. */
export const memoryOf = (array: object): object => (ArrayBuffer.isView(array) ? array.buffer : array);

/** Runs `work` after all earlier operations on the same things. */
export async function inCallOrder<Result>(uses: Uses, work: () => Promise<Result>): Promise<Result> {
  const operation = new OrderedOperation(uses);
  try {
    if (operation.comes) await operation.comes;
    return await work();
  } finally {
    operation.end();
  }
}
