import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { print, printExpression } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import type { ScalarType, Type } from "../../wgsl/types.ts";
import { Names } from "../shared/names.ts";
import { struckVariables, type Trigger } from "./armedTrigger.ts";
import { componentsOf, isStrikeable, type StrikeableType, Strikes } from "./strikes.ts";

const { newDevice } = testDevices();

const scalar = (name: ScalarType["name"]): ScalarType => ({ kind: "scalar", name });
const vector = (size: 2 | 3 | 4, name: ScalarType["name"]): StrikeableType => ({
  kind: "vector",
  size,
  element: scalar(name),
});

/** A trigger whose site 2 is struck, in line 7 if it is a load. */
const trigger = (names: Names): Trigger => ({
  declarations: `${struckVariables(names)}
    fn ${names.the("is_hit")}(site: u32) -> bool { return site == 2u; }
    fn ${names.the("is_hit_in")}(site: u32, line: u32) -> bool { return site == 2u && line == 7u; }`,
});

/** Runs statements that use strikes, and returns what they put into `out`. */
async function run(write: (strikes: Strikes, n: (thing: string) => string) => string): Promise<number[]> {
  const program = typed("@group(0) @binding(0) var<storage, read_write> out: array<u32, 8>;");
  const names = new Names(program);
  const strikes = new Strikes(names, trigger(names));
  const n = (thing: string) => names.the(thing);
  const body = write(strikes, n);
  const code = `${print(strikes.declareIn(program.module, 2))}
    var<workgroup> counter: atomic<u32>;
    @compute @workgroup_size(1) fn main() {
      ${n("struck_clear")} = 0xfu; ${n("struck_mask")} = 0x3u; ${n("struck_component")} = 1u;
      ${body} out[7] = ${n("struck")};
    }`;
  const device = await newDevice();
  const { buffers } = await runKernel(device, code, {
    buffers: { 0: new Uint32Array(8) },
    workgroups: [1, 1, 1],
  });
  device.destroy();
  return [...buffers[0]!];
}
const text = (code: string) => quote().expression`${code}`;

describe("a struck value", () => {
  it("has some bits cleared and then some flipped, and keeps the old word", async () => {
    const of = (strikes: Strikes, site: number, type: StrikeableType, value: string) =>
      printExpression(strikes.value(site, type, text(value)));
    const out = await run(
      (strikes) => `
      out[0] = ${of(strikes, 1, scalar("u32"), "0xabcu")};
      out[1] = ${of(strikes, 2, scalar("u32"), "0xabcu")};
      out[2] = bitcast<u32>(${of(strikes, 2, scalar("i32"), "-1i")});
      out[3] = bitcast<u32>(${of(strikes, 2, scalar("f32"), "1.0f")});`,
    );
    expect(out).toEqual([0xabc, 0xab3, 0xfffffff3, 0x3f800003, 0, 0, 0, 0x3f800000]);
  });

  it("is struck in one component of a vector", async () => {
    const out = await run((strikes) => {
      const value = strikes.value(2, vector(3, "u32"), text("vec3u(0xaau, 0xbbu, 0xccu)"));
      const spared = strikes.value(1, vector(2, "u32"), text("vec2u(0xddu, 0xeeu)"));
      return `let v = ${printExpression(value)}; out[0] = v.x; out[1] = v.y; out[2] = v.z;
        let w = ${printExpression(spared)}; out[3] = w.x; out[4] = w.y;`;
    });
    expect(out).toEqual([0xaa, 0xb3, 0xcc, 0xdd, 0xee, 0, 0, 0xbb]);
  });

  it("is struck at a load of the armed line only", async () => {
    const out = await run((strikes) =>
      ["6u", "7u"]
        .map((line, i) => strikes.load(2, scalar("u32"), line, text(`0x${i + 1}fu`)))
        .map((load, i) => `out[${i}] = ${printExpression(load)};`)
        .join("\n"),
    );
    expect(out).toEqual([0x1f, 0x23, 0, 0, 0, 0, 0, 0x2f]);
  });
});

it("turns a condition, skips statements, and changes the word of an atomic operation", async () => {
  const out = await run((strikes) => {
    const { statements } = quote();
    const conditions = [1, 2].map((site) => printExpression(strikes.condition(site, text("out[5] != 0u"))));
    const skipped = [1, 2].map((site) => {
      const [store, more] = statements`out[${`${site + 1}`}] = 9u; out[6] += ${`${site}u`};`;
      return strikes.statement(site, [store!, more!]);
    });
    const atomic = strikes.atomic(2, scalar("u32"), text("counter"));
    const body = quote().declarations`fn part() {
      if (${conditions[0]!}) { out[0] = 1u; }
      if (${conditions[1]!}) { out[1] = 1u; }
      ${skipped}
      atomicStore(&counter, 0x5cu);
      ${atomic}
      out[4] = atomicLoad(&counter);
    }`;
    const program = { enables: [], declarations: body } as unknown as Parameters<typeof print>[0];
    return print({ ...typed("").module, ...program }).replace(/^[^{]*\{|\}\s*$/g, "");
  });
  // The condition is false, and its lowest bit is cleared and flipped.
  expect(out).toEqual([0, 1, 9, 0, 0x53, 0, 1, 0x5c]);
});

it("knows the words of types", () => {
  const types: readonly Type[] = [
    scalar("f32"),
    scalar("bool"),
    scalar("f16"),
    vector(4, "i32"),
    vector(2, "bool"),
  ];
  expect(types.map(isStrikeable)).toEqual([true, false, false, true, false]);
  expect([scalar("f32"), vector(3, "f32")].map(componentsOf)).toEqual([1, 3]);
});
