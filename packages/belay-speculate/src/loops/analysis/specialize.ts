import type { Loop } from "../ir.ts";
import type { LoopNumbers } from "./prove.ts";
import { Specializer } from "./specializer.ts";

/** Variants of a loop: each is compiled. */
const mostVariants = 8;
const known = new WeakMap<Loop, Map<string, Loop>>();

/**
 * The loop with what these numbers prove about it: accesses that stay `inside` their arrays, products that are `small`, and how often
 * inner loops run at `most`. Kernels check the rest. Gives the same loop again where the same is proven, so that what is kept for a
 * loop is found again.
 */
export function specialize(loop: Loop, numbers: LoopNumbers): Loop {
  const last = latest.get(loop);
  const given = textOf(loop, numbers);
  if (last?.numbers === given) return last.variant;
  const variant = variantOf(loop, numbers);
  latest.set(loop, { numbers: given, variant });
  return variant;
}

/** What came of the numbers last, which are likely to be the same again. */
const latest = new WeakMap<Loop, { readonly numbers: string; readonly variant: Loop }>();

function textOf(loop: Loop, { inputs, lengths, first, step, count }: LoopNumbers): string {
  const values = [
    ...loop.inputs.map(({ name }) => inputs[name]),
    ...loop.arrays.map(({ name }) => lengths[name]),
  ];
  return [first, step, count, ...values].join();
}

function variantOf(loop: Loop, numbers: LoopNumbers): Loop {
  const body = new Specializer(loop, numbers).iteration();
  const variants = known.get(loop) ?? new Map([[JSON.stringify(loop.body), loop]]);
  known.set(loop, variants);
  const key = JSON.stringify(body);
  const variant = variants.get(key);
  if (variant || variants.size > mostVariants) return variant ?? loop;
  const made = { ...loop, body };
  variants.set(key, made);
  return made;
}
