/**
 * Every bad input gets an answer that names the problem, in bounded time and without partial
 * effects.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { harden } from "belay-gpu/internal/runtime/harden";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { walk } from "belay-gpu/internal/wgsl/traverse";
import type { VerifiableProgram } from "belay-research/internal/workloads/program";
import * as matrixProduct from "belay-research/internal/workloads/samples/matrixProduct";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { belay } from "../support/processes/belay.ts";
import { type DawnValidator, startDawn } from "../support/wgsl/dawnValidator.ts";

const kernel = (body: string) => `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) { ${body} }
`;
const double = kernel("data[i] = 2u * data[i];");
const megabytes = (text: string, count = 10) => text.repeat((count * 1_000_000) / text.length);
const nested = (before: string, inside: string, after: string) =>
  before.repeat(100_000) + inside + after.repeat(100_000);
const chain = (link: (i: number) => string) => Array.from({ length: 10_000 }, (_, i) => link(i)).join("\n");

/** Sources with the code and the message of the first error. */
const sources: Record<string, readonly [source: string, code: string, message: string]> = {
  "an empty file": ["", "BELAY201", "no compute entry point"],
  "a file of blanks": [megabytes(" "), "BELAY201", "no compute entry point"],
  "a module without a compute entry point": ["fn f() {}", "BELAY201", "no compute entry point"],
  bytes: [megabytes("\u0003\u0002#\u0007\0\xff", 1), "BELAY001", "is not part of WGSL"],
  "one long word": [megabytes("word"), "BELAY011", "starts neither a directive nor a declaration"],
  "many words": [megabytes("word ", 1), "BELAY011", "starts neither a directive nor a declaration"],
  "a comment without an end": [`${double}/*${megabytes("x")}`, "BELAY003", "never ends"],
  "an unknown extension": [
    `enable no_such_extension;${double}`,
    "BELAY010",
    "is not an extension that Belay knows",
  ],
  "an unknown feature": [
    `requires no_such_feature;${double}`,
    "BELAY010",
    "is not a language feature that Belay knows",
  ],
  "an unknown directive": [`include "a.wgsl";${double}`, "BELAY011", "starts neither a directive"],
  "deep parentheses": [kernel(`data[i] = ${nested("(", "1u", ")")};`), "BELAY007", "nest deeper than 128"],
  "deep blocks": [kernel(nested("{", "", "}")), "BELAY007", "nest deeper than 127"],
  "deep branches": [
    kernel(`if (i > 0u) {} ${nested("else if (i > 0u) {}", "", "")}`),
    "BELAY007",
    "nest deeper",
  ],
  "deep types": [`var<private> a: ${nested("array<", "u32", ", 1>")};${double}`, "BELAY007", "nest deeper"],
  "deep operators": [kernel(`data[i] = ${nested("-", "1", "")};`), "BELAY007", "nest deeper than 512"],
  "long sums": [kernel(`data[i] = ${nested("1u + ", "1u", "")};`), "BELAY007", "nest deeper than 512"],
  "deep structures": [
    chain((i) => `struct S${i} { member: ${i === 0 ? "u32" : `S${i - 1}`} }`) + double,
    "BELAY119",
    "types nest deeper than 255",
  ],
  "a function that calls itself": [kernel("f();").concat("fn f() { f(); }"), "BELAY102", "depends on itself"],
};

describe("protect", () => {
  it.each(Object.entries(sources))("rejects %s", (_, [source, code, message]) => {
    const result = protect(source);
    expect(result).toMatchObject({ code: source, layout: null, entryPoints: [], checks: [], faultSites: [] });
    const [error] = result.diagnostics;
    expect(error).toMatchObject({ code, severity: "error" });
    expect(error!.message).toContain(message);
    expect(result.diagnostics.length).toBeLessThanOrEqual(201);
    for (const { span } of result.diagnostics) {
      expect(span.start).toBeLessThanOrEqual(span.end);
      expect(span.end).toBeLessThanOrEqual(source.length);
    }
  });

  it.each([
    ["10 MB of comments", `/*${megabytes("x")}*/${double}`],
    [
      "a long chain of calls",
      chain((i) => `fn f${i}() { ${i === 0 ? "" : `f${i - 1}();`} }`) + kernel("f9999();"),
    ],
    ["a long chain of constants", chain((i) => `const c${i} = ${i === 0 ? 1 : `c${i - 1} + 1`};`) + double],
    [
      "calls that double at each level",
      chain((i) => (i < 40 ? `fn f${i}() { ${i === 0 ? "" : `f${i - 1}(); f${i - 1}();`} }` : "")) +
        kernel("f39();"),
    ],
  ])("accepts %s", (_, source) => {
    const { diagnostics, entryPoints } = protect(source);
    expect(diagnostics).toEqual([]);
    expect(entryPoints).toMatchObject([{ name: "main", redundancy: "intra+lds" }]);
  });

  it("rejects inputs that are no source, and unknown options", () => {
    expect(() => protect(undefined as never)).toThrow("the source of a module is text");
    expect(() => protect(double, null as never)).toThrow("the options are no object");
    expect(() => protect(double, { redundant: "inter" } as never)).toThrow("there is no option redundant");
  });

  it("rejects the subgroup channel for a device without subgroups", () => {
    const { code, diagnostics } = protect(double, { channel: "subgroup" });
    expect(code).toBe(double);
    expect(diagnostics).toMatchObject([
      { code: "BELAY209", severity: "error", message: "the subgroup channel needs the feature subgroups" },
    ]);
    expect(protect(double, { channel: "subgroup", features: ["subgroups"] }).diagnostics).toEqual([]);
  });

  it("chooses the workgroup channel for such a device", () => {
    expect(protect(double).code).not.toContain("enable subgroups");
    expect(protect(double, { features: ["subgroups"] }).code).toContain("enable subgroups");
  });
});

describe("an entry point with a name of WGSL", () => {
  let dawn: DawnValidator;
  beforeAll(async () => {
    dawn = await startDawn();
  });
  afterAll(() => dawn.close());
  const source = kernel(`
      tile[i] = data[i];
      workgroupBarrier();
      let sum = vec2f(f32(tile[i ^ 1u]), 1.5) * 2.0;
      data[i] = u32(sum.x) + atomicAdd(&count, tile[i]);
      workgroupBarrier();
      result[i] = Mixed(sum, data[i], i32(i));
    `).concat(`
    struct Mixed { a: vec2f, b: u32, c: i32 }
    var<workgroup> tile: array<u32, 4>;
    @group(0) @binding(1) var<storage, read_write> count: atomic<u32>;
    @group(0) @binding(2) var<storage, read_write> result: array<Mixed>;`);

  const ways = [
    { check: "store", channel: "subgroup", injectFaults: true },
    { check: "signature", channel: "workgroup", redundancy: "intra-lds", injectFaults: true },
    { pairing: "half-subgroup" },
    { redundancy: "inter", check: "signature" },
    { redundancy: "inter", memory: "secded128" },
    { redundancy: "none", memory: "detect1024" },
    { redundancy: "none", memory: "secded32", check: "store" },
    { memory: "checksum", strikeMachinery: true, injectFaults: true },
  ] as const satisfies CompilerOptions[];

  it.each(ways)(
    "is protected, under its own name unless the protected code uses the name: %o",
    async (way) => {
      const options = { ...way, features: ["subgroups"] };
      const usesOf = (code: string) => {
        const used = new Set<string>();
        const program = resolve(parse(code).module);
        walk(program.module, (node) => {
          const target = node.kind === "identifier" && program.targetOf(node);
          if (target && target.kind === "builtin") used.add(node.name);
        });
        return used;
      };
      const { code, layout: usual } = protect(source, options);
      expect(usual).not.toBeNull();
      const own = usesOf(source);
      const needed = [...usesOf(code)].filter((name) => !own.has(name));
      expect(needed.length).toBeGreaterThan(3);
      const others = [
        "transpose",
        "read",
        "write",
        "function",
        "rgba8unorm",
        "sampler",
        "texture_2d",
        "vec3h",
        "mat2x2f",
      ];
      const results = [...needed, ...others].map((name) => {
        return { name, ...protect(source.replace("fn main(", `fn ${name}(`), options) };
      });
      for (const { name, layout, renamed, entryPoints } of results) {
        expect(layout, name).toEqual(usual);
        expect(entryPoints, name).toMatchObject([{ name }]);
        expect(renamed, name).toEqual(others.includes(name) ? {} : { [name]: `${name}_1` });
      }
      const verdicts = await dawn.validateAll(results.map((each) => each.code));
      expect(verdicts).toEqual(verdicts.map(() => ({ ok: true })));
    },
  );
});

describe("belay protect", () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-bad-input-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const input = join(folder, "input.wgsl");
  const output = join(folder, "output.wgsl");

  // cli.test.ts has the inputs that are rejected before they are parsed as WGSL.
  const readable = Object.entries(sources).filter(([, [source]]) => /^[\w\s!-~]{1,4000000}$/.test(source));

  it.each(readable)("rejects %s and leaves the output file unchanged", async (_, [source, code, message]) => {
    writeFileSync(input, source);
    writeFileSync(output, "before");
    const { status, stdout, stderr } = await belay(["protect", input, "-o", output]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(code);
    expect(stderr).toContain(message);
    expect(readFileSync(output, "utf8")).toBe("before");
    expect(readdirSync(folder).sort()).toEqual(["input.wgsl", "output.wgsl"]);
  });

  it("rejects the subgroup channel without the feature", async () => {
    const { status, stdout, stderr } = await belay(["protect", "-", "--channel", "subgroup"], double);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("BELAY209");
    const flags = ["--redundancy", "intra+lds", "--channel", "subgroup", "--feature", "subgroups"];
    expect(await belay(["protect", "-", ...flags], double)).toMatchObject({
      status: 0,
      stderr: "",
    });
  });
});

const endless = kernel("loop { if (data[i] == 5u) { break; } }");

it.each([
  [
    "no dispute",
    "[]",
    "BELAY400",
    "the option source of the dispute cannot be undefined",
    "of a case of qualify",
  ],
  [
    "a dispatch that a device need not accept",
    JSON.stringify({ source: double, workgroups: [70_000, 1, 1], buffers: [] }),
    "BELAY412",
    "needs 70000 where the device allows 65535",
    "blame a dispatch that ends",
  ],
  [
    "a dispatch on which the executor gives up",
    JSON.stringify({ source: endless, workgroups: [1, 1, 1], buffers: [] }),
    "BELAY412",
    "the executor gives up: one workgroup does not end there",
    "blame a dispatch that ends",
  ],
])("belay blame refuses %s, and says how to go on", async (_, dispute, code, message, help) => {
  const { status, stdout, stderr } = await belay(["blame", "-"], dispute);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  for (const part of [code, message, help]) expect(stderr).toContain(part);
});

describe("harden", () => {
  const { newDevice } = testDevices();
  const program: VerifiableProgram = matrixProduct.create({ rows: 20 });

  it("works on a device without subgroups, and rejects their channel there", async () => {
    const plain = await newDevice();
    expect(plain.features.has("subgroups")).toBe(false);
    expect(() => harden(plain, { channel: "subgroup" })).toThrow(
      "the policy protects no kernel: the subgroup channel needs the feature subgroups",
    );
    expect(() => harden(plain, { pairing: "half-subgroup" })).toThrow("needs the feature subgroups");
    const device = await harden(plain);
    expect(program.verify(await program.workload(device))).toMatchObject({ ok: true });
    expect((await device.belay.report()).kernels).toMatchObject([{ redundancy: "intra+lds" }]);
  });

  it("protects a kernel that uses every bind group", async () => {
    const device = await harden(await newDevice());
    const groups = [0, 1, 2, 3];
    const code = `
      ${groups.map((g) => `@group(${g}) @binding(0) var<storage, read_write> b${g}: array<u32>;`).join("\n")}
      @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
        ${groups.map((g) => `b${g}[i] = ${g + 1}u * i;`).join("\n")}
      }`;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const module = device.createShaderModule({ code });
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const buffers = groups.map((group) => {
      const buffer = device.createBuffer({ size: 16, usage: STORAGE | COPY_SRC });
      const layout = pipeline.getBindGroupLayout(group);
      pass.setBindGroup(
        group,
        device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }),
      );
      return buffer;
    });
    pass.dispatchWorkgroups(1);
    pass.end();
    const reader = device.createBuffer({ size: 64, usage: MAP_READ | COPY_DST });
    buffers.forEach((buffer, i) => {
      encoder.copyBufferToBuffer(buffer, 0, reader, 16 * i, 16);
    });
    device.queue.submit([encoder.finish()]);
    await reader.mapAsync(GPUMapMode.READ);
    expect([...new Uint32Array(reader.getMappedRange())]).toEqual(
      groups.flatMap((g) => [0, 1, 2, 3].map((i) => (g + 1) * i)),
    );
    expect((await device.belay.report()).kernels).toMatchObject([
      { redundancy: "intra+lds", diagnostics: [] },
    ]);
  });

  it("passes on the device's own error for two variables at one binding", async () => {
    const device = await harden(await newDevice());
    const clash = kernel("data[i] = other[i];").concat(
      "@group(0) @binding(0) var<storage, read_write> other: array<u32>;",
    );
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: clash });
    expect((await device.popErrorScope())?.message).toContain("use the same resource binding");
    await expect(device.createComputePipelineAsync({ layout: "auto", compute: { module } })).rejects.toThrow(
      "is invalid due to a previous error",
    );
  });

  it.each([
    ["before the work", (device: GPUDevice) => device.destroy(), () => {}],
    ["while a result is awaited", () => {}, (device: GPUDevice) => device.destroy()],
  ])("rejects promises when the device is lost %s", async (_, before, after) => {
    const device = await harden(await newDevice());
    expect(program.verify(await program.workload(device))).toMatchObject({ ok: true });
    before(device);
    const result = program.workload(device);
    after(device);
    await expect(result).rejects.toThrow();
    expect((await device.lost).reason).toBe("destroyed");
    // The report up to that time is still available.
    expect((await device.belay.report()).faults).toEqual([]);
  });
});
