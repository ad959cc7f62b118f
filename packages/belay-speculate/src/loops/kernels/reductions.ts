import type { ChoiceOperator, Loop, NumberType, Reduction } from "../tree/ir.ts";
import { compare } from "./code/expressions.ts";
import { assembleKernel, type LoopKernel } from "./code/kernel.ts";
import { fromBits, toBits, wgslName } from "./code/names.ts";
import { addWords, combine, comparisonOf, firstWordOf, identityBits, wordsOf } from "./code/reduced.ts";
import { declareControl, none } from "./control.ts";
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
 * One level of the tree that combines the iterations' contributions to a reduction. `source` and
 * `target` count words of the buffer `contributions`. The first level reads the iterations' words.
 */
export interface Level {
  readonly length: number;
  readonly source: number;
  readonly target: number;
  readonly workgroups: number;
}

/**
 * Returns the levels for `count` contributions. Results of levels go to word `scratch` and after
 * it; the last level gives one result. The tree depends on `count` only, so f32 sums do not depend
 * on the rounds in which iterations fell.
 */
export function levelsOf(reduction: Reduction, count: number, scratch: number): Level[] {
  const levels: Level[] = [];
  let [length, from, to] = [count, 0, scratch];
  do {
    const workgroups = Math.ceil(length / perWorkgroup);
    levels.push({ length, source: from, target: to, workgroups });
    [length, from, to] = [workgroups, to, to + workgroups * nodeOf(reduction).words];
  } while (length > 1);
  return levels;
}

/**
 * Returns the number of words of a reduction's result. That of a choice begins with the iteration
 * whose value was chosen.
 */
export function resultWords(reduction: Reduction): number {
  return comparisonOf(reduction) ? wordsOf(reduction).length : nodeOf(reduction).words;
}

/** Returns the number of words that the levels need besides the contributions. */
export function scratchWords(reduction: Reduction, count: number): number {
  const { target } = levelsOf(reduction, count, 0).at(-1)!;
  return target + resultWords(reduction);
}

/** The number of words of a `Level` as the kernel reads it. */
export const levelWords = 5;

/** Returns the words of a level, in the tree of `count` contributions. */
export function packLevel(
  { length, source, target }: Level,
  isFirst: boolean,
  count: number,
): Uint32Array<ArrayBuffer> {
  return Uint32Array.of(length, source, target, isFirst ? 1 : 0, count);
}

/** The nodes of a reduction's tree, as WGSL. */
interface TreeNode {
  readonly type: "u32" | "vec2u";
  readonly words: number;
  readonly identity: string;
  /** Returns the node of an iteration, given the place of the word of a number in its words. */
  ofIteration(wordAt: (word: number) => string): string;
  combine(a: string, b: string): string;
}

/** The node of a choice is the iteration whose value is chosen. */
function nodeOf(reduction: Reduction): TreeNode {
  const { type } = reduction;
  if (comparisonOf(reduction)) {
    return {
      type: "u32",
      words: 1,
      identity: "NONE",
      ofIteration: (wordAt) => `select(NONE, place, ${wordAt(0)} == 1u)`,
      combine: (a, b) => `better(${a}, ${b})`,
    };
  }
  if (reduction.isWide) {
    return {
      type: "vec2u",
      words: 2,
      identity: "vec2u()",
      ofIteration: (wordAt) => `vec2u(${wordAt(0)}, ${wordAt(1)})`,
      combine: (a, b) => `add_words(${a}, ${b})`,
    };
  }
  return {
    type: "u32",
    words: 1,
    identity: identityBits(reduction),
    ofIteration: (wordAt) => wordAt(0),
    combine: (a, b) => toBits(type, combine(reduction, fromBits(type, a), fromBits(type, b))),
  };
}

/**
 * Makes the kernel that combines one level. Contributions of iterations from `control.base` on were
 * never committed and do not count.
 */
export function reductionKernel(loop: Loop, reduction: Reduction): LoopKernel {
  const name = `combine_${wgslName(reduction.name)}`;
  const node = nodeOf(reduction);
  const { type, words } = node;
  const first = firstWordOf(loop, reduction);
  const wordAt = (word: number, place = "place") =>
    `contributions[${first + word}u * level.count + ${place}]`;
  const each = Array.from({ length: words }, (_, word) => word);
  const member = (word: number) => (type === "u32" ? "" : `[${word}]`);
  const kept = each.map((word) => `contributions[level.source + ${words}u * place + ${word}u]`).join(", ");
  const comparison = comparisonOf(reduction);
  const results = comparison ? wordsOf(reduction).slice(1) : [];
  return assembleKernel({
    name,
    loop,
    parameters: engineParameters(loop),
    declarations: [
      declareControl(loop.carried.length),
      "struct Level { length: u32, source: u32, target_word: u32, is_first: u32, count: u32 }",
    ],
    resources: [
      { name: "control", access: "read", type: "Control" },
      { name: "level", access: "uniform", type: "Level" },
      { name: "contributions", access: "write", type: "array<u32>" },
    ],
    functions: [
      `var<workgroup> sums: array<${type}, ${workgroupSize}>;`,
      ...(reduction.isWide ? [addWords] : []),
      ...(comparison ? [chooseBetter(reduction.type, comparison, wordAt)] : []),
      `fn value_of(place: u32) -> ${type} {
  if (level.is_first == 1u) { return ${node.ofIteration((word) => wordAt(word))}; }
  return ${type}(${kept});
}`,
      `@compute @workgroup_size(${workgroupSize})
fn ${name}(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let length = select(level.length, min(level.length, control.base), level.is_first == 1u);
  var sum = ${node.identity};
  for (var turn = 0u; turn < ${perInvocation}u; turn += 1u) {
    let place = workgroup.x * ${perWorkgroup}u + turn * ${workgroupSize}u + local;
    if (place < length) {
      sum = ${node.combine("sum", "value_of(place)")};
    }
  }
  sums[local] = sum;
  for (var half = ${workgroupSize / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) { sums[local] = ${node.combine("sums[local]", "sums[local + half]")}; }
  }
  if (local == 0u) {
    let result = sums[0];
    let target_word = level.target_word + ${words}u * workgroup.x;
    ${each.map((word) => `contributions[target_word + ${word}u] = result${member(word)};`).join("\n    ")}${
      results.length > 0
        ? `
    if (workgroups.x == 1u && result != NONE) {
      ${results.map((_, at) => `contributions[target_word + ${at + 1}u] = ${wordAt(at + 1, "result")};`).join("\n      ")}
    }`
        : ""
    }
  }
}`,
    ],
  });
}

/** Returns the function that chooses between the values of two iterations, in their order. */
function chooseBetter(
  type: NumberType,
  comparison: ChoiceOperator,
  wordAt: (word: number, place: string) => string,
): string {
  const value = (place: string) => fromBits(type, wordAt(1, place));
  const beats = comparison === "=" ? "true" : compare(type, comparison, value("later"), value("earlier"));
  return `const NONE = 0x${none.toString(16)}u;
fn better(a: u32, b: u32) -> u32 {
  if (a == NONE) { return b; }
  if (b == NONE) { return a; }
  let earlier = min(a, b);
  let later = max(a, b);
  return select(earlier, later, ${beats});
}`;
}
