/** The rules of every engine against sequential execution, for all small loops. */
import { beforeAll, describe, expect, it } from "vitest";
import { type AbstractLoop, type AbstractOperation, runInOrder } from "./abstractLoops.ts";
import {
  type EngineModel,
  inPlace,
  multiVersion,
  multiVersionWithout,
  prefixCommit,
  published,
  publishedAsPrinted,
  publishedWithout,
  reservations,
  twiceMultiVersion,
} from "./engineModels.ts";
import {
  branchingIterations,
  dependentIterations,
  endingIterations,
  fixedIterations,
  loopsOf,
  permutations,
} from "./enumerations.ts";

interface Count {
  wrong: number;
  /** A wrong loop with the fewest operations. */
  smallest?: AbstractLoop;
}

const operations = (loop: AbstractLoop) => loop.iterations.flat().length;
const ascending = [0, 1, 2, 3];

/**
 * Counts the loops, and the loops that each model executes wrongly in any of the given orders of
 * its phases.
 */
function countWrong<Name extends string>(
  models: Record<Name, EngineModel>,
  loops: Iterable<AbstractLoop>,
  { windows, orders = [ascending] }: { windows: readonly number[]; orders?: readonly (readonly number[])[] },
): { tried: number; wrong: Record<Name, Count> } {
  const names = Object.keys(models) as Name[];
  const wrong = Object.fromEntries(names.map((name) => [name, { wrong: 0 }])) as Record<Name, Count>;
  let tried = 0;
  for (const loop of loops) {
    tried++;
    const { values } = runInOrder(loop);
    const differs = (model: EngineModel, window: number, order: readonly number[]) =>
      model(loop, { window, order }).state.values.some((value, e) => value !== values[e]);
    for (const name of names) {
      const model = models[name];
      if (!windows.some((window) => orders.some((order) => differs(model, window, order)))) continue;
      const count = wrong[name];
      count.wrong++;
      if (!count.smallest || operations(loop) < operations(count.smallest)) count.smallest = loop;
    }
  }
  return { tried, wrong };
}

const none = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { wrong: 0 }]));
const load = (element: number): AbstractOperation => ({ kind: "load", element });
const store = (element: number): AbstractOperation => ({ kind: "store", element });
const pair = (...iterations: AbstractOperation[][]): AbstractLoop => ({ elements: 3, seed: 1, iterations });

describe("all loops of four iterations on three elements with fixed addresses", () => {
  const models = { prefixCommit, inPlace, reservations, multiVersion: twiceMultiVersion, published };
  let result: ReturnType<typeof countWrong<keyof typeof models | "publishedAsPrinted">>;
  beforeAll(() => {
    const loops = loopsOf(fixedIterations(3), { count: 4, elements: 3, renamed: true });
    result = countWrong({ ...models, publishedAsPrinted }, loops, { windows: [4] });
  });

  it("run as in sequence in the default engine, in place, with reservations and in the sound published one", () => {
    const { publishedAsPrinted: _, ...sound } = result.wrong;
    // 46^4 = 4,477,456 loops, one of each class that only renames elements
    expect(result.tried).toBe(748_291);
    expect(sound).toEqual(none(Object.keys(models)));
  });

  it("show that the published rules as printed are unsound", () => {
    const { wrong, smallest } = result.wrong.publishedAsPrinted;
    expect(wrong).toBe(513_875);
    expect(smallest!.iterations.filter((iteration) => iteration.length > 0)).toEqual([
      [store(0)],
      [store(0)],
    ]);
  });
});

describe("the published rules as printed", () => {
  it.each([
    ["write after read", pair([load(0), store(2)], [load(1), store(0)])],
    ["write after write", pair([store(0)], [store(0)])],
  ])("are wrong for a %s", (_, loop) => {
    expect(countWrong({ publishedAsPrinted, published }, [loop], { windows: [2] }).wrong).toMatchObject({
      publishedAsPrinted: { wrong: 1 },
      published: { wrong: 0 },
    });
  });
});

describe("the order in which a phase visits iterations", () => {
  it("changes no result: all loops of three iterations, all orders, rounds of two and three", () => {
    const models = { prefixCommit, inPlace, reservations, multiVersion, twiceMultiVersion, published };
    const loops = loopsOf(fixedIterations(3), { count: 3, elements: 3, renamed: true });
    const { tried, wrong } = countWrong(models, loops, { windows: [2, 3], orders: permutations(3) });
    expect(tried).toBe(16_479);
    expect(wrong).toEqual(none(Object.keys(models)));
  });

  it("decides which of two writers the published rules as printed mark", () => {
    const loop = pair([store(0)], [store(0)]);
    const results = permutations(2).map(
      (order) => publishedAsPrinted(loop, { window: 2, order }).state.values,
    );
    expect(results[0]).not.toEqual(results[1]);
  });
});

describe("all loops of three iterations with addresses that depend on the values", () => {
  it("run as in sequence if the engine allows them, and not without a part of its rules", () => {
    const partial = {
      seesLater: publishedWithout({ seesLater: true }),
      cascadesNot: publishedWithout({ cascadesNot: true }),
      reservations,
    };
    const loops = loopsOf(dependentIterations(3), { count: 3, elements: 3 });
    const sound = { prefixCommit, multiVersion, twiceMultiVersion, published };
    const { tried, wrong } = countWrong({ ...sound, ...partial }, loops, { windows: [3] });
    expect(tried).toBe(262_144);
    expect(wrong).toMatchObject(none(Object.keys(sound)));
    for (const name of Object.keys(partial) as (keyof typeof partial)[]) {
      expect(wrong[name].wrong, name).toBeGreaterThan(0);
    }
  });
});

describe("all loops of three iterations with branches that misspeculate or end", () => {
  it("run as in sequence, and not without the cascade", () => {
    const cascadesNot = publishedWithout({ cascadesNot: true });
    const loops = loopsOf(branchingIterations(2, 3), { count: 3, elements: 2, seed: 2, renamed: true });
    const { tried, wrong } = countWrong({ prefixCommit, published, cascadesNot }, loops, { windows: [3] });
    expect(tried).toBe(186_880);
    expect(wrong.prefixCommit.wrong + wrong.published.wrong).toBe(0);
    expect(wrong.cascadesNot.wrong).toBeGreaterThan(0);
  });
});

describe("versions of elements", () => {
  it.each<[string, ...Parameters<typeof multiVersionWithout>]>([
    ["commit iterations after too many writers", { ignoresWriters: true, ignoresMissingVersions: true }, 1],
    ["validate iterations that saw too few versions", { ignoresMissingVersions: true }, 1],
    ["commit iterations that still change", { commitsChanges: true }, 2],
    ["keep the first writer's store", { keepsFirst: true }, 2],
  ])("are wrong when they %s", (_, broken, versions) => {
    const loops = loopsOf(fixedIterations(3), { count: 4, elements: 3, renamed: true });
    const some = [...loops].filter((_, n) => n % 97 === 0);
    const { wrong } = countWrong({ broken: multiVersionWithout(broken, versions) }, some, { windows: [4] });
    expect(wrong.broken.wrong).toBeGreaterThan(0);
  });

  it("end at the loop's break, in windows of any length", () => {
    const loops = [...loopsOf(endingIterations(2), { count: 3, elements: 2, seed: 2 })];
    const { wrong, tried } = countWrong({ multiVersion, twiceMultiVersion }, loops, { windows: [2, 3] });
    expect(tried).toBe(5832);
    expect(wrong).toEqual(none(["multiVersion", "twiceMultiVersion"]));
  });
});

describe("marking one side of a conflict", () => {
  it("is unsound without the cascade, even with fixed addresses", () => {
    const oneSide = publishedWithout({ marksOneSide: true, cascadesNot: true });
    const loops = loopsOf(fixedIterations(3), { count: 3, elements: 3, renamed: true });
    expect(countWrong({ oneSide }, loops, { windows: [3] }).wrong.oneSide.wrong).toBeGreaterThan(0);
  });
});
