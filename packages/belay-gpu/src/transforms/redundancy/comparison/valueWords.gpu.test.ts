import { beforeAll, expect, it } from "vitest";
import { testDevices } from "../../../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../../../test/support/kernels/kernelRunner.ts";
import { codeOf, newLibrary } from "../../../../../../test/support/kernels/replicas.ts";
import { printExpression } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { fold } from "./valueWords.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/**
 * Counts the hashes that stay the same when a bit is flipped in one of two consecutive words, or in
 * both.
 */
const kernelWith = (declarations: string, folded: string) => `
  @group(0) @binding(0) var<storage, read_write> same: atomic<u32>;
  @group(0) @binding(1) var<storage, read> random: array<vec3u>;
  ${declarations}
  fn hash_of(hash: u32, words: vec2u) -> u32 { return ${folded}; }
  @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) bit: u32, @builtin(workgroup_id) w: vec3u) {
    let r = random[w.x];
    for (var flipped = 1u; flipped <= 3u; flipped++) {
      let flips = vec2u(flipped & 1u, flipped >> 1u) << vec2u(bit);
      if (hash_of(r.x, r.yz ^ flips) == hash_of(r.x, r.yz)) { atomicAdd(&same, 1u); }
    }
  }`;

const collisions = async (code: string) => {
  const random = Uint32Array.from({ length: 4 * 64 }, (_, i) => Math.imul(i + 1, 0x85ebca6b) ^ (i << 27));
  const { buffers } = await runKernel(device, code, {
    buffers: { 0: new Uint32Array(1), 1: random },
    workgroups: [64, 1, 1],
  });
  return buffers[0]![0];
};

it("shows a bit that is flipped in a word, and in two that follow each other", async () => {
  const library = newLibrary();
  const { expression } = quote();
  const words = { expression: expression`words`, count: 2, scalar: "u32" } as const;
  const folded = printExpression(fold(library, expression`hash`, words));
  const declarations = codeOf(library);
  expect(await collisions(kernelWith(declarations, folded))).toBe(0);
  // Without the rotation two flipped top bits cancel.
  const unrotated = declarations.replaceAll("(hash << 5u) | (hash >> 27u)", "hash");
  expect(unrotated).not.toBe(declarations);
  expect(await collisions(kernelWith(unrotated, folded))).toBeGreaterThanOrEqual(64);
});
