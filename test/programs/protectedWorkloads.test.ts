/**
 * Each workload computes the same bits on a hardened device as on a plain one, and each fault in it
 * is detected.
 */

import { rememberPipelines } from "belay-cli/internal/shared/workloads/rememberPipelines";
import type { Protect } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { harden } from "belay-gpu/internal/runtime/harden";
import { type HardenedDevice, hardenWith } from "belay-gpu/internal/runtime/hardenedDevice";
import type { ArmedFault } from "belay-gpu/internal/runtime/injection/injector";
import type { VerifiableProgram } from "belay-research/internal/workloads/program";
import * as binarySearch from "belay-research/internal/workloads/samples/binarySearch";
import * as binomialOption from "belay-research/internal/workloads/samples/binomialOption";
import * as bitonicSort from "belay-research/internal/workloads/samples/bitonicSort";
import * as blackScholes from "belay-research/internal/workloads/samples/blackScholes";
import * as dct from "belay-research/internal/workloads/samples/dct";
import * as dwtHaar from "belay-research/internal/workloads/samples/dwtHaar";
import * as fastWalshTransform from "belay-research/internal/workloads/samples/fastWalshTransform";
import * as floydWarshall from "belay-research/internal/workloads/samples/floydWarshall";
import * as histogram from "belay-research/internal/workloads/samples/histogram";
import * as matrixProduct from "belay-research/internal/workloads/samples/matrixProduct";
import * as nBody from "belay-research/internal/workloads/samples/nBody";
import * as prefixSum from "belay-research/internal/workloads/samples/prefixSum";
import * as quasiRandomSequence from "belay-research/internal/workloads/samples/quasiRandomSequence";
import * as reduction from "belay-research/internal/workloads/samples/reduction";
import * as simpleConvolution from "belay-research/internal/workloads/samples/simpleConvolution";
import * as sobelFilter from "belay-research/internal/workloads/samples/sobelFilter";
import * as urng from "belay-research/internal/workloads/samples/urng";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { everything, sample } from "../support/sample.ts";

const { newDevice } = testDevices({ full: true });
let plain: GPUDevice;
/** The plain device, which compiles a kernel once for all tests. */
let expected: GPUDevice;
beforeAll(async () => {
  plain = await newDevice();
  expected = rememberPipelines(plain);
});

const flavors = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
  (["store", "signature"] as const).map((check) => ({ redundancy, check })),
);

const over = (channel: "subgroup" | "workgroup") =>
  flavors.map((flavor) => ({ ...flavor, channel, pairing: "adjacent" as const }));
const policies = [
  ...over("subgroup"),
  ...over("workgroup"),
  { redundancy: "intra+lds", check: "signature", channel: "auto", pairing: "passes" } as const,
  { redundancy: "inter", check: "signature", channel: "auto", pairing: "adjacent" } as const,
];

const size = (max: number) => fc.integer({ min: 1, max });
const seed = fc.nat();
/** Sizes of up to a few workgroups. */
const programs: Record<string, fc.Arbitrary<VerifiableProgram>> = {
  matrixProduct: fc
    .record({ rows: size(33), columns: size(33), inner: size(33), seed })
    .map(matrixProduct.create),
  nBody: fc.record({ bodies: size(130), steps: size(2), seed }).map(nBody.create),
  reduction: fc.record({ length: size(6000), seed }).map(reduction.create),
  reductionFloat: fc
    .record({ length: size(6000), seed })
    .map((options) => reduction.create({ ...options, type: "f32" })),
  bitonicSort: fc.record({ length: size(2200), seed }).map(bitonicSort.create),
  histogram: fc.record({ samples: size(20_000), seed }).map(histogram.create),
  sobelFilter: fc.record({ width: size(40), height: size(20), seed }).map(sobelFilter.create),
  dct: fc.record({ blocksAcross: size(5), blocksDown: size(4), seed }).map(dct.create),
  dwtHaar: fc
    .record({ exponent: size(12), seed })
    .map(({ exponent, seed }) => dwtHaar.create({ length: 2 ** exponent, seed })),
  fastWalshTransform: fc
    .record({ exponent: fc.integer({ min: 2, max: 12 }), seed })
    .map(({ exponent, seed }) => fastWalshTransform.create({ length: 2 ** exponent, seed })),
  floydWarshall: fc.record({ nodes: size(20), seed }).map(floydWarshall.create),
  prefixSum: fc.record({ length: size(5000), seed }).map(prefixSum.create),
  binarySearch: fc.record({ length: size(600), searches: size(40), seed }).map(binarySearch.create),
  blackScholes: fc.record({ options: size(1100), seed }).map(blackScholes.create),
  binomialOption: fc.record({ options: size(8), seed }).map(binomialOption.create),
  quasiRandomSequence: fc.record({ points: size(9000) }).map(quasiRandomSequence.create),
  urng: fc.record({ pixels: size(1200), seed }).map(urng.create),
  simpleConvolution: fc.record({ width: size(70), height: size(20), seed }).map(simpleConvolution.create),
};

describe.each(Object.entries(programs).map(([name, sizes], row) => ({ name, sizes, row })))(
  "$name",
  ({ sizes, row }) => {
    // Compiling kernels is slow, especially those with loops that wait. So there are few runs, with
    // other sizes for each policy.
    it.each(sample(policies, row, 2))(
      "computes the same bits and detects no fault: $redundancy, $check, $channel, $pairing",
      async (policy) => {
        const device = await harden(plain, policy);
        const sameBits = fc.asyncProperty(sizes, async (program) => {
          const result = await program.workload(device);
          expect(result).toEqual(await program.workload(expected));
          expect(program.verify(result)).toMatchObject({ ok: true });
        });
        const seed = policies.indexOf(policy);
        await fc.assert(sameBits, { seed, numRuns: everything ? 3 : 1 });
        const { kernels, faults } = await device.belay.report();
        expect(faults).toEqual([]);
        expect(kernels.length).toBeGreaterThan(0);
        for (const { redundancy } of kernels) expect(redundancy).toBe(policy.redundancy);
      },
    );
  },
);

/**
 * A value in a workload's kernel for a fault to strike, and the places where the fault is detected.
 */
interface Struck {
  readonly program: VerifiableProgram;
  readonly kernel: string;
  /** The beginning of the value's source. */
  readonly value: string;
  /**
   * The source lines that a report may name. Stores to workgroup memory are compared only under
   * `intra-lds`.
   */
  readonly store: Record<"intra+lds" | "intra-lds", string>;
  readonly signature: Record<"intra+lds" | "intra-lds", string>;
}

const everywhere = (line: string) => ({ "intra+lds": line, "intra-lds": line });
const reductionLines = {
  value: "sum += ",
  kernel: "reduce",
  store: { "intra+lds": "sums[group] = partial[0]", "intra-lds": "partial[local] = sum" },
  signature: { "intra+lds": "fn reduce(", "intra-lds": "partial[local] = sum" },
};
const struck: Record<string, Struck> = {
  matrixProduct: {
    program: matrixProduct.create({ rows: 17 }),
    kernel: "multiply",
    value: "upper += ",
    store: everywhere("product[row * shape.columns + column] = upper"),
    signature: everywhere("fn multiply("),
  },
  nBody: {
    program: nBody.create({ bodies: 65, steps: 1 }),
    kernel: "step",
    value: "velocities[id.x].xyz + ",
    store: everywhere("nextPositions[id.x] = "),
    signature: everywhere("fn step("),
  },
  reduction: { program: reduction.create({ length: 300 }), ...reductionLines },
  reductionFloat: { program: reduction.create({ length: 300, type: "f32" }), ...reductionLines },
  bitonicSort: {
    program: bitonicSort.create({ length: 300 }),
    kernel: "sortBlocks",
    value: "max(low, high)",
    store: { "intra+lds": "keys[start + i] = ", "intra-lds": "block[slot(at.y)] = max(low, high)" },
    signature: {
      "intra+lds": "keys[start + i] = ",
      "intra-lds": "block[slot(at.x)] = min(low, high)",
    },
  },
  histogram: {
    program: histogram.create({ samples: 999 }),
    kernel: "count",
    value: "samples[index]",
    store: { "intra+lds": "atomicAdd(&bins[bin]", "intra-lds": "atomicAdd(&counted[" },
    signature: everywhere("fn count("),
  },
  sobelFilter: {
    program: sobelFilter.create({ width: 5 }),
    kernel: "sobel",
    value: "even | (odd",
    store: everywhere("edges[y * size.x + id.x] = "),
    signature: everywhere("fn sobel("),
  },
  floydWarshall: {
    program: floydWarshall.create({ nodes: 3, seed: 2 }),
    kernel: "relax",
    value: "step.k + 1u",
    store: everywhere("via[index] = step.k + 1u"),
    signature: everywhere("fn relax("),
  },
  binarySearch: {
    program: binarySearch.create({ length: 8, searches: 8, seed: 2 }),
    kernel: "narrow",
    value: "start + dot(",
    store: everywhere("narrowed[search] = start"),
    signature: everywhere("fn narrow("),
  },
  blackScholes: {
    program: blackScholes.create({ options: 20 }),
    kernel: "price",
    value: "received - paid",
    store: everywhere("calls[index] = "),
    signature: everywhere("fn price("),
  },
  binomialOption: {
    program: binomialOption.create({ options: 4 }),
    kernel: "fold",
    value: "(growth - down) / ",
    store: { "intra+lds": "prices[group] = ", "intra-lds": "firsts[step % 2u][local] = nodes[0]" },
    signature: { "intra+lds": "fn fold(", "intra-lds": "firsts[step % 2u][local] = nodes[0]" },
  },
  quasiRandomSequence: {
    program: quasiRandomSequence.create({ points: 100 }),
    kernel: "generate",
    value: "vec4f((inside",
    store: everywhere("sequence[group.y * quads + quad] = "),
    signature: everywhere("fn generate("),
  },
  urng: {
    program: urng.create({ pixels: 9 }),
    kernel: "addNoise",
    value: "vec4u(vec4i(clamp(channels",
    store: everywhere("noisy[index] = "),
    signature: everywhere("fn addNoise("),
  },
  simpleConvolution: {
    program: simpleConvolution.create({ width: 20, height: 5 }),
    kernel: "convolve",
    value: "(top + 0u) * size.x + id.x",
    store: everywhere("convolved[(top + 0u) * size.x + id.x] = "),
    signature: everywhere("fn convolve("),
  },
};

/** Arms a flip of one bit of the value in one invocation. The program must have run once. */
function arm(
  device: HardenedDevice,
  { program, kernel, value }: Struck,
  replica: ArmedFault["replica"],
): void {
  const [source] = Object.values(program.kernelSources);
  const { sites } = device.belay.faultSites().find((each) => each.kernel === kernel)!;
  const { id } = sites.find(({ kind, span }) => kind === "value" && source!.startsWith(value, span.start))!;
  device.belay.arm({
    kernel,
    site: id,
    replica,
    effect: { xor: 1 << 22 },
    workgroup: [0, 0, 0],
    localIndex: 1,
  });
}

describe.each(Object.values(struck).map((target, row) => ({ ...target, row })))(
  "a fault in $kernel",
  ({ row, ...target }) => {
    it.each(sample(flavors, row, 1))(
      "under $redundancy, $check is located and recovered from",
      async ({ redundancy, check }) => {
        const { program, kernel } = target;
        const device = await harden(plain, { redundancy, check, injectFaults: true });
        const remembering = rememberPipelines(device);
        const result = await program.workload(remembering);
        expect(result).toEqual(await program.workload(expected));
        arm(device, target, redundancy === "intra+lds" ? 1 : 0);
        expect(await program.workload(remembering)).toEqual(result);
        expect(await device.belay.strikes()).toBe(1);

        const { faults } = await device.belay.report();
        const [source] = Object.values(program.kernelSources);
        const lines = source!.split("\n");
        const fault = faults.find(({ site }) => lines[site!.line - 1]!.includes(target[check][redundancy]));
        expect(fault).toMatchObject({ kernel, outcome: "recovered", workgroup: [0, 0, 0] });
        // A fault in shared memory may be detected by the invocation that reads it.
        if (!source!.includes("var<workgroup>")) expect(fault!.localIndex).toBe(1);
        // A flipped index makes the replicas write the same constant to two places.
        const [first, second] = [0, 1].map((replica) => [
          fault!.values[replica],
          fault!.wordOffsets[replica],
        ]);
        expect(first).not.toEqual(second);
        expect(fault!.wordOffsets).not.toContain(null);
      },
    );
  },
);

describe("a fault in a whole workgroup", () => {
  const replicaOf = (name: string) => (Object.keys(struck).indexOf(name) % 2) as 0 | 1;

  it.each(Object.entries(struck))("of %s is detected and recovered from", async (name, target) => {
    const { program, kernel } = target;
    const device = await harden(plain, { redundancy: "inter", injectFaults: true });
    const remembering = rememberPipelines(device);
    const result = await program.workload(remembering);
    arm(device, target, replicaOf(name));
    expect(await program.workload(remembering)).toEqual(result);
    expect(await device.belay.strikes()).toBeGreaterThan(0);
    const { faults, giveUps } = await device.belay.report();
    expect(giveUps).toBe(0);
    expect(faults).toContainEqual(
      expect.objectContaining({ kernel, outcome: "recovered", workgroup: { index: 0, modulo: 128 } }),
    );
  });
});

describe("protection without its comparisons", () => {
  const blindProtect: Protect = (wgsl, options) => {
    const result = protect(wgsl, options);
    const code = result.code.replaceAll(/all\((\w+) == their_\1\)/g, "true");
    if (code === result.code) throw new Error("the protected kernel compares nothing");
    return { ...result, code };
  };

  const blind = Object.entries(struck).filter((_, row) => everything || row % 2 === 0);
  it.each(blind)("misses a fault in %s, and the result is wrong", async (_, target) => {
    const { program } = target;
    const device = hardenWith(blindProtect, plain, { check: "store", injectFaults: true });
    const remembering = rememberPipelines(device);
    expect(program.verify(await program.workload(remembering))).toMatchObject({ ok: true });
    const verdicts: boolean[] = [];
    for (const replica of [0, 1] as const) {
      arm(device, target, replica);
      verdicts.push(program.verify(await program.workload(remembering)).ok);
      expect(await device.belay.strikes()).toBe(1);
    }
    // One replica's stores remain.
    expect(verdicts).toContain(false);
    expect((await device.belay.report()).faults).toEqual([]);
  });
});
