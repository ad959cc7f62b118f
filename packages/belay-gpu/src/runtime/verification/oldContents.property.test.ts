/**
 * Commands that run again from other contents of buffers without a snapshot give the same results.
 * Two runs on a plain device show it. They begin with different contents of just these buffers.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { fillingKernels } from "../../../../../test/support/kernels/fillingKernels.ts";
import { everything } from "../../../../../test/support/sample.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices({ full: true });

const WORDS = 16;
/** The number of storage buffers. A uniform buffer follows them. */
const STORAGE_BUFFERS = 3;
const UNIFORM = STORAGE_BUFFERS;

type Step =
  | { readonly do: "dispatch"; readonly kernel: number; readonly out: number; readonly input: number }
  | { readonly do: "clear"; readonly to: number; readonly words: number }
  | { readonly do: "copy"; readonly from: number; readonly to: number; readonly words: number };

/** The command buffers of each submission. */
type Submits = readonly (readonly (readonly Step[])[])[];

// All invocations store the same value, and none reads what another one stores. So the order in
// which they run decides nothing.
const { statements, index } = fillingKernels({ value: "(a[5] * 3u + 1u)", condition: "(a[at % 16u] > 9u)" });
const last = fc.oneof(index, fc.constant("id.x")).map((place) => `out[${place}] = a[5] * 3u + 1u;`);
const filling = fc.oneof(
  fc.tuple(statements, last).map((parts) => parts.join(" ")),
  fc.constantFrom(
    "out[id.x] = a[5] * 3u + 1u;",
    "if (u[1].x > 3) { out[id.x] = a[5]; } else { out[id.x] = 4u; }",
    "for (var k = 0u; k < 16; k++) { out[k] = a[5] + k; }",
    "for (var k = 0u; k < min(2 * u32(u[0].x), 16u); k++) { out[k] = a[5] + k; }",
    "if (u[0].x != 8 && a[5] > 9) { return; } out[id.x] = a[5];",
  ),
);
const updating = fc.constantFrom(
  "if (id.y == 0 && id.x < 16) { out[id.x] = out[id.x] * 2 + 1; }",
  "if (id.y == 0 && id.x < 16) { let old = out[id.x]; out[id.x] = 1; if (old > 9) { out[id.x] = 2; } }",
);
const kernel = fc.oneof({ arbitrary: filling, weight: 5 }, { arbitrary: updating, weight: 1 }).map(
  (body) => `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read> a: array<u32>;
    @group(0) @binding(2) var<uniform> u: array<vec4i, 4>;
    var<private> at: u32;
    fn put(i: u32) { if (i < 40) { at = i; } else { return; } out[i] = a[5] * 3u + 1u; }
    @compute @workgroup_size(8, 2) fn fill(
      @builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) wid: vec3u,
      @builtin(local_invocation_id) lid: vec3u, @builtin(local_invocation_index) index: u32) {
      _ = a[0]; at = u32(u[0].z); ${body}
    }`,
);

const storage = fc.nat(STORAGE_BUFFERS - 1);
const words = fc.constantFrom(WORDS, WORDS, WORDS - 1);
const two = fc.tuple(storage, fc.integer({ min: 1, max: STORAGE_BUFFERS - 1 }));
const dispatch = fc.tuple(two, fc.nat(1)).map(([[out, further], kernel]): Step => {
  return { do: "dispatch", kernel, out, input: (out + further) % STORAGE_BUFFERS };
});
const clear = fc
  .tuple(fc.nat(UNIFORM), words)
  .map(([to, count]): Step => ({ do: "clear", to, words: count }));
const copy = fc.tuple(two, words).map(([[from, further], count]): Step => {
  return { do: "copy", from, to: (from + further) % STORAGE_BUFFERS, words: count };
});
const setUniform = fc.tuple(storage, words).map(([from, count]): Step => {
  return { do: "copy", from, to: UNIFORM, words: count };
});
const encoder = fc.array(
  fc.oneof({ arbitrary: dispatch, weight: 4 }, clear, copy, { arbitrary: setUniform, weight: 3 }),
  { minLength: 1, maxLength: 4 },
);
const submits: fc.Arbitrary<Submits> = fc
  .array(fc.array(encoder, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 })
  // Only work from the first protected dispatch on can run again.
  .chain(([first, ...rest]) => dispatch.map((begin) => [[[begin], ...first!], ...rest]));

/** Returns the words of all buffers before a run. */
const contentsFrom = (seed: number) =>
  Array.from({ length: STORAGE_BUFFERS + 1 }, (_, buffer) =>
    Uint32Array.from({ length: WORDS }, (_, i) =>
      buffer === UNIFORM ? [8, 16, 0, 0, 7][i]! + seed : ((i + 16 * buffer + seed) * 2654435761) % 13,
    ),
  );

/** Returns the compute pipelines of kernels. */
function pipelinesOf(device: GPUDevice, kernels: readonly string[]): Promise<GPUComputePipeline[]> {
  const compiled = kernels.map((code) => {
    const module = device.createShaderModule({ code });
    return device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  });
  return Promise.all(compiled);
}

/** Creates the buffers of a program. Returns functions that write them, run it, and read them. */
function prepare(device: GPUDevice, pipelines: readonly GPUComputePipeline[], submits: Submits) {
  const { STORAGE, UNIFORM: uniform, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const buffers = contentsFrom(0).map(({ byteLength: size }, i) =>
    device.createBuffer({ size, usage: (i === UNIFORM ? uniform : STORAGE) | COPY_SRC | COPY_DST }),
  );
  const encode = (encoder: GPUCommandEncoder, step: Step) => {
    if (step.do === "clear") encoder.clearBuffer(buffers[step.to]!, 0, 4 * step.words);
    else if (step.do === "copy")
      encoder.copyBufferToBuffer(buffers[step.from]!, 0, buffers[step.to]!, 0, 4 * step.words);
    else {
      const pipeline = pipelines[step.kernel]!;
      const entries = [step.out, step.input, UNIFORM].map((place, binding) => ({
        binding,
        resource: { buffer: buffers[place]! },
      }));
      encodeDispatch(
        encoder,
        pipeline,
        device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
        3,
        2,
      );
    }
  };
  const write = (contents: readonly Uint32Array<ArrayBuffer>[]) => {
    for (const [i, buffer] of buffers.entries()) device.queue.writeBuffer(buffer, 0, contents[i]!);
  };
  const run = () => {
    for (const encoders of submits) {
      const commands = encoders.map((steps) => {
        const encoder = device.createCommandEncoder();
        for (const step of steps) encode(encoder, step);
        return encoder.finish();
      });
      device.queue.submit(commands);
    }
  };
  const read = async () => {
    const staging = device.createBuffer({ size: 4 * WORDS * buffers.length, usage: MAP_READ | COPY_DST });
    const encoder = device.createCommandEncoder();
    for (const [i, buffer] of buffers.entries())
      encoder.copyBufferToBuffer(buffer, 0, staging, 4 * WORDS * i, 4 * WORDS);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const all = [...new Uint32Array(staging.getMappedRange())];
    staging.destroy();
    return all;
  };
  const destroy = () => {
    for (const buffer of buffers) buffer.destroy();
  };
  return { buffers, write, run, read, destroy };
}

/** Returns a function that tells the sources of copies which the runtime saves during some work. */
function saves(native: GPUDevice): (work: () => void) => Set<GPUBuffer> {
  return (work) => {
    const saved = new Set<GPUBuffer>();
    const create = native.createCommandEncoder;
    native.createCommandEncoder = (descriptor) => {
      const encoder = create.call(native, descriptor);
      if (descriptor?.label !== "belay: save") return encoder;
      const copy = encoder.copyBufferToBuffer.bind(encoder);
      encoder.copyBufferToBuffer = (from: GPUBuffer, ...rest: unknown[]) => {
        saved.add(from);
        Reflect.apply(copy, undefined, [from, ...rest]);
      };
      return encoder;
    };
    work();
    native.createCommandEncoder = create;
    return saved;
  };
}

it("needs no earlier contents of buffers without a snapshot", async () => {
  const native = await newDevice();
  const device = harden(native, { redundancy: "intra+lds" });
  const savesDuring = saves(native);
  let [written, unsaved] = [0, 0];
  const pairs = fc.sample(fc.tuple(kernel, kernel), { numRuns: everything ? 100 : 30, seed: 3 });
  for (const [seed, kernels] of pairs.entries()) {
    const checked = await pipelinesOf(device, kernels);
    const plain = await pipelinesOf(native, kernels);
    for (const each of fc.sample(submits, { numRuns: everything ? 25 : 15, seed })) {
      const hardened = prepare(device, checked, each);
      hardened.write(contentsFrom(0));
      await device.belay.verify();
      const saved = savesDuring(hardened.run);
      await device.belay.verify();
      hardened.destroy();
      const targets = new Set(each.flat(2).map((step) => (step.do === "dispatch" ? step.out : step.to)));
      // The runtime keeps contents of uniform buffers on the host.
      targets.delete(UNIFORM);
      const free = [...targets].filter((buffer) => !saved.has(hardened.buffers[buffer]!));
      written += targets.size;
      unsaved += free.length;
      const { write, run, read, destroy } = prepare(native, plain, each);
      const results = [];
      for (const others of [contentsFrom(0), contentsFrom(1)]) {
        write(contentsFrom(0).map((words, i) => (free.includes(i) ? others[i]! : words)));
        run();
        results.push(await read());
      }
      destroy();
      expect(results[1], JSON.stringify({ free, kernels, submits: each }, null, 1)).toEqual(results[0]);
    }
  }
  expect((await device.belay.report()).faults).toEqual([]);
  // Many buffers are saved, and many are not, so the comparison says something.
  expect(unsaved).toBeGreaterThan(written / 5);
  expect(unsaved).toBeLessThan(written);
  device.destroy();
});
