/**
 * Statements that nest almost as deeply as compilers take: what is emitted is taken, or the kernel
 * is left alone with a reason.
 */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });

/** A statement in as many levels of one kind, and the most levels of it that the device takes. */
const kinds: readonly (readonly [string, string, string, number])[] = [
  ["blocks", "{ ", " }", 125],
  ["if", "if (i < 7u) { ", " }", 62],
  ["else", "if (i > 7u) {} else { ", " }", 62],
  ["loop", "loop { ", " break; }", 62],
  ["for", "for (;;) { ", " break; }", 62],
  ["for with atomics in its header", "for (; atomicLoad(&n) < 5u; ) { ", " break; }", 62],
  ["while", "while (i < 7u) { ", " break; }", 62],
  ["switch", "switch (i) { default: { ", " } }", 41],
  ["continuing", "loop { break; continuing { ", " } }", 41],
];

const flavors: readonly CompilerOptions[] = [
  { redundancy: "intra+lds" },
  { redundancy: "intra+lds", check: "store", injectFaults: true },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "inter", check: "store" },
  { redundancy: "inter", memory: "secded128" },
  { redundancy: "none", memory: "secded32" },
];

const nested = ([, open, close]: (typeof kinds)[number], levels: number) => `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> n: atomic<u32>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  atomicAdd(&n, 1u);
  ${open.repeat(levels)}out[i] = i + 1u;${close.repeat(levels)}
}`;

describe.each(kinds)("%s", (...kind) => {
  it("nested too deeply is told, with its place", async () => {
    const device = await newDevice();
    const most = kind[3];
    for (const options of flavors) {
      for (const levels of [most - 8, most - 4, most - 2, most - 1, most]) {
        const code = nested(kind, levels);
        const result = protect(code, { features: ["subgroups"], ...options });
        device.pushErrorScope("validation");
        device.createShaderModule({ code: result.code });
        const error = await device.popErrorScope();
        expect(error?.message, `${levels} levels, ${JSON.stringify(options)}`).toBeUndefined();
        const found = result.diagnostics.filter((each) => each.code === "BELAY219");
        for (const { span } of found) expect(span.end).toBeGreaterThan(span.start);
        if (levels < most || options.redundancy === "none") continue;
        expect(result.entryPoints.map(({ redundancy }) => redundancy)).toEqual(["none"]);
        expect(result.diagnostics.map((each) => each.severity)).toContain("warning");
      }
    }
    device.destroy();
  });
});
