import { protectUncompared } from "belay-research/internal/bench/rmt/withoutComparison";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { type CompilerOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const guard = (code: string, options: CompilerOptions = {}) =>
  protect(code, { redundancy: "inter", ...options });
/** Returns the host's information about each entry point. */
const interGroups = (code: string, options: CompilerOptions = {}) =>
  guard(code, options).entryPoints.map(({ interGroup }) => interGroup);
const declarations = `
  struct Bins { total: u32, all: array<atomic<u32>, 4> }
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<u32>;
  @group(0) @binding(2) var<storage, read_write> count: array<atomic<u32>, 4>;
  @group(0) @binding(3) var<storage, read_write> bins: Bins;
  @group(0) @binding(4) var picture: texture_storage_2d<r32uint, read_write>;
  var<workgroup> local: array<atomic<u32>, 4>;
  var<workgroup> tile: array<u32, 64>;
  fn add(p: ptr<storage, u32, read_write>, n: u32) { *p += n; }`;
const kernel = (body: string, name = "main") =>
  `@compute @workgroup_size(64) fn ${name}(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) i: u32) { ${body} }`;
const one = (body: string, options: CompilerOptions = {}) =>
  interGroups(`${declarations} ${kernel(body)}`, options)[0];
const at = (binding: number, group = 1) => ({ group, binding });
const of = (binding: number) => ({ group: 0, binding });

describe("a buffer has a copy", () => {
  it.each([
    ["that is loaded once it is stored", "a[id.x] += 1u; a[i] += 1u;", [{ of: of(0), at: at(1) }]],
    [
      "that a function changes through a pointer",
      "add(&b[id.x], 1u); add(&b[id.x], 2u);",
      [{ of: of(1), at: at(1) }],
    ],
    [
      "for each of two",
      "a[i] = b[i]; b[i] = a[i + 1u];",
      [
        { of: of(0), at: at(1) },
        { of: of(1), at: at(2) },
      ],
    ],
    [
      "with atomic parts, which the host is told",
      "bins.total = 1u; bins.total += 1u; atomicAdd(&bins.all[0], 1u);",
      [{ of: of(3), at: at(1), hasAtomics: true }],
    ],
    ["unless all loads come before", "a[id.x] = a[i] + b[i]; b[i] = 2u; a[i] = 2u;", []],
    ["unless it is only stored", "a[id.x] = b[id.x];", []],
    ["unless only its atomics are used", "atomicAdd(&bins.all[i % 4u], 1u); b[0] = arrayLength(&b);", []],
  ])("%s", (_, body, shadows) => {
    expect(one(body)?.shadows).toEqual(shadows);
  });

  it("behind the report, where the program binds nothing", () => {
    const reportBinding = { group: 0, binding: 2 };
    expect(
      one("a[i] += atomicLoad(&count[0]); a[0] += a[i]; b[i] += bins.total;", { reportBinding })?.shadows,
    ).toEqual([
      { of: of(0), at: at(5, 0) },
      { of: of(1), at: at(6, 0) },
    ]);
  });

  it("only for the kernels that change it in place", () => {
    const code = `${declarations} fn take(i: u32) -> u32 { return a[i]; }
      ${kernel("a[0] = 1u; a[i] = take(i) + 1u;", "change")} ${kernel("b[i] = take(i);", "load")} ${kernel("a[i] = 1u;", "store")}`;
    expect(interGroups(code).map((interGroup) => interGroup?.shadows.length)).toEqual([1, 0, 0]);
  });
});

describe("whoever comes last stores", () => {
  it.each([
    ["where a buffer is changed in place", "a[id.x] += 1u;", 2 ** 19],
    [
      "a pair of workgroups, where these have barriers",
      "tile[i] = a[i]; workgroupBarrier(); a[i] = tile[63u - i];",
      2 ** 20,
    ],
    [
      "where a loop loads what it may have stored: no",
      "for (var n = i; n < 9u; n++) { a[n] += 1u; }",
      undefined,
    ],
    ["where a function loads behind a store: no", "a[i] = 1u; add(&a[i], 1u);", undefined],
    ["where twins wait for a result: no", "a[i] += atomicAdd(&count[0], 1u);", undefined],
    [
      "where only one buffer is loaded behind its stores: no",
      "a[i] += 1u; b[i] += 1u; b[0] += 1u;",
      undefined,
    ],
  ])("%s", (_, body, mostWorkgroups) => {
    expect(one(body)?.mostWorkgroups).toBe(mostWorkgroups);
  });
});

describe("the grid is dispatched twice", () => {
  it("where all is loaded before it is stored, but no one place is between", () => {
    expect(one("b[i] = 1u; a[i] += 1u;")).toMatchObject({ mostWorkgroups: 0, shadows: [] });
    expect(one("for (var n = i; n < 9u; n++) { b[n] = a[n]; }")).not.toHaveProperty("mostWorkgroups");
  });

  it("but not with stores that are compared one by one", () => {
    expect(one("a[id.x] += 1u;", { check: "store" })).toMatchObject({ shadows: [{}] });
  });

  it("without more workgroup memory, though ids must be uniform", () => {
    const body = "if (id.x < 9u) { a[id.x] += 1u; }";
    expect(guard(`${declarations} ${kernel(body)}`).code).not.toContain("belay_dimension");
  });
});

describe("twins wait for each other", () => {
  it.each([
    ["where a result is used", "b[i] = atomicAdd(&count[0], 1u);", true],
    ["where what others change is loaded", "atomicAdd(&count[1], 1u); b[i] = atomicLoad(&count[0]);", true],
    ["where the order in the workgroup matters", "b[i] = atomicAdd(&local[0], 1u);", true],
    ["but not where no result is used", "atomicAdd(&count[0], 1u); atomicMax(&count[1], i);", false],
    ["but not for what nobody changes", "b[i] = atomicLoad(&count[0]);", false],
    [
      "but not where the order does not matter",
      "atomicAdd(&local[0], i); workgroupBarrier(); b[i] = atomicLoad(&local[0]);",
      false,
    ],
    ["but not for copies of buffers", "a[i] += 1u; tile[i] = a[i]; tile[i] += 1u;", false],
  ])("%s", (_, body, blocking) => {
    expect(one(body)).toMatchObject({ blocking, ...(blocking && { patience: "belay_patience" }) });
  });

  it("wherever stores are compared one by one", () => {
    expect(one("b[i] = 1u;", { check: "store" })).toMatchObject({ blocking: true });
  });

  it("one kernel of several", () => {
    const code = `${declarations} fn next() -> u32 { return atomicAdd(&count[0], 1u); }
      ${kernel("a[next()] = 1u;", "draw")} ${kernel("a[i] = 1u;", "plain")}`;
    expect(interGroups(code).map((interGroup) => interGroup?.blocking)).toEqual([true, false]);
  });
});

describe("the report", () => {
  it("has cells for what is compared last, and mail for those who wait", () => {
    const layout = (body: string, options: CompilerOptions = {}) =>
      guard(`${declarations} ${kernel(body)}`, options).layout!;
    expect(layout("b[i] = 1u;")).toMatchObject({ cells: 4096, bytes: 4 * (reportWords.total + 4096) });
    expect(layout("b[i] = 1u;", { check: "store" }).cells).toBe(4096);
    const { layout: uncompared } = protectUncompared(`${declarations} ${kernel("b[i] = 1u;")}`, {
      redundancy: "inter",
    });
    expect(uncompared!.cells).toBe(0);
    expect(layout("b[i] = 1u;", { check: "store" }).bytes).toBeGreaterThan(2 ** 22);
  });
});

describe("an invocation that presents nothing leaves no signature", () => {
  const looks = (body: string) =>
    /if \(belay_signature != 0u\)/.test(guard(`${declarations} ${kernel(body)}`).code);

  it.each(["if (i == 0u) { b[i] = 1u; }", "for (var k = i; k < 9u; k++) { b[k] = 1u; }", ""])(
    "which is looked for where some may present none: %s",
    (body) => expect(looks(body)).toBe(true),
  );
  it.each(["b[i] = 1u;", "{ b[i] = 1u; }", "if (i > 9u) { return; } b[i] = 1u;"])(
    "which is not looked for where all present one, but for early returns: %s",
    (body) => expect(looks(body)).toBe(false),
  );
});

describe("a kernel is left alone", () => {
  const found = (code: string, options: CompilerOptions = {}) =>
    guard(code, options).diagnostics.filter(({ code: number }) => number !== "BELAY210");
  const text = (code: string, options: CompilerOptions = {}) =>
    found(code, options).map(({ code: number, span }) => [number, code.slice(span.start, span.end)]);

  it("that loads from a texture that it stores to (BELAY214)", () => {
    const load = "textureLoad(picture, id.xy)";
    const store = "textureStore(picture, id.xy, vec4u(i));";
    expect(text(`${declarations} ${kernel(`${store} a[i] = ${load}.x;`)}`)).toEqual([["BELAY214", load]]);
    expect(text(`${declarations} ${kernel(`a[i] = ${load}.x;`)}`)).toEqual([]);
    expect(text(`${declarations} ${kernel(store)}`)).toEqual([]);
  });

  it("whose invocations load an atomic at once on which order matters (BELAY214)", () => {
    const load = "workgroupUniformLoad(&local[0])";
    const code = (operation: string) => `${declarations} ${kernel(`${operation} b[i] = ${load};`)}`;
    expect(text(code("a[i] = atomicAdd(&local[0], 1u);"))).toEqual([["BELAY214", load]]);
    expect(text(code("atomicAdd(&local[0], 1u);"))).toEqual([]);
  });

  it("with too few storage buffers for its copies (BELAY207)", () => {
    const buffers = Array.from(
      { length: 4 },
      (_, i) => `@group(0) @binding(${i}) var<storage, read_write> b${i}: array<u32>;`,
    );
    const code = `${buffers.join("\n")} @compute @workgroup_size(1) fn main() { b0[0]++; b1[0]++; b2[0]++; b3[0]++; b0[1]++; }`;
    expect(found(code)).toMatchObject([
      {
        code: "BELAY207",
        message:
          '"main" is left unprotected: with the report and a copy of each buffer that it changes in place it would need 9 storage buffers, and the device allows 8',
      },
    ]);
    expect(found(code, { limits: { maxStorageBuffersPerShaderStage: 9 } })).toEqual([]);
    expect(found(code.replace("b3[0]++", "b3[0] = 1u"))).toEqual([]);
  });

  it("whose workgroup memory has no room for a ticket (BELAY205)", async () => {
    const code = `
      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, 4096>;
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { tile[i] = i; out[i] = tile[0]; }`;
    expect(found(code, { check: "store" })).toMatchObject([
      { code: "BELAY205", help: "use the check signature" },
    ]);
    expect(found(code)).toEqual([]);
    expect(await dawn.validatePipeline(guard(code).code, "main")).toEqual({ ok: true });
    const smaller = code.replace("4096", "4088");
    expect(found(smaller, { check: "store" })).toEqual([]);
    expect(await dawn.validatePipeline(guard(smaller, { check: "store" }).code, "main")).toEqual({
      ok: true,
    });
  });

  it("but not for its size, or its subgroups", () => {
    const code = `enable subgroups; @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(256) fn main(@builtin(subgroup_invocation_id) lane: u32) { out[lane] = subgroupAdd(lane); }`;
    expect(found(code)).toEqual([]);
  });
});

it("becomes a module that Dawn accepts, whatever its types", async () => {
  const code = `
    enable f16;
    struct Head { n: u32, m: mat3x3h, v: vec3h, tail: array<vec3<f16>> }
    @group(0) @binding(0) var<storage, read_write> h: Head;
    @group(2) @binding(7) var<storage, read_write> m: array<mat4x3f, 4>;
    @group(3) @binding(0) var<uniform> u: vec4f;
    @group(1) @binding(0) var<storage, read_write> c: array<atomic<i32>>;
    override size = 8u;
    var<workgroup> t: array<vec2h, size>;
    fn f(p: ptr<storage, vec3<f16>, read_write>, q: ptr<function, array<u32, 3>>) -> f16 { (*p).x += 1h; (*q)[1]++; return (*p).y; }
    @compute @workgroup_size(size, 2) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
      var q: array<u32, 3>;
      if (id.x >= arrayLength(&h.tail)) { return; }
      t[l / 2u] = h.tail[id.x].xy;
      h.tail[id.x] = h.tail[id.x] * h.v + f(&h.tail[id.x], &q) + f16(u.x);
      h.m[id.x % 3u] = h.tail[0] + h.m[1];
      h.n = h.n + q[1];
      m[l % 4u] = m[(l + 1u) % 4u] + m[0];
      m[1][2].y = m[1][l % 4u].x;
      atomicMax(&c[l], atomicLoad(&c[0]));
    }`;
  const options: CompilerOptions[] = [
    { check: "signature", injectFaults: true },
    { check: "store", features: ["subgroups"] },
  ];
  const results = options.map((each) => guard(code, each));
  for (const { entryPoints } of results)
    expect(entryPoints[0]!.interGroup!.shadows).toEqual([
      { of: of(0), at: at(2, 3) },
      { of: { group: 2, binding: 7 }, at: at(3, 3) },
    ]);
  expect(await dawn.validateAll(results.map((result) => result.code))).toEqual(
    options.map(() => ({ ok: true })),
  );
});
