import { beforeAll, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { reportWords } from "../compiler/contract.ts";
import { protect } from "../compiler/protect.ts";
import { placedViews } from "./placedViews.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const kernel = (body: string, declarations = "") => `
  requires buffer_view;
  @group(0) @binding(0) var<storage, read_write> memory: buffer;
  @group(0) @binding(1) var<storage, read_write> sized: buffer<64>;
  var<workgroup> scratch: buffer<64>;
  struct Tail { count: u32, rest: array<u32> }
  ${declarations}
  @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`;

it.each([
  ["its offset is known only at run time", "*bufferView<u32>(&memory, 4 * i) = 1;"],
  ["its size is known only at run time", "bufferArrayView<array<u32>>(&memory, 0, 4 * i)[0] = 1;"],
  [
    "another view has some of its bytes",
    "*bufferView<vec2u>(&memory, 0) = vec2u(); *bufferView<f32>(&memory, 4) = 1;",
  ],
  [
    "another view has some of its bytes",
    "*bufferView<vec2u>(&sized, 8) = vec2u(); bufferView<array<u32>>(&sized, 0)[0] = 1;",
  ],
  [
    "a struct that ends in an array of any length has to be all of the buffer",
    "bufferView<Tail>(&memory, 4).count = 1;",
  ],
  [
    "the view has a length of its own",
    "let list = bufferArrayView<array<u32>>(&memory, 4, 8); list[0] = arrayLength(list);",
  ],
  ["the buffer has views, and any size", "*bufferView<u32>(&memory, 0) = bufferLength(&memory);"],
  ["it has no elements", "bufferArrayView<array<vec4u>>(&memory, 16, 8)[0] = vec4u();"],
])("says that %s", (why, body) => {
  const { unplaced } = placedViews(resolved(kernel(body)));
  expect(unplaced.map((each) => each.why)).toEqual([why]);
});

it("lets protected kernels compute what plain ones do", async () => {
  const code = kernel(
    `let header = bufferView<vec2u>(&memory, 8); let list = bufferView<array<vec3u>>(&memory, 32);
     add(&memory, i); put(&list[i], 3 * arrayLength(list));
     list[i].z += bufferLength(&sized) + bufferLength(&other);
     bufferView<array<u32>>(&scratch, 16)[i] = list[i].x; workgroupBarrier();
     if (i == 7) { header.y = bufferView<array<u32>>(&scratch, 16)[2]; }
     *bufferView<Pair>(&sized, 16) = Pair(1.5, 2);
     bufferArrayView<array<u32>>(&sized, 32, 32)[i] = i;`,
    `var<workgroup> other: buffer<12>; struct Pair { first: f32, second: i32 }
     fn add(buffer: ptr<storage, buffer, read_write>, i: u32) { if (i == 0) { bufferView<vec2u>(buffer, 8).x += 5; } }
     fn put(place: ptr<storage, vec3u, read_write>, x: u32) { *place += vec3u(x, x + 1, x + 2); }`,
  );
  const words = (length: number) => Uint32Array.from({ length }, (_, i) => 1000 + 7 * i);
  const input = { buffers: { 0: words(40), 1: words(16) }, workgroups: [1, 1, 1] } as const;
  const plain = await runKernel(device, code, input);
  expect(plain.buffers[0]!.slice(0, 5)).not.toEqual(input.buffers[0].slice(0, 5));
  for (const options of [{ check: "store" }, { redundancy: "inter" }] as const) {
    const result = protect(code, { features: ["subgroups"], ...options });
    expect(result.entryPoints[0]!.redundancy).not.toBe("none");
    const { buffers, report } = await runKernel(device, result, input);
    expect(buffers).toEqual(plain.buffers);
    expect(report[reportWords.detections]).toBe(0);
  }
});
