import { beforeAll, describe, expect, it } from "vitest";
import { featureKernels } from "../../test/featureKernels.ts";
import { type Host, runKernel, runTwins } from "../../test/kernelRunner.ts";
import { testDevices } from "../../test/testDevices.ts";
import { type ProtectOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const configurations: { options: ProtectOptions; host: Host }[] = [
  { options: { check: "signature", features: ["subgroups"] }, host: {} },
  { options: { check: "signature" }, host: { dimension: 1, times: 2 } },
  { options: { check: "store" }, host: { dimension: 2, byReport: true } },
  { options: { check: "store" }, host: { times: 3 } },
];

describe.each(configurations)("inter, $options.check, $host", ({ options, host }) => {
  it.each(featureKernels)("$name: same bits, no detection, all balanced", async (kernel) => {
    const constants = kernel.constants ?? {};
    const result = protect(kernel.code, { redundancy: "inter", ...options, constants });
    expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(result.entryPoints.map((e) => e.redundancy)).not.toContain("none");
    const times = host.times ?? 1;
    const plain = await runKernel(device, kernel.code, kernel, {}, { times });
    const guarded = await runTwins(device, result, kernel, {}, host);
    expect(guarded.report[reportWords.detections]).toBe(0);
    expect(guarded.cells.filter((cell) => cell !== 0)).toHaveLength(0);
    for (const binding of Object.keys(plain.buffers).map(Number)) {
      if (kernel.unordered?.includes(binding))
        for (const { buffers } of [plain, guarded]) buffers[binding]!.sort();
      expect(guarded.buffers[binding]).toEqual(plain.buffers[binding]);
      const shadow = guarded.shadows[binding];
      if (shadow && !kernel.unordered?.includes(binding)) expect(shadow).toEqual(plain.buffers[binding]);
    }
  });
});
