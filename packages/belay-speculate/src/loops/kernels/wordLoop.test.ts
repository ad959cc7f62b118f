import { expect, it } from "vitest";
import { translate } from "../translate.ts";
import { everyExpression } from "../tree/walk.ts";
import { wordLoop } from "./wordLoop.ts";

/** Returns the operators of a loop that divides doubles by a constant, in words. */
function operatorsOf(divisor: string): string[] {
  const source = `export async function run(u: Float64Array) {
    "use speculate";
    //#pragma omp for target(webgpu)
    for (let i = 0; i < u.length; i++) u[i] = u[i]! / ${divisor};
  }`;
  const { loop } = translate(source, "run.ts").loops[0]!;
  return [...everyExpression(wordLoop(loop))].flatMap((expression) =>
    expression.kind === "binary" && expression.type === "f64" ? [expression.operator] : [],
  );
}

it("multiplies by the reciprocal of a power of two, and divides by other constants", () => {
  const numbers = [1, -0, 3, 5e-324, 2.5e-308, 1.7976931348623157e308, Number.NaN, Number.POSITIVE_INFINITY];
  for (const divisor of [1, 4, 0.5, 2 ** 1022, 2 ** -1022]) {
    expect(operatorsOf(String(divisor))).toEqual(["*"]);
    for (const number of numbers) expect(number / divisor).toBe(number * (1 / divisor));
  }
  for (const divisor of ["3", "0", "2 ** 1023", "5e-324", "Infinity", "NaN"])
    expect(operatorsOf(divisor)).toEqual(["/"]);
});
