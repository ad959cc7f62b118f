import { beforeAll, expect, it } from "vitest";
import { testDevices } from "../../../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../../../test/support/kernels/kernelRunner.ts";
import { codeOf, newLibrary } from "../../../../../../test/support/kernels/replicas.ts";
import { balance } from "./cells.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const COUNT = 64;

/** The function that adds a signature to its cell, which is generated. */
function balanceCode(): string {
  const library = newLibrary();
  expect(balance(library, { signature: "signature", tally: "0u" }, { count: COUNT })).toBe("belay_balance");
  return codeOf(library);
}

/**
 * Returns the number of cases that leave all cells at zero. A case has two invocations, of which
 * `wrong` are wrong in a bit, both in the second replica.
 */
async function balanced(wrong: number, code = balanceCode()) {
  const cases = 512;
  const kernel = `
    struct Report { cells: array<atomic<u32>, ${COUNT}> }
    @group(0) @binding(0) var<storage, read_write> belay_report: Report;
    @group(0) @binding(1) var<storage, read_write> zeros: u32;
    @group(0) @binding(2) var<storage, read> signatures: array<vec2u, ${cases}>;
    var<private> belay_pair: u32;
    var<private> belay_local: u32;
    var<private> belay_replica: u32;
    var<private> signature: u32;
    ${code}
    // Both invocations have the same cell.
    fn present(pair: u32, replica: u32, own: u32) {
      belay_pair = pair * 2u; belay_local = 5u; belay_replica = replica; signature = own;
      belay_balance();
    }
    @compute @workgroup_size(1) fn main() {
      for (var i = 0u; i < ${cases}u; i++) {
        let bit = 1u << (i % 32u);
        present(i, 0u, signatures[i].x);
        present(i + 1u, 0u, signatures[i].y);
        present(i, 1u, signatures[i].x ^ select(0u, bit, ${wrong}u > 0u));
        present(i + 1u, 1u, signatures[i].y ^ select(0u, bit, ${wrong}u > 1u));
        var sum = 0u;
        for (var cell = 0u; cell < ${COUNT}u; cell++) { sum |= atomicExchange(&belay_report.cells[cell], 0u); }
        zeros += u32(sum == 0u);
      }
    }`;
  const signatures = Uint32Array.from(
    { length: 2 * cases },
    (_, i) => Math.imul(i + 1, 0x85ebca6b) ^ (i << 25),
  );
  const { buffers } = await runKernel(device, kernel, {
    buffers: { 0: new Uint32Array(COUNT), 1: new Uint32Array(1), 2: signatures },
    workgroups: [1, 1, 1],
  });
  return buffers[1]![0];
}

it("is zero where replicas agree, and shows each bit in which one of them is wrong", async () => {
  expect(await balanced(0)).toBe(512);
  expect(await balanced(1)).toBe(0);
});

it("shows two that are wrong alike, which cancel without the mixing", async () => {
  expect(await balanced(2)).toBe(0);
  const unmixed = balanceCode()
    .replace(/hash = \(hash.*\n/g, "")
    .replace(/hash \^= hash >> 16u;/, "");
  expect(unmixed).not.toContain("0x85ebca6b");
  expect(await balanced(2, unmixed)).toBeGreaterThan(100);
});
