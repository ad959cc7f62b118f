/** Counting executions of sites, in place of striking them. */
import type { Names } from "../names.ts";
import type { Trigger } from "./trigger.ts";

/** How many executions of each site are kept as samples. */
export const sampleCapacity = 128;

/**
 * The counts in the report, in words. The first is the most iterations of loops that an invocation has run; then comes a
 * block for each site.
 */
export const countWords = {
  iterations: 0,
  /** The first block. */
  sites: 1,
  /** In a block: executions so far. */
  executions: 0,
  /** Which of them are kept, written by the host: from the `first` on, counted from 0, every one of `stride`; none when that is 0. */
  first: 1,
  stride: 2,
  /** First sample. */
  samples: 3,
  /** Words of a sample: dispatch, workgroup x, y, z, local index, occurrence, line. */
  sampleStride: 7,
  /** Words of a block. */
  siteStride: 3 + 7 * sampleCapacity,
} as const;

export const countedWords = (sites: number): number => countWords.sites + sites * countWords.siteStride;

/** Strikes nothing, and counts what the first replica of each invocation executes. */
export function countingTrigger(names: Names): Trigger {
  const n = (thing: string) => names.the(thing);
  const { sites: firstBlock, first, stride, samples, sampleStride, siteStride } = countWords;
  const counts = `${n("report")}.counts`;
  const kept = [
    `${n("report")}.dispatch`,
    ...["x", "y", "z"].map((axis) => `${n("workgroup")}.${axis}`),
    ...[n("local"), "occurrence", "line"],
  ];
  const declarations = `
    var<private> ${n("executions")}: array<u32, ${n("sites")} + 1u>;
    var<private> ${n("iterations")}: u32;
    fn ${n("aim")}() { ${n("iterations")} = 0u; }
    fn ${n("is_hit_in")}(site: u32, line: u32) -> bool {
      if (${n("replica")} == 0u) {
        let occurrence = ${n("executions")}[site];
        ${n("executions")}[site] = occurrence + 1u;
        let block = ${firstBlock}u + (site - 1u) * ${siteStride}u;
        let number = atomicAdd(&${counts}[block], 1u) - atomicLoad(&${counts}[block + ${first}u]);
        let stride = atomicLoad(&${counts}[block + ${stride}u]);
        if (stride > 0u && number % stride == 0u && number / stride < ${sampleCapacity}u) {
          let sample = block + ${samples}u + number / stride * ${sampleStride}u;
          ${kept.map((word, i) => `atomicStore(&${counts}[sample + ${i}u], ${word});`).join("\n")}
        }
      }
      return false;
    }
    fn ${n("is_hit")}(site: u32) -> bool { return ${n("is_hit_in")}(site, 0u); }
    fn ${n("is_spent")}() -> bool {
      ${n("iterations")} += 1u;
      atomicMax(&${counts}[0], ${n("iterations")});
      return false;
    }`;
  return { declarations, siteCount: (sites) => `const ${n("sites")} = ${sites}u;` };
}
