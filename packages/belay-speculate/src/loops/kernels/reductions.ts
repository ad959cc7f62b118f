import type { Loop, Reduction } from "../tree/ir.ts";
import { combine, identityBits } from "./code/body.ts";
import { assembleKernel, type LoopKernel } from "./code/kernel.ts";
import { fromBits, toBits, wgslName } from "./code/names.ts";
import { declareControl } from "./control.ts";
import { engineParameters } from "./marks.ts";

/**
 * The workgroup size, the same on all devices, so that sums of f32 are the same too. It is half of
 * every device's minimum, so that a hardened device can double it.
 */
const workgroupSize = 128;
/** The number of values that one invocation combines before its workgroup does. */
const perInvocation = 8;
/** The number of values that become one in a level of the tree. */
const perWorkgroup = perInvocation * workgroupSize;

/**
 * One level of the tree that combines the iterations' contributions to a reduction. `length`,
 * `source` and `target` count words of the buffer `contributions`.
 */
export interface Level {
  readonly length: number;
  readonly source: number;
  readonly target: number;
  readonly workgroups: number;
}

/**
 * Returns the levels for `count` contributions from word `source` on. Results of levels go to word
 * `scratch` and after it; the last level gives one word. The tree depends on `count` only, so f32
 * sums do not depend on the rounds in which iterations fell.
 */
export function levelsOf(count: number, source: number, scratch: number): Level[] {
  const levels: Level[] = [];
  let [length, from, to] = [count, source, scratch];
  do {
    const workgroups = Math.ceil(length / perWorkgroup);
    levels.push({ length, source: from, target: to, workgroups });
    [length, from, to] = [workgroups, to, to + workgroups];
  } while (length > 1);
  return levels;
}

/** Returns the number of words that the levels need besides the contributions. */
export function scratchWords(count: number): number {
  return levelsOf(count, 0, 0).reduce((sum, { workgroups }) => sum + workgroups, 0);
}

/** Returns the words of a `Level` as the kernel reads them. */
export function packLevel({ length, source, target }: Level, isFirst: boolean): Uint32Array<ArrayBuffer> {
  return Uint32Array.of(length, source, target, isFirst ? 1 : 0);
}

/**
 * Makes the kernel that combines one level. Contributions of iterations from `control.base` on were
 * never committed and do not count.
 */
export function reductionKernel(loop: Loop, reduction: Reduction): LoopKernel {
  const { type } = reduction;
  const name = `combine_${wgslName(reduction.name)}`;
  const combined = (a: string, b: string) =>
    toBits(type, combine(reduction, fromBits(type, a), fromBits(type, b)));
  return assembleKernel({
    name,
    loop,
    parameters: engineParameters(loop),
    declarations: [
      declareControl(loop.carried.length),
      "struct Level { length: u32, source: u32, target_word: u32, is_first: u32 }",
    ],
    resources: [
      { name: "control", access: "read", type: "Control" },
      { name: "level", access: "uniform", type: "Level" },
      { name: "contributions", access: "write", type: "array<u32>" },
    ],
    functions: [
      `var<workgroup> sums: array<u32, ${workgroupSize}>;`,
      `@compute @workgroup_size(${workgroupSize})
fn ${name}(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let length = select(level.length, min(level.length, control.base), level.is_first == 1u);
  var sum = ${identityBits(reduction)};
  for (var turn = 0u; turn < ${perInvocation}u; turn += 1u) {
    let place = workgroup.x * ${perWorkgroup}u + turn * ${workgroupSize}u + local;
    if (place < length) {
      sum = ${combined("sum", "contributions[level.source + place]")};
    }
  }
  sums[local] = sum;
  for (var half = ${workgroupSize / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) { sums[local] = ${combined("sums[local]", "sums[local + half]")}; }
  }
  if (local == 0u) { contributions[level.target_word + workgroup.x] = sums[0]; }
}`,
    ],
  });
}
