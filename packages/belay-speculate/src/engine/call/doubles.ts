import type { SequentialLoop } from "../../loops/javascript/sequential.ts";
import { wordLoop, wordName } from "../../loops/kernels/wordLoop.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { SpeculateCall, WordCall } from "./call.ts";

/**
 * Returns the call of a loop with doubles as a call of words, which the engine's kernels can
 * execute. It also returns the function that makes its result one of doubles. The CPU version
 * computes with the doubles themselves. Only programs with such loops import this module.
 */
export function callOfWords({ doubles: _, ...call }: SpeculateCall): WordCall {
  const { loop, sequential } = call;
  const inOrder: SequentialLoop = (arrays, inputs, carried, reductions, from, to) => {
    const doubles = joined(loop.carried, carried);
    const reached = sequential(arrays, joined(loop.inputs, inputs), doubles, reductions, from, to);
    Object.assign(carried, separated(loop.carried, doubles));
    return reached;
  };
  return {
    call: {
      ...call,
      loop: wordLoop(loop),
      sequential: inOrder,
      inputs: separated(loop.inputs, call.inputs),
      carried: separated(loop.carried, call.carried),
    },
    doublesOf: (done) => ({ ...done, carried: joined(loop.carried, done.carried) }),
  };
}

type Numbers = Readonly<Record<string, number>>;

const view = new DataView(new ArrayBuffer(8));

/**
 * Returns the numbers with two words in place of each double. A variable to which the CPU has set a
 * missing element is undefined. Its words are NaN, which no kernel accepts.
 */
function separated(variables: Loop["inputs"], values: Numbers): Record<string, number> {
  const all = { ...values };
  for (const { name, type } of variables) {
    if (type !== "f64") continue;
    view.setFloat64(0, all[name]!);
    const isMissing = all[name] === undefined;
    delete all[name];
    all[wordName(name, "high")] = isMissing ? Number.NaN : view.getUint32(0);
    all[wordName(name, "low")] = isMissing ? Number.NaN : view.getUint32(4);
  }
  return all;
}

/** Returns the numbers with each double in place of its two words. */
function joined(variables: Loop["inputs"], words: Numbers): Record<string, number> {
  const all = { ...words };
  for (const { name, type } of variables) {
    if (type !== "f64") continue;
    view.setUint32(0, all[wordName(name, "high")]!);
    view.setUint32(4, all[wordName(name, "low")]!);
    all[name] = Number.isNaN(all[wordName(name, "high")]) ? (undefined as never) : view.getFloat64(0);
    delete all[wordName(name, "high")];
    delete all[wordName(name, "low")];
  }
  return all;
}
