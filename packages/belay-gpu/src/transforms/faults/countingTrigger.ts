/**
 * The trigger that counts the executions of sites, and draws samples of them, for a campaign's
 * profile. It strikes nothing.
 */
import type { Names } from "../shared/names.ts";
import { struckVariables, type Trigger } from "./armedTrigger.ts";

/** The number of executions of each site that a report has room for. */
export const sampleCapacity = 192;

/**
 * The offsets of the counts in the report, in words. A block for each site follows the words that
 * all sites share.
 */
export const countWords = {
  /** The most loop iterations that an invocation has executed. */
  iterations: 0,
  /** The seed that decides which executions are drawn, written by the host. */
  seed: 1,
  /** The first block. */
  sites: 2,
  /** The executions so far, in a block. */
  executions: 0,
  /** The number of overflows of `executions`. */
  overflows: 1,
  /** The number of executions of which one is drawn, or 0 to draw none, written by the host. */
  stride: 2,
  /** The number of executions drawn so far. Those beyond the capacity are not kept. */
  drawn: 3,
  /** The first sample. */
  samples: 4,
  /**
   * The number of words of a sample: dispatch, workgroup x, y, z, local index, occurrence, line.
   */
  sampleStride: 7,
  /** The number of words of a block. */
  siteStride: 4 + 7 * sampleCapacity,
} as const;

/** Returns the number of words of the counts of `sites` sites. */
export const countedWords = (sites: number): number => countWords.sites + sites * countWords.siteStride;

/**
 * Returns the trigger that strikes nothing and counts the executions of each invocation's first
 * replica.
 *
 * At its end, an invocation draws one of each `stride` executions of a site. The choice depends on
 * the seed and on the execution's identity: dispatch, invocation, site, occurrence. So one seed
 * draws the same executions in whatever order invocations run. All executions are equally likely
 * (stratified sampling; Cochran 1977, chapter 5).
 *
 * The line of a load is known only when it happens. Each invocation therefore keeps one of its
 * executions of each load, drawn at random (Vitter 1985, algorithm R, for a reservoir of one). This
 * execution represents any drawn execution of the load.
 */
export function countingTrigger(names: Names): Trigger {
  const n = (thing: string) => names.the(thing);
  const { sites, overflows, drawn, seed, stride, samples, sampleStride, siteStride } = countWords;
  const [report, executions, kept, lines, salt, mixed] = [
    n("report"),
    n("executions"),
    n("kept_executions"),
    n("kept_lines"),
    n("draw_salt"),
    n("mixed"),
  ];
  const counts = `${report}.counts`;
  const perSite = `array<u32, ${n("site_count")} + 1u>`;
  const sample = [
    `${report}.dispatch`,
    ...["x", "y", "z"].map((axis) => `${n("workgroup")}.${axis}`),
    n("local"),
    // The reservoir counts from one on. Other sites have none.
    `select(first + offset, ${kept}[site] - 1u, ${kept}[site] > 0u)`,
    `${lines}[site]`,
  ];
  const declarations = `
    var<private> ${executions}: ${perSite};
    var<private> ${kept}: ${perSite};
    var<private> ${lines}: ${perSite};
    var<private> ${n("loop_iterations")}: u32;
    var<private> ${salt}: u32;
    ${struckVariables(names)}
    // Every bit depends on every bit of both words (Wellons, "Prospecting for hash functions",
    // 2018).
    fn ${mixed}(salt: u32, word: u32) -> u32 {
      let a = (salt ^ word) + 0x9e3779b9u;
      let b = (a ^ (a >> 16u)) * 0x21f0aaadu;
      let c = (b ^ (b >> 15u)) * 0x735a2d97u;
      return c ^ (c >> 15u);
    }
    fn ${n("aim")}() {
      ${executions} = ${perSite}();
      ${kept} = ${perSite}();
      ${n("loop_iterations")} = 0u;
      ${salt} = ${mixed}(atomicLoad(&${counts}[${seed}]), ${report}.dispatch);
      ${salt} = ${mixed}(${mixed}(${salt}, ${n("workgroup")}.x), ${n("workgroup")}.y);
      ${salt} = ${mixed}(${mixed}(${salt}, ${n("workgroup")}.z), ${n("local")});
    }
    fn ${n("is_hit")}(site: u32) -> bool {
      ${executions}[site] += 1u;
      return false;
    }
    fn ${n("is_hit_in")}(site: u32, line: u32) -> bool {
      let count = ${executions}[site] + 1u;
      ${executions}[site] = count;
      let isKept = ${mixed}(${salt}, count) % count == 0u;
      ${kept}[site] = select(${kept}[site], count, isKept);
      ${lines}[site] = select(${lines}[site], line, isKept);
      return false;
    }
    fn ${n("is_spent")}() -> bool {
      ${n("loop_iterations")} += 1u;
      return false;
    }
    fn ${n("settle")}() {
      if (${n("replica")} != 0u) { return; }
      atomicMax(&${counts}[0], ${n("loop_iterations")});
      for (var site = 1u; site <= ${n("site_count")}; site++) {
        let count = ${executions}[site];
        if (count == 0u) { continue; }
        ${executions}[site] = 0u;
        let block = ${sites}u + (site - 1u) * ${siteStride}u;
        let before = atomicAdd(&${counts}[block], count);
        if (before + count < before) { atomicAdd(&${counts}[block + ${overflows}u], 1u); }
        let stride = atomicLoad(&${counts}[block + ${stride}u]);
        if (stride == 0u) { continue; }
        for (var first = 0u; ; first += stride) {
          let left = count - first;
          let offset = ${mixed}(${mixed}(${salt}, site), first) % stride;
          if (offset < left) {
            let place = atomicAdd(&${counts}[block + ${drawn}u], 1u);
            if (place < ${sampleCapacity}u) {
              let sample = block + ${samples}u + place * ${sampleStride}u;
              ${sample.map((word, i) => `atomicStore(&${counts}[sample + ${i}u], ${word});`).join("\n")}
            }
          }
          if (left <= stride) { break; }
        }
      }
    }`;
  return { declarations, siteCount: (count) => `const ${n("site_count")} = ${count}u;` };
}
