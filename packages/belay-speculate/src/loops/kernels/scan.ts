import type { Loop } from "../tree/ir.ts";
import { assembleKernel, type LoopKernel } from "./code/kernel.ts";
import { engineParameters } from "./marks.ts";

const workgroupSize = 128;
const perInvocation = 8;
const perWorkgroup = perInvocation * workgroupSize;

/**
 * One level of a scan of integers modulo 2^32. The words of level 0 begin at word 0 of the buffer
 * `scanned`. The sums of each level's blocks are the words of the next level.
 */
export interface ScanLevel {
  /** The number of words, and the place of the first. */
  readonly length: number;
  readonly start: number;
  /** The place of the first sum of a block. */
  readonly sums: number;
  readonly workgroups: number;
}

/** Returns the levels of a scan of `count` words. The word `count` then has their sum. */
export function scanLevels(count: number): ScanLevel[] {
  const levels: ScanLevel[] = [];
  let [length, start, sums] = [count + 1, 0, count + 1];
  do {
    const workgroups = Math.ceil(length / perWorkgroup);
    levels.push({ length, start, sums, workgroups });
    [length, start, sums] = [workgroups, sums, sums + workgroups];
  } while (length > 1);
  return levels;
}

/** Returns the number of words of the buffer `scanned`. */
export function scanWords(count: number): number {
  const { sums, workgroups } = scanLevels(count).at(-1)!;
  return sums + workgroups;
}

/** The number of words of a level as the kernels read it. */
export const scanLevelWords = 5;

/**
 * Returns the words of a level. `source` is the place of its words in `contributions`, for level 0.
 * `base` is added to all words of level 0.
 */
export function packScanLevel(
  { length, start, sums }: ScanLevel,
  source: number | null,
  base: number,
): Uint32Array<ArrayBuffer> {
  return Uint32Array.of(length, start, sums, source ?? 0xffffffff, base);
}

const declarations = ["struct Level { length: u32, start: u32, sums: u32, source: u32, base: u32 }"];

/**
 * Makes the kernels of a scan, for one level each.
 * - `scanBlocks`: replaces each word by the sum of the words before it in its block, and keeps the
 *   sums of the blocks.
 * - `addSums`: adds the sum of the blocks before it to each word, and the base at level 0.
 * Source: Blelloch, "Prefix sums and their applications", 1990.
 */
export function scanKernels(loop: Loop): Record<"scanBlocks" | "addSums", LoopKernel> {
  const parts = { loop, parameters: engineParameters(loop), declarations };
  return {
    scanBlocks: assembleKernel({
      ...parts,
      name: "scanBlocks",
      resources: [
        { name: "level", access: "uniform", type: "Level" },
        { name: "contributions", access: "read", type: "array<u32>" },
        { name: "scanned", access: "write", type: "array<u32>" },
      ],
      functions: [
        `var<workgroup> sums: array<u32, ${workgroupSize}>;
fn word(place: u32) -> u32 {
  if (place >= level.length) { return 0u; }
  if (level.source == 0xffffffffu) { return scanned[level.start + place]; }
  if (place + 1u == level.length) { return 0u; }
  return contributions[level.source + place];
}
@compute @workgroup_size(${workgroupSize})
fn scanBlocks(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * ${perWorkgroup}u + local * ${perInvocation}u;
  var words: array<u32, ${perInvocation}>;
  var sum = 0u;
  for (var turn = 0u; turn < ${perInvocation}u; turn += 1u) {
    words[turn] = sum;
    sum += word(first + turn);
  }
  sums[local] = sum;
  for (var distance = 1u; distance < ${workgroupSize}u; distance *= 2u) {
    workgroupBarrier();
    var before = 0u;
    if (local >= distance) { before = sums[local - distance]; }
    workgroupBarrier();
    sums[local] += before;
  }
  let before = sums[local] - sum;
  for (var turn = 0u; turn < ${perInvocation}u; turn += 1u) {
    if (first + turn < level.length) { scanned[level.start + first + turn] = before + words[turn]; }
  }
  if (local == ${workgroupSize - 1}u) { scanned[level.sums + workgroup.x] = sums[local]; }
}`,
      ],
    }),
    addSums: assembleKernel({
      ...parts,
      name: "addSums",
      resources: [
        { name: "level", access: "uniform", type: "Level" },
        { name: "scanned", access: "write", type: "array<u32>" },
      ],
      functions: [
        `@compute @workgroup_size(${workgroupSize})
fn addSums(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  var before = level.base;
  let blocks = (level.length + ${perWorkgroup - 1}u) / ${perWorkgroup}u;
  if (blocks > 1u) { before += scanned[level.sums + workgroup.x]; }
  for (var turn = 0u; turn < ${perInvocation}u; turn += 1u) {
    let place = workgroup.x * ${perWorkgroup}u + turn * ${workgroupSize}u + local;
    if (place < level.length) { scanned[level.start + place] += before; }
  }
}`,
      ],
    }),
  };
}
