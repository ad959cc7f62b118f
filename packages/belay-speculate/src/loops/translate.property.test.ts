import { inspect } from "node:util";
import { diagnosticCodes } from "belay-gpu/internal/diagnostics/registry";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  arbitraryLoop,
  type LoopInput,
  loopInput,
  parametersOf,
  roundsAll,
} from "../../../../research/src/scripts/randomLoops/arbitraryLoops.ts";
import { evaluate, evaluateTranslated } from "../../../../test/support/loops/loopPrograms.ts";

type Run = (...parameters: never[]) => unknown;

/** Returns what a run returns or throws, and the bits that it leaves in the arrays. */
async function resultOf(run: Run, input: LoopInput) {
  const parameters = parametersOf(input);
  const running = run(...(parameters as readonly unknown[] as never[])) as Promise<unknown>;
  const returned = await running.catch(String);
  return { returned, bits: parameters.map((one) => (typeof one === "number" ? "" : bitsOf(one))) };
}

function bitsOf(array: ReturnType<typeof parametersOf>[number] & object): string {
  if (!ArrayBuffer.isView(array)) return inspect(array, { depth: null, maxArrayLength: null });
  // JavaScript does not specify which NaN is stored.
  const stored =
    array instanceof Float32Array ? array.map((one) => (Number.isNaN(one) ? Number.NaN : one)) : array;
  return Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString("hex");
}

/** The codes of warnings that an f32 decides, or sums, otherwise than the program's double. */
const mayDiffer: ReadonlySet<string> = new Set([
  diagnosticCodes["rounded-decision"],
  diagnosticCodes["rounded-sum"],
]);

it("gives the bits that JavaScript gives, for random loops on hostile inputs", async () => {
  const runs = Number(process.env.LOOPS ?? 120);
  let translated = 0;
  let executed = 0;
  await fc.assert(
    fc.asyncProperty(
      arbitraryLoop,
      fc.array(loopInput, { minLength: 5, maxLength: 5 }),
      async (source, inputs) => {
        const { exports, calls, diagnostics } = evaluateTranslated(source);
        if (!roundsAll(source)) return;
        if (diagnostics.some(({ severity, code }) => severity === "error" || mayDiffer.has(code))) return;
        translated++;
        const original = evaluate(source).run!;
        for (const input of inputs) {
          expect(await resultOf(exports.run!, input)).toEqual(await resultOf(original, input));
        }
        executed += calls.length;
      },
    ),
    { numRuns: runs },
  );
  expect(translated).toBeGreaterThan(runs / 5);
  expect(executed).toBeGreaterThan(translated);
}, 600_000);
