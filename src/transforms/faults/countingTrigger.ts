/** Counting executions of sites, in place of striking them. */
import type { Names } from "../names.ts";
import { struckVariables, type Trigger } from "./armedTrigger.ts";

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
  /** In a block: executions so far, and how often that number has begun again from zero. */
  executions: 0,
  overflows: 1,
  /**
   * Which of them are kept, written by the host: one of each `stride`, none when that is 0, as the `seed` says (stratified
   * sampling).
   */
  seed: 2,
  stride: 3,
  /** First sample; where its dispatch is 0, there is none. */
  samples: 4,
  /** Words of a sample: dispatch, workgroup x, y, z, local index, occurrence, line. */
  sampleStride: 7,
  /** Words of a block. */
  siteStride: 4 + 7 * sampleCapacity,
} as const;

export const countedWords = (sites: number): number => countWords.sites + sites * countWords.siteStride;

/**
 * Strikes nothing, and counts what the first replica of each invocation executes. An invocation numbers its executions of a
 * site, behind those of others, when it ends.
 *
 * The line of a load is known only when it happens, so each invocation keeps one of its executions of each load, drawn at
 * random (Vitter 1985, algorithm R, for a reservoir of one), and stands for that one where any of them is sampled.
 */
export function countingTrigger(names: Names): Trigger {
  const n = (thing: string) => names.the(thing);
  const { sites, overflows, seed, stride, samples, sampleStride, siteStride } = countWords;
  const [report, executions, drawn, lines] = [
    n("report"),
    n("executions"),
    n("drawn_executions"),
    n("drawn_lines"),
  ];
  const counts = `${report}.counts`;
  const perSite = `array<u32, ${n("site_count")} + 1u>`;
  const sample = [
    `${report}.dispatch`,
    ...["x", "y", "z"].map((axis) => `${n("workgroup")}.${axis}`),
    n("local"),
    // The reservoir counts from one on; other sites have none.
    `select(number - start, ${drawn}[site] - 1u, ${drawn}[site] > 0u)`,
    `${lines}[site]`,
  ];
  const declarations = `
    var<private> ${executions}: ${perSite};
    var<private> ${drawn}: ${perSite};
    var<private> ${lines}: ${perSite};
    var<private> ${n("loop_iterations")}: u32;
    var<private> ${n("draw_salt")}: u32;
    ${struckVariables(names)}
    fn ${n("aim")}() {
      ${executions} = ${perSite}();
      ${drawn} = ${perSite}();
      ${n("loop_iterations")} = 0u;
      let invocation = vec4<u32>(${n("workgroup")}, ${n("local")} + 1u) * vec4<u32>(668265263u, 374761393u, 2246822519u, 3266489917u);
      ${n("draw_salt")} = invocation.x ^ invocation.y ^ invocation.z ^ invocation.w ^ atomicLoad(&${counts}[${sites + seed}]);
    }
    fn ${n("is_hit")}(site: u32) -> bool {
      ${executions}[site] += 1u;
      return false;
    }
    fn ${n("is_hit_in")}(site: u32, line: u32) -> bool {
      let count = ${executions}[site] + 1u;
      ${executions}[site] = count;
      let mixed = ((count * 2654435769u) ^ ${n("draw_salt")}) * 747796405u;
      let isDrawn = (mixed >> 16u) * count < 65536u;
      ${drawn}[site] = select(${drawn}[site], count, isDrawn);
      ${lines}[site] = select(${lines}[site], line, isDrawn);
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
        let block = ${sites}u + (site - 1u) * ${siteStride}u;
        let start = atomicAdd(&${counts}[block], count);
        if (start + count < start) { atomicAdd(&${counts}[block + ${overflows}u], 1u); }
        let seed = atomicLoad(&${counts}[block + ${seed}u]);
        let stride = atomicLoad(&${counts}[block + ${stride}u]);
        if (stride == 0u) { continue; }
        for (var kept = start / stride; kept < ${sampleCapacity}u && kept * stride < start + count; kept++) {
          let mixed = (kept ^ seed) * 2654435769u;
          let number = kept * stride + (((mixed ^ (mixed >> 15u)) * 2246822519u) >> 8u) % stride;
          if (number < start || number >= start + count) { continue; }
          let sample = block + ${samples}u + kept * ${sampleStride}u;
          ${sample.map((word, i) => `atomicStore(&${counts}[sample + ${i}u], ${word});`).join("\n")}
        }
      }
    }`;
  return { declarations, siteCount: (count) => `const ${n("site_count")} = ${count}u;` };
}
