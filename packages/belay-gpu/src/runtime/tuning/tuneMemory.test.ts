import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { tuneMemory } from "./tuneMemory.ts";
import type { Workload } from "./workload.ts";

const { newDevice } = testDevices();

it("chooses the code under which a workload is fastest, without its first run", async () => {
  const runs: string[] = [];
  let clock = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => clock);
  const workload: Workload = async (device) => {
    const { memory } = await (
      device as Awaited<ReturnType<typeof import("../harden.ts").harden>>
    ).belay.report();
    const scheme = memory?.scheme ?? "none";
    runs.push(scheme);
    const isFirst = runs.filter((each) => each === scheme).length === 1;
    clock += isFirst ? 200 : { none: 10, secded128: 60, secded64: 20 }[scheme as "none"];
    return {};
  };
  const tuning = await tuneMemory(workload, { newDevice, candidates: ["secded128", "secded64"], runs: 2 });
  now.mockRestore();
  const alternating = ["secded128", "secded64"].flatMap((scheme) =>
    Array.from({ length: 3 }, () => ["none", scheme]),
  );
  expect(runs).toEqual(alternating.flat());
  expect(tuning.memory).toBe("secded64");
  expect(tuning.tried.map(({ memory }) => memory)).toEqual(["secded64", "secded128"]);
  expect(tuning).toMatchObject({ protected: 20, unprotected: 10 });
});

it("rejects without a code to try, and with the errors of the workload", async () => {
  const nothing: Workload = async () => ({});
  await expect(tuneMemory(nothing, { newDevice, candidates: [], runs: 1 })).rejects.toThrow("no code");
  const broken: Workload = async () => {
    throw new RangeError("broken");
  };
  await expect(tuneMemory(broken, { newDevice })).rejects.toThrow("broken");
});

it("tries the codes between which the text of the kernels does not decide", async () => {
  const kernel = (rounds: number) => /* wgsl */ `
    @group(0) @binding(0) var<storage, read_write> numbers: array<vec4f>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      var x = numbers[id.x];
      for (var k = 0; k < ${rounds}; k++) { x = fma(x, x, vec4f(0.5)); }
      numbers[id.x] = x;
    }`;
  const compiles =
    (code: string): Workload =>
    async (device) => {
      device.createShaderModule({ code });
      return {};
    };
  const tried = async (rounds: number) => {
    const options = { newDevice, runs: 1, time: async () => 1 };
    const tuning = await tuneMemory(compiles(kernel(rounds)), options);
    return tuning.tried.map(({ memory }) => memory);
  };
  expect(await tried(1)).toEqual(["secded128"]);
  expect(await tried(2000)).toEqual(["secded128", "secded64", "secded32"]);
});

it.each(["an abort", "a failure"])("destroys its devices after %s", async (end) => {
  const devices: GPUDevice[] = [];
  const made = async () => {
    devices.push(await newDevice());
    return devices.at(-1)!;
  };
  const ending = new AbortController();
  const reason = new Error("enough");
  let runs = 0;
  const workload: Workload = async () => {
    if (++runs === 3 && end === "a failure") throw reason;
    if (runs === 3) ending.abort(reason);
    return {};
  };
  const options = { newDevice: made, candidates: ["secded64"], signal: ending.signal } as const;
  await expect(tuneMemory(workload, options)).rejects.toBe(reason);
  expect(runs).toBe(3);
  expect(devices).toHaveLength(2);
  for (const { lost } of devices) expect((await lost).reason).toBe("destroyed");
});

it("refuses wrong options, and tells its steps", async () => {
  const nothing: Workload = async () => ({});
  const wrong: [object, string][] = [
    [{ progress: 1 }, "there is no option progress: the options are newDevice, candidates,"],
    [{ candidates: ["secded"] }, 'the option candidates cannot be ["secded"]: it is a list of "secded'],
    [{ redundancy: "auto" }, 'the option redundancy cannot be "auto": it is one of "none"'],
  ];
  for (const [options, message] of wrong)
    await expect(tuneMemory(nothing, { newDevice, ...options })).rejects.toThrow(message);
  const onProgress = vi.fn();
  await tuneMemory(nothing, { newDevice, candidates: ["secded64", "secded128"], runs: 1, onProgress });
  expect(onProgress.mock.calls).toEqual([
    [{ done: 0, total: 2, doing: "secded64" }],
    [{ done: 1, total: 2, doing: "secded128" }],
  ]);
});
