import type { Loop } from "../ir.ts";
import { oncePerLoop } from "../oncePerLoop.ts";
import type { LoopNumbers } from "./prove.ts";
import { Specializer } from "./specializer.ts";

/** Variants of a loop: each is compiled. */
const mostVariants = 8;

interface Variants {
  /** By the text of their bodies. */
  readonly all: Map<string, Loop>;
  /** What came of the numbers last, which are likely to be the same again. */
  latest: { readonly numbers: string; readonly variant: Loop } | null;
}

const variantsOf = oncePerLoop(
  (loop): Variants => ({ all: new Map([[JSON.stringify(loop.body), loop]]), latest: null }),
);

/**
 * The loop with what these numbers prove about it: accesses that stay `inside` their arrays, products that are `small`, and how often
 * inner loops run at `most`. Kernels check the rest. Gives the same loop again where the same is proven, so that what is kept for a
 * loop is found again.
 */
export function specialize(loop: Loop, numbers: LoopNumbers): Loop {
  const variants = variantsOf(loop);
  const given = textOf(loop, numbers);
  if (variants.latest?.numbers === given) return variants.latest.variant;
  const variant = variantOf(loop, numbers, variants.all);
  variants.latest = { numbers: given, variant };
  return variant;
}

function textOf(loop: Loop, { inputs, lengths, first, step, count }: LoopNumbers): string {
  const values = [
    ...loop.inputs.map(({ name }) => inputs[name]),
    ...loop.arrays.map(({ name }) => lengths[name]),
  ];
  return [first, step, count, ...values].join();
}

function variantOf(loop: Loop, numbers: LoopNumbers, variants: Map<string, Loop>): Loop {
  const body = new Specializer(loop, numbers).iteration();
  const key = JSON.stringify(body);
  const variant = variants.get(key);
  if (variant || variants.size > mostVariants) return variant ?? loop;
  const made = { ...loop, body };
  variants.set(key, made);
  return made;
}
