import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { featureKernels } from "../../../../../test/support/kernels/featureKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { reportWords } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

describe.each(["secded32", "secded128"] as const)("%s", (memory) => {
  it.each(featureKernels)("$name: same bits, check words fit, nothing found", async (kernel) => {
    const result = protect(kernel.code, {
      redundancy: "none",
      memory,
      features: ["subgroups"],
      constants: kernel.constants ?? {},
    });
    const plain = await runKernel(device, kernel.code, kernel);
    const output = await runCoded(device, result, kernel);
    expect([output.corrected, output.uncorrectable, output.unfit]).toEqual([0, 0, []]);
    expect(output.report[reportWords.detections] ?? 0).toBe(0);
    for (const binding of Object.keys(plain.buffers).map(Number)) {
      if (kernel.unordered?.includes(binding))
        for (const { buffers } of [plain, output]) buffers[binding]!.sort();
      expect(output.buffers[binding]).toEqual(plain.buffers[binding]);
    }
  });
});
