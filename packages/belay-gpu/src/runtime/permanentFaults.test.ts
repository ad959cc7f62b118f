/**
 * Faults that stay: one bit of one replica is wrong in every run, re-executions included. No flavor
 * releases wrong data: work is recovered, or refused.
 */
import {
  bindBuffers,
  readBuffers,
  resultBuffer,
  uploadBuffer,
} from "belay-research/internal/workloads/buffers";
import { beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { struckAtomics, struckCode } from "../../../../test/support/devices/struckKernel.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { sample } from "../../../../test/support/sample.ts";
import { FaultError } from "./context/detectedFault.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const { newDevice } = testDevices({ full: true });

const flavors: Record<string, Policy> = {
  "intra+lds": { redundancy: "intra+lds" },
  "intra+lds, store": { redundancy: "intra+lds", check: "store" },
  "intra-lds": { redundancy: "intra-lds" },
  "half-subgroup": { redundancy: "intra+lds", pairing: "half-subgroup" },
  subgroups: { redundancy: "intra+lds", pairing: "subgroups" },
  passes: { redundancy: "intra+lds", pairing: "passes" },
  inter: { redundancy: "inter" },
  auto: {},
};

/** Results in place, of which each run would change what the one before left. */
const inPlace = struckCode.replace("out[i] = vec2u(", "out[i] = out[i] + vec2u(");

const kernels = {
  "with results of its own": struckCode,
  "with atomic operations": struckAtomics,
  "in place": inPlace,
};

/** Compiles a kernel once. Returns a function that runs it on new buffers. */
async function prepare(device: GPUDevice, code: string): Promise<() => Promise<Uint32Array>> {
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  return async () => {
    const input = uploadBuffer(
      device,
      Uint32Array.from({ length: 64 }, (_, i) => i * 7 + 1),
    );
    const output = resultBuffer(device, 512);
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, bindBuffers(device, pipeline, input, output), 2);
    device.queue.submit([encoder.finish()]);
    return new Uint32Array(await readBuffers(device, output));
  };
}

const rows = Object.entries(kernels)
  .flatMap(([kernel, code]) => Object.keys(flavors).map((flavor) => ({ kernel, code, flavor })))
  // Replicas in different subgroups only meet at the end, so a kernel in place is left alone.
  .filter(({ code, flavor }) => code !== inPlace || flavor !== "subgroups")
  .map((each, row) => ({ ...each, row }));
const permanent = [
  ["flips", (bit: number) => ({ xor: 1 << bit })],
  ["is set", (bit: number) => ({ set: 1 << bit })],
] as const;

describe.each(rows)("a kernel $kernel under $flavor", ({ code, flavor, row }) => {
  let plain: GPUDevice;
  let right: Uint32Array;
  beforeAll(async () => {
    plain = await newDevice();
    right = await (await prepare(plain, code))();
  });

  it.each(sample(permanent, row, 1))(
    "releases nothing wrong where a bit %s in each run",
    async (_, effectOf) => {
      const device = await harden(plain, { ...flavors[flavor], injectFaults: true });
      const run = await prepare(device, code);
      expect(await run()).toEqual(right);
      const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
      const outcomes = { masked: 0, recovered: 0, refused: 0 };
      const silent: string[] = [];
      for (const [place, site] of sites.entries()) {
        // Workgroup memory has one copy there.
        if (flavor === "intra-lds" && site.kind === "local") continue;
        for (const replica of [0, 1] as const) {
          const effect = effectOf((place * 7) % 31);
          const where = { workgroup: [1, 0, 0], localIndex: 5, duration: "launch", permanent: true } as const;
          device.belay.arm({ kernel, site: site.id, replica, effect, fuel: 1000, ...where });
          const before = (await device.belay.report()).kernels[0]!.detections;
          const result = await run().catch((error: unknown) => {
            if (!(error instanceof FaultError)) throw error;
            return undefined;
          });
          const isTold = (await device.belay.report()).kernels[0]!.detections > before;
          const isRight = JSON.stringify(result) === JSON.stringify(right);
          if (!result) outcomes.refused++;
          else if (!isRight)
            silent.push(`${site.kind} ${code.slice(site.span.start, site.span.end)}, replica ${replica}`);
          else outcomes[isTold ? "recovered" : "masked"]++;
          device.belay.disarm();
        }
      }
      expect(silent).toEqual([]);
      expect(outcomes.refused).toBeGreaterThan(0);
      expect(await run()).toEqual(right);
    },
  );
});
