/** Every workload gives the same bits on a hardened device as on a plain one, and no fault in it stays unseen. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { harden } from "../src/runtime/harden.ts";
import * as bitonicSort from "../workloads/bitonicSort.ts";
import * as histogram from "../workloads/histogram.ts";
import * as matrixProduct from "../workloads/matrixProduct.ts";
import * as nBody from "../workloads/nBody.ts";
import type { Program } from "../workloads/program.ts";
import * as reduction from "../workloads/reduction.ts";
import * as sobelFilter from "../workloads/sobelFilter.ts";
import { testDevices } from "./testDevices.ts";

const { newDevice } = testDevices({ full: true });
let plain: GPUDevice;
beforeAll(async () => {
  plain = await newDevice();
});

const flavors = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
  (["store", "signature"] as const).flatMap((check) =>
    (["subgroup", "workgroup"] as const).map((channel) => ({ redundancy, check, channel })),
  ),
);

const size = (max: number) => fc.integer({ min: 1, max });

/** The workloads at sizes that fill several workgroups at most. */
const workloads: Record<string, fc.Arbitrary<Program>> = {
  matrixProduct: fc
    .record({ rows: size(33), columns: size(33), inner: size(33), seed: fc.nat() })
    .map(matrixProduct.create),
  nBody: fc.record({ bodies: size(130), steps: size(2), seed: fc.nat() }).map(nBody.create),
  reduction: fc.record({ length: size(2500), seed: fc.nat() }).map(reduction.create),
  reductionFloat: fc
    .record({ length: size(2500), type: fc.constant("f32" as const), seed: fc.nat() })
    .map(reduction.create),
  bitonicSort: fc.record({ length: size(1100), seed: fc.nat() }).map(bitonicSort.create),
  histogram: fc.record({ samples: size(20_000), seed: fc.nat() }).map(histogram.create),
  sobelFilter: fc.record({ width: size(40), height: size(20), seed: fc.nat() }).map(sobelFilter.create),
};

describe.each(flavors)("$redundancy, $check, $channel", (policy) => {
  it.each(Object.entries(workloads))(
    "%s: same bits, nothing detected, every kernel protected",
    async (_, programs) => {
      const device = await harden(plain, policy);
      await fc.assert(
        fc.asyncProperty(programs, async (program) => {
          const result = await program.workload(device);
          expect(result).toEqual(await program.workload(plain));
          expect(program.verify(result)).toMatchObject({ ok: true });
        }),
        { seed: 1, numRuns: 3 },
      );
      const { kernels, faults } = await device.belay.report();
      expect(faults).toEqual([]);
      expect(kernels.map(({ redundancy }) => redundancy)).toEqual(kernels.map(() => policy.redundancy));
      expect(kernels.length).toBeGreaterThan(0);
    },
  );
});
