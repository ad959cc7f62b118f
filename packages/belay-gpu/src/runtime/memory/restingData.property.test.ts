/** Programs of random commands, with bit flips in data that kernels may trust. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const WORDS = 16;
const BYTES = 4 * WORDS;
const NAMES = ["v", "w", "x", "y"] as const;
type Name = (typeof NAMES)[number];

const ADD = `
@group(0) @binding(0) var<storage, read> a: array<vec4u>;
@group(0) @binding(1) var<storage, read> b: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> sums: array<vec4u>;
@compute @workgroup_size(${WORDS / 4}) fn add(@builtin(global_invocation_id) id: vec3u) {
  sums[id.x] = a[id.x] + b[id.x];
}`;

/** A part of a buffer, in words. */
interface Part {
  readonly first: number;
  readonly count: number;
}

type Step =
  | { readonly does: "add"; readonly a: Name; readonly b: Name; readonly to: Name }
  | { readonly does: "write" | "clear"; readonly to: Name; readonly part: Part }
  | { readonly does: "copy"; readonly a: Name; readonly to: Name; readonly part: Part }
  | { readonly does: "destroy" | "read" | "readLater"; readonly to: Name }
  | { readonly does: "wait" | "scrub" };

const name = fc.constantFrom(...NAMES);
const part = fc
  .record({ first: fc.nat(WORDS - 1), length: fc.integer({ min: 1, max: WORDS }) })
  .map(({ first, length }): Part => ({ first, count: Math.min(length, WORDS - first) }));
const sum = fc
  .record({ does: fc.constant("add" as const), a: name, b: name, to: name })
  .filter(({ a, b, to }) => a !== to && b !== to);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: sum },
  fc.record({ does: fc.constantFrom("write", "clear"), to: name, part }),
  fc.record({ does: fc.constant("copy" as const), a: name, to: name, part }).filter(({ a, to }) => a !== to),
  fc.record({ does: fc.constantFrom("destroy", "read", "readLater"), to: name }),
  fc.record({ does: fc.constantFrom("wait", "scrub") }),
);
const flip = fc.record({
  /** The number of the step before which the bit flips. */
  before: fc.nat(13),
  at: name,
  word: fc.nat(WORDS - 1),
  bit: fc.nat(31),
});
const program = fc.record({
  steps: fc.array(step, { minLength: 3, maxLength: 14 }),
  flips: fc.array(flip, { minLength: 1, maxLength: 2 }),
});
type Program = typeof program extends fc.Arbitrary<infer T> ? T : never;

/** Returns whether a granule may have more errors than the code corrects. */
function mayBeLost({ flips: [one, other] }: Program): boolean {
  const granuleOf = ({ at, word }: Program["flips"][number]) => `${at} ${word >> 2}`;
  return other !== undefined && granuleOf(one!) === granuleOf(other);
}

/** Runs a program. Returns the reads that differ from those of a host, or were refused. */
async function run({ steps, flips }: Program, policy: Policy) {
  const device = harden(await sharedDevice(), { redundancy: "none", injectFaults: true, ...policy });
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  let isTold = false;
  device.belay.addEventListener("suspectResults", () => {
    isTold = true;
  });
  let written = 0;
  const contents = {} as Record<Name, Uint32Array<ArrayBuffer>>;
  const buffers = {} as Record<Name, GPUBuffer>;
  const make = (label: Name) => {
    buffers[label] = device.createBuffer({ label, size: BYTES, usage: STORAGE | COPY_SRC | COPY_DST });
    contents[label] = new Uint32Array(WORDS).map(() => ++written);
    device.queue.writeBuffer(buffers[label], 0, contents[label]);
  };
  for (const each of NAMES) make(each);
  const module = device.createShaderModule({ code: ADD });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const submit = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  };
  const failures: string[] = [];
  const read = async (from: Name) => {
    const expected = contents[from].join();
    const staging = device.createBuffer({ size: BYTES, usage: MAP_READ | COPY_DST });
    submit((encoder) => encoder.copyBufferToBuffer(buffers[from], staging));
    const words = await staging.mapAsync(GPUMapMode.READ).then(
      () => new Uint32Array(staging.getMappedRange()).join(),
      (error: Error) => error.name,
    );
    if (words !== expected) failures.push(words.includes(",") ? "wrong" : words);
  };
  const pending: Promise<void>[] = [];
  for (const [i, each] of steps.entries()) {
    for (const { before, at, word, bit } of flips)
      if (before === i) device.belay.flip(buffers[at], 4 * word, 1 << bit);
    if (each.does === "wait") await device.queue.onSubmittedWorkDone();
    if (each.does === "scrub") await device.belay.scrub().catch(() => {});
    if (each.does === "read") await read(each.to);
    if (each.does === "readLater") pending.push(read(each.to));
    if (each.does === "destroy") {
      buffers[each.to].destroy();
      make(each.to);
    }
    if (each.does === "add") {
      const { a, b, to } = each;
      const entries = [a, b, to].map((bound, binding) => ({ binding, resource: { buffer: buffers[bound] } }));
      const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
      submit((encoder) => encodeDispatch(encoder, pipeline, group, 1));
      contents[to] = contents[a].map((word, at) => word + contents[b][at]!);
    }
    if (each.does === "write" || each.does === "clear") {
      const { first, count } = each.part;
      const words = new Uint32Array(count).map(() => (each.does === "write" ? ++written : 0));
      if (each.does === "write") device.queue.writeBuffer(buffers[each.to], 4 * first, words);
      else submit((encoder) => encoder.clearBuffer(buffers[each.to], 4 * first, 4 * count));
      contents[each.to] = contents[each.to].slice();
      contents[each.to].set(words, first);
    }
    if (each.does === "copy") {
      const { a, to, part } = each;
      const { first, count } = part;
      submit((encoder) =>
        encoder.copyBufferToBuffer(buffers[a], 4 * first, buffers[to], 4 * first, 4 * count),
      );
      contents[to] = contents[to].slice();
      contents[to].set(contents[a].subarray(first, first + count), first);
    }
  }
  for (const each of NAMES) await read(each);
  await Promise.all(pending);
  await device.belay.scrub().catch(() => {});
  device.destroy();
  return { failures, isTold };
}

const scrubs = { memory: "secded128", memoryCheck: "scrubs", scrubIntervalMs: 2 ** 31 - 1 } as const;

it.each(["recover", "throw"] as const)(
  "release no wrong word without telling, and refuse none that can run again: %s",
  async (onFault) => {
    await fc.assert(
      fc.asyncProperty(program, async (each) => {
        const { failures, isTold } = await run(each, { ...scrubs, onFault });
        if (failures.includes("wrong")) expect(isTold).toBe(true);
        const refusals = failures.filter((failure) => failure !== "wrong");
        const mayRefuse = onFault === "throw" || mayBeLost(each);
        expect(refusals).toEqual(mayRefuse ? refusals.map(() => "MemoryFaultError") : []);
      }),
      { numRuns: 40 },
    );
  },
);
