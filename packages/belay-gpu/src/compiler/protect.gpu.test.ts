import { beforeAll, describe, expect, it } from "vitest";
import { adjacent, halfSubgroup, passes, subgroups } from "../../../../test/support/configurations.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type FeatureKernel, featureKernels } from "../../../../test/support/kernels/featureKernels.ts";
import { runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { everything, sample } from "../../../../test/support/sample.ts";
import { type CompilerOptions, type CompilerResult, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const exchanging = [...adjacent, ...halfSubgroup].filter(({ channel }) => channel === "subgroup");
// The software adapter takes a second to compile a kernel, and longer with loops in which replicas
// wait for each other.
const waiting = [...adjacent, ...halfSubgroup].filter(({ channel }) => channel === "workgroup");

describe.each(featureKernels.map((kernel, row) => ({ ...kernel, row })))("$name", ({ row, ...kernel }) => {
  it.each([...sample(exchanging, row, 2), ...sample(waiting, row, 1)])(
    "$redundancy, $check, $pairing, $channel: same bits, no detection",
    async (configuration) => {
      const result = guarded(kernel, configuration);
      expect(result.entryPoints.map((e) => e.redundancy)).not.toContain("none");
      await expectSameBits(kernel, result);
    },
  );

  const unprotected = { redundancy: "none" } as const;
  it.each(sample([unprotected, ...exchanging], row, 1))(
    "$redundancy, $check, $pairing: same bits where faults can strike, or are counted",
    async (configuration) => {
      for (const injectFaults of sample([true, "profile"] as const, row, 1))
        await expectSameBits(kernel, guarded(kernel, { ...configuration, injectFaults }));
    },
  );
});

/**
 * Their replicas would have to wait for each other before the end, wherever they are not lanes of
 * one subgroup.
 */
const syncing = [
  "in place, with values read back",
  "structs, arrays, matrices, vector components and vec3 padding",
  "functions that store, through pointers too",
  "storage atomics of every kind",
  "a float sum by compare and exchange",
  "short circuits, conditions and headers with atomics",
  "a queue whose items an atomic hands out",
  "module variables that hide functions of the language",
  "swizzles, and pointers and stores in the headers of loops",
];
/** Those that would have to only in some configurations. */
const syncingIn: Readonly<Record<string, readonly string[]>> = {
  "intra+lds subgroups": ["names that hide others"],
  "intra-lds subgroups": ["names that hide others", "workgroup atomics and uniform loads"],
  "intra+lds passes": [],
};

const apart = [...subgroups, ...passes].map((configuration, row) => ({ ...configuration, row }));
describe.each(apart)("$redundancy, $check, $pairing, $channel", ({ row, ...configuration }) => {
  const [fit, unfit] = partition(featureKernels, (kernel) =>
    guarded(kernel, configuration).entryPoints.some((e) => e.redundancy !== "none"),
  );

  // The two configurations of a pairing share its kernels.
  const own = fit.filter((kernel) => everything || featureKernels.indexOf(kernel) % 2 === row % 2);
  it.each(own)("$name: same bits, no detection", async (kernel) => {
    await expectSameBits(kernel, guarded(kernel, configuration));
  });

  it("leaves kernels alone whose replicas would have to wait for each other", () => {
    const { redundancy, pairing } = configuration;
    const expected = [...syncing, ...syncingIn[`${redundancy} ${pairing}`]!];
    expect(unfit.map(({ name }) => name).sort()).toEqual(expected.sort());
    for (const kernel of unfit) {
      const codes = guarded(kernel, configuration).diagnostics.map((d) => d.code);
      expect(codes, kernel.name).toContain(configuration.pairing === "passes" ? "BELAY215" : "BELAY212");
    }
  });
});

function guarded(kernel: FeatureKernel, configuration: CompilerOptions): CompilerResult {
  const { code, constants = {} } = kernel;
  const result = protect(code, { ...configuration, features: ["subgroups"], constants });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
}

async function expectSameBits(kernel: FeatureKernel, result: CompilerResult): Promise<void> {
  const plain = await runKernel(device, kernel.code, kernel);
  const output = await runKernel(device, result, kernel);
  expect(output.report[reportWords.detections]).toBe(0);
  for (const binding of Object.keys(plain.buffers).map(Number)) {
    if (kernel.unordered?.includes(binding))
      for (const { buffers } of [plain, output]) buffers[binding]!.sort();
    expect(output.buffers[binding]).toEqual(plain.buffers[binding]);
  }
}

function partition<T>(all: readonly T[], test: (one: T) => boolean): [T[], T[]] {
  return [all.filter(test), all.filter((one) => !test(one))];
}
