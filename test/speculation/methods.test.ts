/** Methods of classes in loops, against the source as it is written. */
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const classes = `
interface Scale { readonly factor: number }
class Base {
  readonly cells = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6);
  readonly width = 3;
  at(x: number, y: number) { return this.cells[y * this.width + x]!; }
  twice(i: number) { return this.at(i & 1, 1) * 2; }
}
class Grid extends Base {
  static clamp(x: number, most = 7) { return Math.min(x, most); }
  readonly #weights = Int32Array.of(2, 7, 1, 8, 2, 8, 1, 8);
  readonly other = new Base();
  #weight(i: number) { return this.#weights[i]! + this.width; }
  scaled(by: Scale, i: number) { return by.factor * this.#weight(i); }
  sum(i: number): number { return i < 1 ? 0 : this.#weight(i) + this.sum(i - 1); }
  get size() { return 5; }
  async run(out: Int32Array, n: number, scale: Scale) {
    "use speculate";
    const bounded = (i: number) => this.cells[Grid.clamp(i + 1)]!;
    //#pragma omp for target(webgpu)
    for (let i = 0; i < n; i++) {
      out[i] = this.at(i % 3, i >> 2) + this.twice(i) * 10 + this.scaled(scale, i) * 100 + bounded(i) * 1000;
      out[i]! += this.other.at(1, 1) * 10000 + this.sum(i);
    }
  }
}
class Other extends Grid { override twice(i: number) { return -i; } }
export async function outside(grid: Grid, out: Int32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) out[i] = grid.at(i & 1, 1) - Grid.clamp(i, 2);
}
export const run = async (kind: string) => {
  const grid = kind === "other" ? new Other() : new Grid();
  if (kind === "own") Object.assign(grid, { at: (x: number) => x });
  const [a, b] = [new Int32Array(8), new Int32Array(8)];
  await grid.run(a, 8, { factor: 3 });
  await outside(grid, b, 8);
  return [a, b];
};`;

it.each([
  ["plain", 2],
  ["other", 1],
  ["own", 0],
])("give what they give as they are written, and are not confused with others: %s", async (kind, count) => {
  const { exports, calls, diagnostics } = evaluateTranslated(classes);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const resultOf = ({ run }: typeof exports) => run!(...([kind] as never[]));
  expect(await resultOf(exports)).toEqual(await resultOf(evaluate(classes)));
  expect(calls).toHaveLength(count);
});

it("are refused where their private parts cannot be named", () => {
  const outside = classes.replace("grid.at(i & 1, 1)", "grid.sum(i) + grid.at(i & 1, 1)");
  const errors = replaceLoops(outside, "methods.ts").diagnostics.filter(
    ({ severity }) => severity === "error",
  );
  expect(errors.map(({ message }) => message)).toEqual([
    "not parallelized because `#weight`, which is private to another class, cannot run on a GPU",
  ]);
});

it.each([
  ["of a getter", "out[i] = this.size;", 0],
  ["of a method that the file replaces", "out[i] = this.at(i, 0);", 2, "Base.prototype.at = () => 7;"],
  ["with a decorator", "out[i] = this.marked(i);", 1],
  ["of an object without a class", "out[i] = scale.of(i);", 1],
])("are refused or run as they are written: calls %s", async (_, body, refusals, after = "") => {
  const source = `declare function mark(...parts: unknown[]): void; ${classes.replace(
    /out\[i\] = this.at.*\n.*/,
    body,
  )}`.replace("get size", "@mark marked(i: number) { return i; } get size");
  const { diagnostics } = replaceLoops(source + after, "methods.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toHaveLength(refusals);
});
