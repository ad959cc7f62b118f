import { beforeAll, describe, expect, it } from "vitest";
import { featureKernels } from "../../test/featureKernels.ts";
import { runKernel } from "../../test/kernelRunner.ts";
import { testDevices } from "../../test/testDevices.ts";
import { type ProtectOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const configurations: ProtectOptions[] = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
  (["store", "signature"] as const).flatMap((check) =>
    (["subgroup", "workgroup"] as const).map((channel) => ({
      redundancy,
      check,
      channel,
      features: ["subgroups"],
    })),
  ),
);

describe.each(configurations)("$redundancy, $check, $channel", (options) => {
  it.each(featureKernels)("$name: same bits, no detection", async (kernel) => {
    const result = protect(kernel.code, { ...options, constants: kernel.constants ?? {} });
    expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(result.entryPoints.map((e) => e.redundancy)).not.toContain("none");
    const plain = await runKernel(device, kernel.code, kernel);
    const guarded = await runKernel(device, result, kernel);
    expect(guarded.report[reportWords.detections]).toBe(0);
    for (const binding of Object.keys(plain.buffers).map(Number)) {
      if (kernel.unordered?.includes(binding))
        for (const { buffers } of [plain, guarded]) buffers[binding]!.sort();
      expect(guarded.buffers[binding]).toEqual(plain.buffers[binding]);
    }
  });
});
