/** All small loops, by shape of their iterations. */
import type { AbstractLoop, AbstractOperation } from "./abstractLoops.ts";

const subsets = (elements: number, most: number): number[][] =>
  Array.from({ length: 1 << elements }, (_, mask) =>
    Array.from({ length: elements }, (_, e) => e).filter((e) => (mask >> e) & 1),
  ).filter((subset) => subset.length <= most);

const loadsOf = (elements: readonly number[]) =>
  elements.map((element) => ({ kind: "load", element }) as const);
const storesOf = (elements: readonly number[]) =>
  elements.map((element) => ({ kind: "store", element }) as const);

/**
 * Iterations with fixed addresses. They have up to two loads with at most one store, or up to one
 * load with two stores. In some, a store is loaded back before a second store.
 */
export function fixedIterations(elements: number): AbstractOperation[][] {
  const sets = subsets(elements, 2);
  const straight = sets.flatMap((loads) =>
    sets
      .filter((stores) => loads.length + stores.length <= 3)
      .map((stores) => [...loadsOf(loads), ...storesOf(stores)]),
  );
  const all = Array.from({ length: elements }, (_, e) => e);
  const readBack = all.flatMap((own) =>
    all
      .filter((other) => other !== own)
      .map((other) => [...storesOf([own]), ...loadsOf([own]), ...storesOf([other])]),
  );
  return [...straight, ...readBack];
}

/** Iterations that may load or store at an element computed from the values that they read. */
export function dependentIterations(elements: number): AbstractOperation[][] {
  const anywhere = { load: { kind: "loadAnywhere" }, store: { kind: "storeAnywhere" } } as const;
  const single = subsets(elements, 1);
  return single.flatMap((loads) =>
    [[], [anywhere.load]].flatMap((second) =>
      single.flatMap((stores) =>
        [[], [anywhere.store]].map((last) => [...loadsOf(loads), ...second, ...storesOf(stores), ...last]),
      ),
    ),
  );
}

/** Iterations with up to one load and one store, that may end the loop between them. */
export function endingIterations(elements: number): AbstractOperation[][] {
  const single = subsets(elements, 1);
  const ends: AbstractOperation[][] = [[], [{ kind: "endLoopWhenOdd" }]];
  return single.flatMap((loads) =>
    ends.flatMap((end) => single.map((stores) => [...loadsOf(loads), ...end, ...storesOf(stores)])),
  );
}

/** Iterations with up to one load and one store, and a branch of every kind between them. */
export function branchingIterations(elements: number, count: number): AbstractOperation[][] {
  const taken = (
    when: "always" | "odd",
    names: Extract<AbstractOperation, { kind: "misspeculate" }>["names"],
  ) => ({ kind: "misspeculate", taken: when, names }) as const;
  const kinds = [[1], [0], [-1, 1], "following" as const, { iteration: count - 1 }];
  const branches: AbstractOperation[][] = [
    [],
    [{ kind: "endLoopWhenOdd" }],
    [taken("always", [1])],
    ...kinds.map((names) => [taken("odd", names)]),
  ];
  const single = subsets(elements, 1);
  return single.flatMap((loads) =>
    branches.flatMap((branch) => single.map((stores) => [...loadsOf(loads), ...branch, ...storesOf(stores)])),
  );
}

/**
 * Yields every sequence of `count` of the given iterations. With `renamed`, it yields one loop for
 * each class that only renames elements.
 */
export function* loopsOf(
  kinds: readonly (readonly AbstractOperation[])[],
  {
    count,
    elements,
    seed = 1,
    renamed = false,
  }: { count: number; elements: number; seed?: number; renamed?: boolean },
): Generator<AbstractLoop> {
  const isFirst = renamed ? firstOfClass(kinds, elements) : () => true;
  const digits = new Array<number>(count).fill(0);
  for (;;) {
    if (isFirst(digits)) yield { elements, seed, iterations: digits.map((digit) => kinds[digit]!) };
    let place = count - 1;
    while (place >= 0 && ++digits[place]! === kinds.length) digits[place--] = 0;
    if (place < 0) return;
  }
}

/** Returns true if no renaming of the elements gives a sequence that is enumerated earlier. */
function firstOfClass(kinds: readonly (readonly AbstractOperation[])[], elements: number) {
  const key = (iteration: readonly AbstractOperation[]) =>
    [...iteration].map((operation) => JSON.stringify(operation)).join();
  const number = new Map(kinds.map((kind, index) => [key(kind), index]));
  const renamings = permutations(elements).map((names) =>
    kinds.map(
      (kind) =>
        number.get(
          key(canonical(kind.map((o) => ("element" in o ? { ...o, element: names[o.element]! } : o)))),
        )!,
    ),
  );
  return (digits: readonly number[]) =>
    renamings.every((renaming) => {
      for (const digit of digits) if (renaming[digit] !== digit) return renaming[digit]! > digit;
      return true;
    });
}

/** Returns neighboring loads, and neighboring stores, in the order of the enumeration. */
function canonical(iteration: readonly AbstractOperation[]): AbstractOperation[] {
  const result = [...iteration];
  for (let i = 1; i < result.length; i++) {
    for (let j = i; j > 0; j--) {
      const [a, b] = [result[j - 1]!, result[j]!];
      if (!("element" in a && "element" in b) || a.kind !== b.kind || a.element <= b.element) break;
      [result[j - 1], result[j]] = [b, a];
    }
  }
  return result;
}

/** Returns all orders of the numbers below `count`, the ascending one first. */
export function permutations(count: number): number[][] {
  if (count === 0) return [[]];
  return permutations(count - 1)
    .flatMap((shorter) =>
      Array.from({ length: count }, (_, at) => shorter.toSpliced(count - 1 - at, 0, count - 1)),
    )
    .sort((a, b) => Number(a.join("")) - Number(b.join("")));
}
