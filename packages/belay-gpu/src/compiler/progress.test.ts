/**
 * Kernels whose invocations depend on each other's progress: each flavor protects them, or leaves
 * them alone and says why.
 */
import { expect, it } from "vitest";
import { configurationsFor, describeConfiguration } from "./configurations.ts";
import { protect } from "./protect.ts";

const kernel = (body: string) => `
  @group(0) @binding(0) var<storage, read> given: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32>;
  @group(0) @binding(2) var<storage, read_write> flags: array<atomic<u32>>;
  @group(0) @binding(3) var<storage, read_write> next: atomic<u32>;
  var<workgroup> drawn: u32;
  @compute @workgroup_size(64)
  fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u) {
    let total = arrayLength(&given);
    ${body}
  }`;

/** The kernels that wait for others. No flavor may change which invocations run together. */
const waiting: Record<string, string> = {
  "a spin lock":
    "while (!atomicCompareExchangeWeak(&next, 0u, 1u).exchanged) {} out[0] += given[l]; atomicStore(&next, 0u);",
  "a lock with tickets":
    "let ticket = atomicAdd(&flags[0], 1u); while (atomicLoad(&next) != ticket) {} out[0] += given[l]; atomicAdd(&next, 1u);",
  "a barrier across workgroups":
    "out[w.x] = given[w.x]; if (l == 0u) { atomicAdd(&next, 1u); } while (atomicLoad(&next) < n.x) {} out[w.x + n.x] = out[n.x - 1u - w.x];",
  "decoupled look-back":
    "var sum = given[w.x]; var at = w.x; while (at > 0u) { let before = atomicLoad(&flags[at - 1u]); if (before == 0u) { continue; } sum += before; at--; } out[w.x] = sum; atomicStore(&flags[w.x], sum);",
};

/** The kernels that end by themselves. */
const ending: Record<string, string> = {
  "look-back with a number of tries":
    "var sum = given[w.x]; if (w.x > 0u) { var before = 0u; for (var tries = 0u; tries < 9u && before == 0u; tries++) { before = atomicLoad(&flags[w.x - 1u]); } if (before == 0u) { before = given[w.x - 1u]; } sum += before; } out[64u * w.x + l] = sum; atomicStore(&flags[w.x], sum);",
  "a persistent kernel that draws its work":
    "loop { let item = atomicAdd(&next, 1u); if (item >= total) { break; } out[item] = 3u * given[item]; }",
  "a persistent workgroup that draws its work":
    "loop { if (l == 0u) { drawn = atomicAdd(&next, 64u); } let first = workgroupUniformLoad(&drawn); if (first >= total) { break; } out[first + l] = given[first + l]; }",
  "a compare and exchange with the value that was found":
    "loop { let old = atomicLoad(&next); if (atomicCompareExchangeWeak(&next, old, max(old, given[l])).exchanged) { break; } } out[l] = given[l];",
};

/**
 * The configurations that leave such kernels alone. Both replicas need the results of atomic
 * operations, and these replicas meet only at their end.
 */
const meetingAtEnd = {
  "intra+lds signature workgroup subgroups": "BELAY212",
  "intra+lds signature passes": "BELAY215",
  "intra-lds signature workgroup subgroups": "BELAY212",
};

// The time of the comparison changes nothing about what waits.
const configurations = configurationsFor(["subgroups"]).filter(({ check }) => check === "signature");

/** Returns the codes of the reasons why configurations leave a kernel alone, by configuration. */
function leftAlone(body: string): Record<string, string> {
  return Object.fromEntries(
    configurations.flatMap((configuration) => {
      const { entryPoints, diagnostics } = protect(kernel(body), {
        ...configuration,
        features: ["subgroups"],
      });
      if (entryPoints.every(({ redundancy }) => redundancy !== "none")) return [];
      const codes = [...new Set(diagnostics.map(({ code }) => code))].join(" ");
      return [[describeConfiguration(configuration), codes]];
    }),
  );
}

it.each(Object.entries(waiting))("%s is left alone in each flavor, as it waits", (_, body) => {
  const reasons = leftAlone(body);
  expect(Object.keys(reasons)).toEqual(configurations.map(describeConfiguration));
  for (const reason of Object.values(reasons)) expect(reason).toContain("BELAY217");
});

it.each(Object.entries(ending))("%s is protected where replicas meet, as it ends by itself", (_, body) => {
  expect(leftAlone(body)).toEqual(meetingAtEnd);
});
