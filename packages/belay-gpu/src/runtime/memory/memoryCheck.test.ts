/** Kernels whose memory passes verify, as the policy's `memoryCheck` asks. */
import { afterAll, describe, expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { ProtectionError } from "../context/coverage.ts";
import { MemoryFaultError, type SuspectResults } from "../context/memoryFault.ts";
import { type Policy, refuseConflicts, resolvePolicy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";
import { EccMemory } from "./eccMemory.ts";

const { sharedDevice } = testDevices();
const opened: HardenedDevice[] = [];
afterAll(() => {
  for (const device of opened) device.destroy();
});

const SIZE = 64;
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = { STORAGE: 128, COPY_SRC: 4, COPY_DST: 8, MAP_READ: 1 };

/** Adds the weights to each number, in vectors, and stores the sums elsewhere. */
const ADD = `
@group(0) @binding(0) var<storage, read> weights: array<vec4u>;
@group(0) @binding(1) var<storage, read> inputs: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> outputs: array<vec4u>;
@compute @workgroup_size(${SIZE / 4}) fn add(@builtin(global_invocation_id) id: vec3u) {
  outputs[id.x] = inputs[id.x] + weights[id.x];
}`;

async function newProgram(policy: Policy) {
  const device = harden(await sharedDevice(), { redundancy: "none", injectFaults: true, ...policy });
  opened.push(device);
  const corrected: string[] = [];
  const told: string[] = [];
  for (const type of ["suspectResults", "recovery", "giveUp", "memoryFault"] as const)
    device.belay.addEventListener(type, () => told.push(type));
  device.belay.addEventListener("corrected", ({ detail }) =>
    corrected.push(...detail.errors.map(({ buffer, kernel }) => `${buffer} ${kernel}`)),
  );
  const make = (label: string, word: number) => {
    const buffer = device.createBuffer({ label, size: 4 * SIZE, usage: STORAGE | COPY_SRC | COPY_DST });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(SIZE).fill(word));
    return buffer;
  };
  const [weights, first, second, third] = [make("weights", 5), make("a", 1), make("b", 0), make("c", 0)];
  const module = device.createShaderModule({ code: ADD });
  const label = "layer";
  const pipeline = device.createComputePipeline({ label, layout: "auto", compute: { module } });
  const layout = pipeline.getBindGroupLayout(0);
  const groups = [
    [first, second],
    [second, third],
  ].map(([from, to]) =>
    device.createBindGroup({
      layout,
      entries: [weights, from!, to!].map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  const staging = device.createBuffer({ size: 4 * SIZE, usage: MAP_READ | COPY_DST });
  const commandsOf = (runs: GPUComputePipeline, bound: readonly GPUBindGroup[]) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(runs);
    for (const group of bound) {
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    return encoder.finish();
  };
  /** Records commands that add the weights, once for each of these groups. */
  const record = (...indices: number[]) =>
    commandsOf(
      pipeline,
      indices.map((index) => groups[index]!),
    );
  /** Records commands of a pipeline named "other", which add the weights elsewhere. */
  const recordOther = (added = weights, to = make("d", 0)) => {
    const label = "other";
    const other = device.createComputePipeline({ label, layout: "auto", compute: { module } });
    const entries = [added, first, to].map((buffer, binding) => ({
      binding,
      resource: { buffer },
    }));
    return commandsOf(other, [device.createBindGroup({ layout: other.getBindGroupLayout(0), entries })]);
  };
  const read = async () => {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(third, staging);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(MAP_READ);
    const words = [...new Set(new Uint32Array(staging.getMappedRange()))];
    staging.unmap();
    return words;
  };
  const countsOf = async (name: string) => {
    const { memory } = await device.belay.report();
    return memory!.buffers.find(({ label }) => label === name)!;
  };
  return {
    device,
    weights,
    first,
    second,
    corrected,
    told,
    record,
    recordOther,
    /** Adds numbers to other ones by that pipeline. Resolves to the sums. */
    runOther: (added: GPUBuffer) => {
      device.queue.submit([recordOther(added, third)]);
      return read();
    },
    read,
    /** Adds the weights twice. Resolves to the sums. */
    run: () => {
      device.queue.submit([record(0, 1)]);
      return read();
    },
    bytesVerified: async () => (await countsOf("weights")).verifiedBytes,
    bytesTrusted: async () => (await countsOf("weights")).trustedBytes,
  };
}

const codes = ["secded128", "secded32", "detect", "checksum"] as const;

describe.each(codes)("passes, %s", (memory) => {
  it("verify unchanged data once in each command buffer", async () => {
    const { run, bytesVerified } = await newProgram({ memory, memoryCheck: "passes" });
    const counts: number[] = [];
    for (let i = 0; i < 3; i++) {
      expect(await run()).toEqual([11]);
      counts.push(await bytesVerified());
    }
    expect(counts).toEqual([1, 2, 3].map((times) => times * 4 * SIZE));
  });

  it("refuse data that has more errors than the code corrects", async () => {
    const { device, weights, first, run } = await newProgram({ memory, memoryCheck: "passes" });
    expect(await run()).toEqual([11]);
    for (const buffer of [weights, first]) {
      device.belay.flip(buffer, 32, 3);
      await expect(run()).rejects.toBeInstanceOf(MemoryFaultError);
      device.queue.writeBuffer(buffer, 0, new Uint32Array(SIZE).fill(buffer === weights ? 5 : 1));
      expect(await run()).toEqual([11]);
    }
  });
});

it("corrects data before kernels load it, whatever kind of binding loads it", async () => {
  const { device, weights, first, corrected, run } = await newProgram({
    memory: "secded128",
    memoryCheck: "passes",
  });
  device.belay.flip(weights, 0, 1);
  expect(await run()).toEqual([11]);
  device.belay.flip(weights, 100, 1 << 7);
  device.belay.flip(first, 100, 1 << 7);
  expect(await run()).toEqual([11]);
  expect(corrected.sort()).toEqual(["a null", "weights null", "weights null"]);
  expect((await device.belay.report()).memory).toMatchObject({ corrected: 3, correctedLoads: 0 });
});

it("applies to the kernels that the policy names", async () => {
  const correctedIn = async (kernels: Policy["kernels"]) => {
    const { device, weights, corrected, run } = await newProgram({ memory: "secded128", kernels: kernels! });
    device.belay.flip(weights, 0, 1);
    expect(await run()).toEqual([11]);
    const { kernels: reported } = await device.belay.report();
    return [corrected.includes("weights layer"), reported[0]!.diagnostics.map(({ code }) => code)];
  };
  expect(await correctedIn({ layer: { memoryCheck: "passes" } })).toEqual([false, ["BELAY326", "BELAY326"]]);
  expect(await correctedIn({ other: { memoryCheck: "passes" } })).toEqual([true, ["BELAY326"]]);
});

it("gives the bits of kernels with redundancy, too", async () => {
  const { device, weights, run } = await newProgram({
    memory: "secded128",
    redundancy: "intra+lds",
    memoryCheck: "passes",
  });
  device.belay.flip(weights, 0, 1);
  expect(await run()).toEqual([11]);
  const { kernels, memory } = await device.belay.report();
  expect(kernels[0]).toMatchObject({ redundancy: "intra+lds", detections: 0 });
  expect(memory).toMatchObject({ corrected: 1, correctedLoads: 0 });
});

it("leaves a flip to the results without a code, so that these tests see one", async () => {
  const { device, weights, run } = await newProgram({});
  device.belay.flip(weights, 0, 1);
  expect(await run()).toEqual([9, 11]);
});

/** A policy under which only `belay.scrub()` scrubs while a test runs. */
const scrubs = { memory: "secded128", memoryCheck: "scrubs", scrubIntervalMs: 2 ** 31 - 1 } as const;

describe("scrubs", () => {
  it.each(codes)("verify unchanged data once, and count the loads since: %s", async (memory) => {
    const { device, weights, run, bytesVerified, bytesTrusted } = await newProgram({ ...scrubs, memory });
    for (let i = 1; i <= 3; i++) {
      expect(await run()).toEqual([11]);
      expect([await bytesVerified(), await bytesTrusted()]).toEqual([4 * SIZE, i * 4 * SIZE]);
    }
    device.queue.writeBuffer(weights, 0, new Uint32Array(SIZE).fill(6));
    expect(await run()).toEqual([13]);
    // Once before the write, as work had trusted the data, and once after it.
    expect(await bytesVerified()).toBe(3 * 4 * SIZE);
  });

  it.each(["recover", "throw"] as const)("correct a flip before the first use: %s", async (onFault) => {
    const { device, weights, told, corrected, run } = await newProgram({ ...scrubs, onFault });
    device.belay.flip(weights, 20, 1 << 9);
    expect(await run()).toEqual([11]);
    expect([corrected, told]).toEqual([["weights null"], []]);
    device.queue.writeBuffer(weights, 0, new Uint32Array(SIZE).fill(6));
    device.belay.flip(weights, 20, 1 << 9);
    expect(await run()).toEqual([13]);
    // Work had trusted the data before the write, and one check covers both verifications.
    expect([corrected, told]).toEqual([["weights null", "weights null"], ["suspectResults"]]);
  });

  it("correct a flip in data that was mapped at its creation while memory was scrubbed", async () => {
    const { device, corrected, told, runOther } = await newProgram(scrubs);
    const data = device.createBuffer({
      label: "data",
      size: 4 * SIZE,
      usage: STORAGE,
      mappedAtCreation: true,
    });
    await device.belay.scrub();
    new Uint32Array(data.getMappedRange()).fill(7);
    data.unmap();
    device.belay.flip(data, 0, 1);
    expect(await runOther(data)).toEqual([8]);
    expect([corrected, told]).toEqual([["data null"], []]);
  });

  it("find a flip at rest, and tell that released results may be wrong", async () => {
    const { device, weights, told, corrected, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    device.belay.flip(weights, 0, 1);
    expect(await run()).toEqual([9, 11]);
    expect([corrected, told]).toEqual([[], []]);
    await device.belay.scrub();
    expect([corrected, told]).toEqual([["weights null"], ["suspectResults"]]);
    expect(await run()).toEqual([11]);
  });

  it("run work again that is not released", async () => {
    const { device, weights, told, record, read, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    await device.belay.scrub();
    device.belay.flip(weights, 0, 1);
    device.queue.submit([record(0, 1)]);
    await device.belay.scrub();
    expect(await read()).toEqual([11]);
    expect(told).toEqual(["recovery"]);
  });

  it("run work again whose wrong data another kernel found", async () => {
    const { device, weights, told, record, read, recordOther } = await newProgram({
      ...scrubs,
      kernels: { other: { memoryCheck: "loads" } },
    });
    device.queue.submit([record(0, 1)]);
    expect(await read()).toEqual([11]);
    device.belay.flip(weights, 0, 1);
    device.queue.submit([record(0, 1), recordOther()]);
    expect(await read()).toEqual([11]);
    expect(told).toContain("recovery");
  });

  it.each(["recover", "throw"] as const)(
    "find the wrong data of work that was submitted while an earlier check found it: %s",
    async (onFault) => {
      const { device, weights, record, read, recordOther } = await newProgram({
        ...scrubs,
        onFault,
        kernels: { other: { memoryCheck: "loads" } },
      });
      device.queue.submit([record(0, 1)]);
      expect(await read()).toEqual([11]);
      device.belay.flip(weights, 0, 1);
      device.queue.submit([recordOther()]);
      const checked = device.queue.onSubmittedWorkDone();
      device.queue.submit([record(0, 1)]);
      await checked;
      if (onFault === "recover") expect(await read()).toEqual([11]);
      else await expect(read()).rejects.toBeInstanceOf(MemoryFaultError);
    },
  );

  it("refuse what such work computed where it cannot run again, and not the corrected data", async () => {
    const { device, weights, record, read, run } = await newProgram({ ...scrubs, onFault: "throw" });
    expect(await run()).toEqual([11]);
    device.belay.flip(weights, 0, 1);
    device.queue.submit([record(0, 1)]);
    await expect(device.belay.scrub()).rejects.toBeInstanceOf(MemoryFaultError);
    await expect(read()).rejects.toBeInstanceOf(MemoryFaultError);
    expect(await run()).toEqual([11]);
  });

  it("refuse all later results of data beyond correction, until it is written again", async () => {
    const { device, weights, told, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    device.belay.flip(weights, 0, 3);
    await expect(device.belay.scrub()).rejects.toBeInstanceOf(MemoryFaultError);
    expect(told).toEqual(["suspectResults", "memoryFault", "giveUp"]);
    await expect(run()).rejects.toBeInstanceOf(MemoryFaultError);
    device.queue.writeBuffer(weights, 0, new Uint32Array(SIZE).fill(5));
    expect(await run()).toEqual([11]);
  });

  it("verify data that changes before its next use", async () => {
    const { device, second, corrected, told, record, read } = await newProgram(scrubs);
    device.queue.submit([record(0)]);
    device.belay.flip(second, 8, 1 << 30);
    device.queue.submit([record(1)]);
    expect(await read()).toEqual([11]);
    expect([corrected, told]).toEqual([["b null"], []]);
  });

  it.each(["a write", "a copy", "its end"] as const)("verify trusted data before %s", async (change) => {
    const { device, weights, first, told, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    device.belay.flip(weights, 0, 1);
    expect(await run()).toEqual([9, 11]);
    if (change === "a write") device.queue.writeBuffer(weights, 0, Uint32Array.of(5));
    if (change === "its end") weights.destroy();
    if (change === "a copy") {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(first, 0, weights, 0, 16);
      device.queue.submit([encoder.finish()]);
    }
    await device.belay.scrub();
    expect(told).toContain("suspectResults");
  });

  it.each(["recover", "throw"] as const)(
    "never release what a flip reached in a buffer that is destroyed before the read: %s",
    async (onFault) => {
      for (const mask of [1 << 22, 3]) {
        const { device, weights, told, record, read, run } = await newProgram({ ...scrubs, onFault });
        expect(await run()).toEqual([11]);
        device.belay.flip(weights, 28, mask);
        device.queue.submit([record(0, 1)]);
        weights.destroy();
        const again = device.createBuffer({ label: "again", size: 4 * SIZE, usage: STORAGE | COPY_DST });
        if (mask === 3 || onFault === "throw") await expect(read()).rejects.toThrow(/"weights", bytes 16/);
        else expect(await read()).toEqual([11]);
        expect(told[0]).toBe("suspectResults");
        again.destroy();
      }
    },
  );

  it("tell of released results when the buffer is destroyed, with nothing else running", async () => {
    for (const mask of [1, 3]) {
      const { device, weights, told, run } = await newProgram(scrubs);
      expect(await run()).toEqual([11]);
      device.belay.flip(weights, 28, mask);
      const found = new Promise<SuspectResults>((resolve) =>
        device.belay.addEventListener("suspectResults", ({ detail }) => resolve(detail)),
      );
      weights.destroy();
      const { errors } = await found;
      expect(errors.map(({ buffer }) => buffer)).toEqual(["weights"]);
      expect(told[0]).toBe("suspectResults");
    }
  });

  it("run work again that is not released when another buffer is destroyed", async () => {
    const { device, weights, first, told, record, read, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    await device.belay.scrub();
    device.belay.flip(weights, 28, 1 << 22);
    device.queue.submit([record(0, 1)]);
    first.destroy();
    await device.belay.scrub();
    expect(await read()).toEqual([11]);
    expect(told).toEqual(["recovery"]);
  });

  it("count a flip once that a recovery and the check of a later epoch find", async () => {
    const { device, weights, first, second, told, record, recordOther, read } = await newProgram(scrubs);
    device.queue.submit([record(0, 1)]);
    expect(await read()).toEqual([11]);
    device.belay.flip(first, 0, 1);
    device.queue.submit([record(0, 1)]);
    device.queue.writeBuffer(first, 16, Uint32Array.of(1));
    const checks = [device.belay.verify()];
    device.belay.flip(weights, 0, 1);
    device.queue.submit([record(0, 1), recordOther(second, weights)]);
    checks.push(device.belay.verify());
    await Promise.all(checks);
    expect(told).toContain("recovery");
    expect((await device.belay.report()).memory).toMatchObject({ corrected: 2 });
  });

  it.each(["a kernel", "a write", "a copy", "a clear"] as const)(
    "run work again when a part of its data changes later, by %s",
    async (change) => {
      const { device, weights, first, told, corrected, record, recordOther, read } = await newProgram(scrubs);
      device.queue.submit([record(0, 1)]);
      await read();
      await device.belay.scrub();
      device.belay.flip(weights, 28, 1 << 22);
      device.queue.submit([record(0, 1)]);
      const encoder = device.createCommandEncoder();
      if (change === "a kernel") device.queue.submit([recordOther(first, weights)]);
      if (change === "a write") device.queue.writeBuffer(weights, 16, Uint32Array.of(7));
      if (change === "a copy") encoder.copyBufferToBuffer(first, 0, weights, 0, 16);
      if (change === "a clear") encoder.clearBuffer(weights, 0, 16);
      device.queue.submit([encoder.finish()]);
      expect(await read()).toEqual([11]);
      // The flip comes back with the restored contents, and counts once all the same.
      expect([told, corrected]).toEqual([["recovery"], ["weights null"]]);
      expect((await device.belay.report()).memory).toMatchObject({ corrected: 1, uncorrectable: 0 });
    },
  );

  it("happen at intervals, with nothing else running", async () => {
    const { device, weights, told, run } = await newProgram({ ...scrubs, scrubIntervalMs: 20 });
    expect(await run()).toEqual([11]);
    // The timer may have scrubbed before the run, which trusted the data then.
    await device.belay.scrub();
    const found = new Promise((resolve) => device.belay.addEventListener("corrected", resolve));
    device.belay.flip(weights, 0, 1);
    await found;
    expect(told).toEqual([]);
    expect(await run()).toEqual([11]);
  });

  it("are what finds such a flip", async () => {
    const { device, weights, told, corrected, run } = await newProgram(scrubs);
    expect(await run()).toEqual([11]);
    device.belay.flip(weights, 0, 1);
    // A scrubber that scrubs nothing.
    const scrub = vi.spyOn(EccMemory.prototype, "scrub").mockImplementation(() => {});
    await device.belay.scrub();
    scrub.mockRestore();
    expect([corrected, told, await run()]).toEqual([[], [], [9, 11]]);
  });
});

it("is refused under strict, and without a code", async () => {
  const policy: Policy = { memory: "secded128", redundancy: "intra+lds", memoryCheck: "passes" };
  await expect(newProgram({ ...policy, strict: true })).rejects.toBeInstanceOf(ProtectionError);
  const conflict = 'memoryCheck is "passes", and memory is "none", so there is nothing to check';
  for (const given of [{ memoryCheck: "passes" }, { kernels: { layer: { memoryCheck: "passes" } } }] as const)
    expect(() => refuseConflicts(resolvePolicy(given), [])).toThrow(conflict);
  expect(() => resolvePolicy({ memoryCheck: "loads" })).not.toThrow();
  expect(() => refuseConflicts(resolvePolicy({ memory: "detect", memoryCheck: "scrubs" }), [])).toThrow(
    'memoryCheck is "scrubs", and scrubIntervalMs is 0, so nothing scrubs memory',
  );
  expect(() => resolvePolicy({ memoryCheck: "never" as never })).toThrow(
    'the option memoryCheck of the policy cannot be "never"',
  );
});
