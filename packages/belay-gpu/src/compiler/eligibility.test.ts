import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const kernel = (body = "out[i] = i;", declarations = "", size = "64") => `
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  ${declarations}
  @compute @workgroup_size(${size}) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`;
const found = (code: string, options: CompilerOptions = {}) =>
  protect(code, options).diagnostics.map(({ code, severity }) => `${code} ${severity}`);
const messages = (code: string, options: CompilerOptions = {}) =>
  protect(code, options).diagnostics.map(({ message }) => message);

describe("a kernel is left alone", () => {
  it("when it uses subgroup operations or built-in values, each of them named (BELAY203)", () => {
    const code = `enable subgroups;
      struct In { @builtin(subgroup_size) size: u32 }
      ${kernel("f(i);", "fn f(i: u32) { out[i] = subgroupAdd(i) + quadSwapX(i); }")}
      @compute @workgroup_size(8) fn other(in: In, @builtin(subgroup_invocation_id) lane: u32) { out[lane] = in.size; }`;
    expect(
      protect(code).diagnostics.map(({ code: number, span }) => [number, code.slice(span.start, span.end)]),
    ).toEqual([
      ["BELAY203", "subgroupAdd(i)"],
      ["BELAY203", "quadSwapX(i)"],
      ["BELAY203", "subgroup_size"],
      ["BELAY203", "subgroup_invocation_id"],
    ]);
  });

  it("unless its replicas are in subgroups that each hold one replica", () => {
    const code = (size: string) =>
      `enable subgroups; override width: u32; ${kernel("out[i] = subgroupAdd(i);", "", size)}`;
    const whyNot = (size: string, options: CompilerOptions) =>
      messages(code(size), { pairing: "subgroups", features: ["subgroups"], ...options });
    const start = '"main" is left unprotected: "subgroupAdd" would see the replicas as neighbors, as';
    expect(whyNot("64", { subgroupMaxSize: 32 })).toEqual([]);
    expect(whyNot("8, 4", { subgroupMaxSize: 32 })).toEqual([]);
    expect(whyNot("width", { subgroupMaxSize: 32, constants: { width: 32 } })).toEqual([]);
    expect(whyNot("64", {})).toEqual([`${start} the size of the device's subgroups is unknown`]);
    expect(whyNot("64", { subgroupSize: 32 })).toEqual([
      `${start} the size of the device's subgroups is unknown`,
    ]);
    expect(whyNot("width", { subgroupMaxSize: 32 })).toEqual([
      `${start} an override decides the size of the workgroup`,
    ]);
    expect(whyNot("48", { subgroupMaxSize: 32 })).toEqual([
      `${start} its workgroup of 48 invocations does not fill subgroups of 32 lanes`,
    ]);
  });

  it("but not when it only declares such built-in values", () => {
    const entry = (parameters: string, body: string) => `enable subgroups;
      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      struct In { @builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32 }
      fn indexIn(in: In) -> u32 { return in.i; }
      @compute @workgroup_size(8) fn main(${parameters}) { ${body} }`;
    const declared = "@builtin(subgroup_invocation_id) lane: u32, in: In";
    const ways: CompilerOptions[] = [
      {},
      { pairing: "half-subgroup", features: ["subgroups"] },
      { pairing: "subgroups" },
      { pairing: "passes" },
      { redundancy: "inter" },
    ];
    for (const way of ways) expect(found(entry(declared, "out[in.i] = 1u;"), way)).toEqual([]);
    const usesOf = (body: string, way: CompilerOptions = {}) => {
      const code = entry(declared, body);
      return protect(code, way).diagnostics.map(({ span }) => code.slice(span.start, span.end));
    };
    expect(usesOf("out[lane] = in.i;")).toEqual(["subgroup_invocation_id"]);
    expect(usesOf("out[indexIn(in)] = 1u;")).toEqual(["subgroup_size"]);
    expect(usesOf("let all = in; out[all.i] = 1u;")).toEqual(["subgroup_size"]);
    expect(usesOf("out[in.i] = in.size;")).toEqual(["subgroup_size"]);
    expect(usesOf("out[in.i] = in.size;", { pairing: "passes" })).toEqual([]);
    // The name of the kernel: its invocations keep their lanes.
    expect(usesOf("out[in.i] = lane;", { pairing: "passes" })).toEqual(["main"]);
  });

  it("when it waits for other invocations, whatever the flavor (BELAY217)", () => {
    const wait = "if (i == 0u) { atomicAdd(&n, 1u); } while (atomicLoad(&n) < 2u) {} out[i] = i;";
    const code = kernel(wait, "@group(0) @binding(1) var<storage, read_write> n: atomic<u32>;", "256");
    const limits = { maxComputeInvocationsPerWorkgroup: 1024, maxComputeWorkgroupSizeX: 1024 };
    const ways: CompilerOptions[] = [
      { redundancy: "auto" },
      {},
      { redundancy: "intra-lds" },
      { redundancy: "inter" },
      { redundancy: "inter", check: "store" },
      { pairing: "subgroups" },
      { pairing: "passes" },
    ];
    for (const way of ways) {
      const { diagnostics, entryPoints } = protect(code, { ...way, limits, features: ["subgroups"] });
      expect(diagnostics.map(({ code }) => code)).toContain("BELAY217");
      expect(entryPoints).toMatchObject([{ redundancy: "none" }]);
    }
    expect(found(code, { redundancy: "none", memory: "secded32" })).not.toContain("BELAY217 warning");
  });

  it("when replicas in different subgroups would have to wait for each other (BELAY212)", () => {
    const texture = "@group(0) @binding(1) var t: texture_storage_2d<r32uint, read_write>;";
    const ways: [body: string, declarations: string, message: string | undefined][] = [
      ["out[i] = out[i] + 1u;", "", 'it stores to "out", which it also loads'],
      [
        "textureStore(t, vec2u(i), textureLoad(t, vec2u(i)) + 1u);",
        texture,
        'it stores to "t", which it also loads',
      ],
      [
        "bump(i);",
        `${texture} fn bump(i: u32) { let v = textureLoad(t, vec2u(i)); textureStore(t, vec2u(i), v); }`,
        'it stores to "t", which it also loads',
      ],
      ["textureStore(t, vec2u(i), vec4u(i));", texture, undefined],
      ["out[i] = textureLoad(t, vec2u(i)).x;", texture, undefined],
    ];
    for (const [body, declarations, message] of ways) {
      const { diagnostics } = protect(kernel(body, declarations), { pairing: "subgroups" });
      const expected =
        message && `"main" is left unprotected: ${message}, and its replicas meet only at the end`;
      expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual(
        expected ? [`BELAY212 ${expected}`] : [],
      );
    }
  });

  it("when its workgroup can't be doubled (BELAY204)", () => {
    expect(messages(kernel(undefined, "", "16, 16"))).toEqual([
      '"main" is left unprotected: its workgroup of 256 invocations would need 512, and the device allows 256',
    ]);
    expect(found(kernel(undefined, "", "128"))).toEqual([]);
    expect(
      found(kernel(undefined, "", "256"), {
        limits: { maxComputeInvocationsPerWorkgroup: 1024, maxComputeWorkgroupSizeX: 512 },
      }),
    ).toEqual([]);
    expect(
      [{ redundancy: "inter" } as const, { pairing: "passes" } as const].flatMap((options) =>
        protect(kernel(undefined, "", "512"), options).diagnostics.map(({ message }) => message),
      ),
    ).toEqual(
      Array(2).fill(
        '"main" is left unprotected: its workgroup of 512 invocations is larger than the 256 that the device allows',
      ),
    );
    const sized = kernel(undefined, "@id(3) override size = 64i;", "size, 2");
    expect(found(sized)).toEqual([]);
    expect(found(sized, { constants: { 3: 65 } })).toEqual(["BELAY204 warning"]);
  });

  it("when two copies of its workgroup memory do not fit, with help (BELAY205)", () => {
    const code = kernel("tile[i] = i; out[i] = tile[0];", "var<workgroup> tile: array<u32, 2048>;", "64");
    expect(protect(code).diagnostics).toMatchObject([
      {
        code: "BELAY205",
        message:
          '"main" is left unprotected: it would need 18816 bytes of workgroup memory, and the device allows 16384',
        help: "use intra-lds or the pairing passes, which keep one copy of workgroup memory",
      },
    ]);
    expect(found(code, { redundancy: "intra-lds" })).toEqual([]);
    expect(found(code, { limits: { maxComputeWorkgroupStorageSize: 18816 } })).toEqual([]);
  });

  it.each<CompilerOptions>([
    { pairing: "passes" },
    { redundancy: "intra-lds" },
    { redundancy: "inter", check: "store" },
  ])(
    "when the device has too little workgroup memory for it alone, without help (BELAY205): %j",
    (options) => {
      const code = kernel("tile[i] = i; out[i] = tile[0];", "var<workgroup> tile: array<u32, 4097>;", "64");
      const { diagnostics } = protect(code, options);
      expect(diagnostics.map(({ message, help }) => [message, help])).toEqual([
        [
          '"main" is left unprotected: its own 16400 bytes of workgroup memory are more than the 16384 that the device allows',
          undefined,
        ],
      ]);
    },
  );

  it("but not for its size or memory when its replicas run one after the other", () => {
    const pairing = { pairing: "passes" } as const;
    const code = kernel("tile[i] = i; out[i] = tile[0];", "var<workgroup> tile: array<u32, 3840>;", "256");
    expect(found(code, pairing)).toEqual([]);
    // Without subgroups each invocation leaves a word.
    const full = code.replace("3840", "3841");
    expect(found(full, pairing)).toEqual(["BELAY205 warning"]);
    expect(found(full, { ...pairing, features: ["subgroups"] })).toEqual([]);
  });

  it("when it uses all storage buffers (BELAY207)", () => {
    const buffers = Array.from(
      { length: 7 },
      (_, i) => `@group(1) @binding(${i}) var<storage> b${i}: array<u32>;`,
    );
    const uses = (count: number) =>
      kernel(
        `out[i] = ${Array.from({ length: count }, (_, i) => `b${i}[i]`).join(" + ")};`,
        buffers.join("\n"),
      );
    expect(found(uses(7))).toEqual(["BELAY207 warning"]);
    expect(found(uses(6))).toEqual([]);
    expect(found(uses(7), { limits: { maxStorageBuffersPerShaderStage: 9 } })).toEqual([]);
  });

  it("and stays as it is beside one that is protected", () => {
    const code = `${kernel("tile[i] = i; put(tile[0]);", "var<workgroup> tile: array<u32, 3000>; fn put(i: u32) { out[i] = i; }")}
      @compute @workgroup_size(8) fn small(@builtin(local_invocation_index) i: u32) { put(i); }`;
    const result = protect(code);
    expect(result.entryPoints.map(({ name, redundancy }) => [name, redundancy])).toEqual([
      ["main", "none"],
      ["small", "intra+lds"],
    ]);
    expect(result.code).toContain("var<workgroup> tile: array<u32, 3000>;");
  });

  it("with an error instead of a warning when coverage must be complete", () => {
    const code = kernel(undefined, "", "256");
    expect(found(code, { strict: true })).toEqual(["BELAY204 error"]);
    expect(protect(code, { strict: true })).toMatchObject({ code, layout: null, entryPoints: [] });
    expect(protect(kernel(), { strict: true }).entryPoints).toMatchObject([{ redundancy: "intra+lds" }]);
  });
});

it("leaves no kernel alone for its size when nothing is doubled", () => {
  const code = kernel("tile[i] = i; out[i] = tile[0];", "var<workgroup> tile: array<u32, 4096>;", "256");
  expect(found(code, { redundancy: "none", injectFaults: true })).toEqual([]);
});

describe("what fits by these rules", () => {
  const fits = async (code: string, name: string, options: CompilerOptions) => {
    const { code: output, entryPoints } = protect(code, options);
    expect(entryPoints.find((entryPoint) => entryPoint.name === name)?.redundancy).toBe("intra+lds");
    return dawn.validatePipeline(output, name, options.constants);
  };

  it("fits the device", async () => {
    const code = (length: number) =>
      kernel(
        "tile[i].x = i; on = true; three.x = i; out[i] = tile[0].y + three.x;",
        `var<workgroup> tile: array<vec3u, ${length}>; var<workgroup> on: bool; var<workgroup> three: vec3u;`,
      );
    expect(await fits(code(380), "main", {})).toEqual({ ok: true });
    expect(found(code(508), { features: ["subgroups"] })).toEqual([]);
    expect(await fits(code(508), "main", { features: ["subgroups"] })).toEqual({ ok: true });
    expect(found(code(512), { features: ["subgroups"] })).toEqual(["BELAY205 warning"]);
  });

  it("counts arrays that overrides size, however small", async () => {
    const code = kernel(
      "row[i] = i; tile[i] = i; out[i] = tile[row[0]];",
      "override n: u32; var<workgroup> row: array<u32, n>; var<workgroup> tile: array<u32, 1900>;",
      "8",
    );
    for (const n of [1, 20, 31, 32, 40, 48, 60])
      expect(await fits(code, "main", { constants: { n } })).toEqual({ ok: true });
    expect(found(code, { constants: { n: 120 } })).toEqual(["BELAY205 warning"]);
  });

  it("counts the slots of the largest kernel, which all kernels share", async () => {
    const code = (
      length: number,
    ) => `${kernel("tile[i] = i; out[i] = tile[0];", `var<workgroup> tile: array<u32, ${length}>;`, "8")}
      @compute @workgroup_size(128) fn large(@builtin(local_invocation_index) i: u32) { out[i] = i; }`;
    expect(found(code(1900))).toEqual(["BELAY205 warning"]);
    expect(await fits(code(1430), "main", {})).toEqual({ ok: true });
  });

  it("needs no value for the override of another kernel", async () => {
    const code = `override a: u32; override b: u32;
      ${kernel(undefined, "", "a")}
      @compute @workgroup_size(b, 2) fn other(@builtin(local_invocation_index) i: u32) { out[i] = 1u; }`;
    expect(await fits(code, "main", { constants: { a: 128 } })).toEqual({ ok: true });
    expect(await fits(code, "other", { constants: { b: 4 } })).toEqual({ ok: true });
  });
});
