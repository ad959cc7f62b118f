import { catalog } from "belay-research/internal/workloads/samples/index";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { featureKernels } from "../../../../test/support/kernels/featureKernels.ts";
import { sample } from "../../../../test/support/sample.ts";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { print } from "../wgsl/printer.ts";
import { walk } from "../wgsl/traverse.ts";
import { type CompilerOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const kernels: [string, string][] = [
  ...featureKernels.map(({ name, code }): [string, string] => [name, code]),
  ...catalog.flatMap(({ name, small }) =>
    Object.entries(small().kernelSources).map(([kernel, code]): [string, string] => [
      `${name}, ${kernel}`,
      code,
    ]),
  ),
];
const replicated: CompilerOptions[] = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
  (["store", "signature"] as const).flatMap((check) =>
    (["subgroup", "workgroup"] as const).map((channel) => ({
      redundancy,
      check,
      channel,
      features: ["subgroups"],
    })),
  ),
);
replicated.push(
  { redundancy: "inter", check: "signature", features: ["subgroups"] },
  { redundancy: "inter", check: "store" },
);
const instrumented: CompilerOptions[] = [...replicated, { redundancy: "none" } as const].flatMap(
  (options) => [
    { ...options, injectFaults: true },
    { ...options, injectFaults: "profile" },
  ],
);

describe.each(kernels.map(([name, code], row) => [name, row, code] as const))("%s", (_, row, code) => {
  it("becomes a module that parses back to its text, has no error and that Dawn accepts", async () => {
    const options = [...replicated, ...sample(instrumented, row, 3)];
    const results = options.map((each) => protect(code, each).code);
    for (const result of results) expect(print(typed(result).module)).toBe(result);
    const verdicts = await dawn.validateAll(results);
    expect(verdicts).toEqual(verdicts.map(() => ({ ok: true })));
  });

  it("becomes the same every time", () => {
    const options = Object.freeze(instrumented[0]!);
    expect(protect(code, options)).toEqual(protect(code, options));
  });
});

const kernel = (body = "out[i] = i;", declarations = "", size = "64") => `
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  ${declarations}
  @compute @workgroup_size(${size}) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`;

describe("the result", () => {
  it("lists the checks of each entry point, those of shared functions with each", () => {
    const code = `${kernel("put(i);")}
      fn put(i: u32) { out[i] = i; }
      @compute @workgroup_size(8) fn other(@builtin(local_invocation_index) i: u32) { put(i); out[i + 8u] = 1u; }`;
    const { entryPoints, checks } = protect(code, { check: "store" });
    const source = (id: number) => {
      const { span } = checks.find((check) => check.id === id)!;
      return code.slice(span.start, span.end);
    };
    expect(entryPoints.map(({ name, checks }) => [name, checks.map(source).sort()])).toEqual([
      // At its end each entry point compares what the replicas have stored.
      ["main", ["main", "out[i] = i"]],
      ["other", ["other", "out[i + 8u] = 1u", "out[i] = i"]],
    ]);
  });

  it("binds the report in a group of its own", () => {
    const groups = (code: string) => protect(code).layout;
    expect(groups(kernel())).toEqual({ group: 1, binding: 0, bytes: 4 * reportWords.total, cells: 0 });
    const fourth = "@group(3) @binding(0) var<uniform> size: u32;";
    expect(groups(kernel("out[i] = size;", fourth))).toMatchObject({ group: 1 });
  });

  it.each(["intra+lds", "intra-lds", "inter"] as const)(
    "has no words for injected faults without injectFaults, %s",
    (redundancy) => {
      const words = /\b(armed|fuel|hangs|strikes|struck|dispatch)\w*/g;
      expect(protect(kernel(), { redundancy }).code.match(words)).toBeNull();
      expect(protect(kernel(), { redundancy, injectFaults: true }).code).toMatch(words);
    },
  );

  it("is the input when there is nothing to do", () => {
    const result = protect(kernel(), { redundancy: "none" });
    expect(result).toMatchObject({
      code: kernel(),
      diagnostics: [],
      layout: null,
      checks: [],
      faultSites: [],
    });
    expect(result.entryPoints).toMatchObject([{ name: "main", redundancy: "none", checks: [] }]);
  });

  it("is the input when that is not valid", () => {
    for (const code of ["fn main() {", kernel("out[i] = 1.5;"), "fn f() {}"]) {
      const { diagnostics, ...result } = protect(code);
      expect(diagnostics[0]?.severity).toBe("error");
      expect(result).toMatchObject({ code, layout: null, entryPoints: [] });
    }
  });

  it("hides no function of the language that it uses", () => {
    const functionsIn = (code: string) => {
      const program = typed(code);
      const called = new Set<string>();
      walk(program.module, (node) => {
        const target = node.kind === "call" ? program.targetOf(node.callee) : undefined;
        if (target?.kind === "builtin" && target.category === "function") called.add(target.name);
      });
      return called;
    };
    const { code } = featureKernels.find(({ name }) => name.includes("uniform loads"))!;
    const own = functionsIn(code);
    const generated = new Set(
      instrumented.flatMap((options) => [...functionsIn(protect(code, options).code)]),
    );
    expect(generated.size).toBeGreaterThan(own.size);
    for (const name of generated) {
      const { renamed, layout } = protect(kernel().replace("fn main", `fn ${name}`));
      expect(layout, name).not.toBeNull();
      if (!own.has(name)) expect(renamed).toEqual({ [name]: `${name}_1` });
    }
  });
});

describe("the names that the program has given", () => {
  const code = `
    override min = 3u;
    @group(0) @binding(0) var<storage, read_write> bitcast: array<atomic<u32>>;
    var<workgroup> select_1: array<u32, 8>;
    @compute @workgroup_size(8) fn select(@builtin(local_invocation_index) i: u32) {
      select_1[i] = i * min;
      workgroupBarrier();
      atomicStore(&bitcast[i], select_1[i ^ 1u]);
    }
    @compute @workgroup_size(8) fn all(@builtin(local_invocation_index) i: u32) {
      select_1[i] = i;
      atomicStore(&bitcast[i ^ 1u], 1u);
      while (atomicLoad(&bitcast[i]) == 0u) {}
    }`;

  it("stay in all that is told of a module with other ones", () => {
    for (const options of instrumented) {
      const { diagnostics, entryPoints, checks, faultSites, renamed } = protect(code, options);
      expect(renamed).toEqual({ select: "select_2", all: "all_1", min: "min_1" });
      expect(entryPoints.map(({ name }) => name)).toEqual(["select", "all"]);
      const names = new Set([...checks.map(({ name }) => name), ...faultSites.map((s) => s.functionName)]);
      for (const name of names) expect(name).toMatch(/^(select|bitcast|select_1|all|belay_\w+)$/);
      if (options.redundancy === "none") continue;
      expect(diagnostics.filter((d) => d.code === "BELAY217")).toMatchObject([
        {
          message: expect.stringContaining(`"all" is left unprotected: this loop waits until`),
          entryPoints: ["all"],
        },
      ]);
      for (const { message } of diagnostics) expect(message).not.toMatch(/select_2|all_1|bitcast_1|min_1/);
      expect(entryPoints.map(({ redundancy }) => redundancy)).toEqual([options.redundancy, "none"]);
    }
  });

  it("stay where kernels get copies of the workgroup memory that they share", () => {
    const kernels = ["first", "second"].map(
      (name) => `@compute @workgroup_size(8) fn ${name}(@builtin(local_invocation_index) i: u32) {
        tile[i] = i;
        workgroupBarrier();
        out[i] = tile[i ^ 1u];
      }`,
    );
    const { code, checks } = protect(
      `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, 8>;
      ${kernels.join("\n")}`,
      { redundancy: "intra-lds", check: "store", memory: "secded32" },
    );
    expect(code).toMatch(/var<workgroup> tile_1\b/);
    const stored = checks.flatMap(({ kind, name }) => (kind === "store" ? [name] : []));
    expect(stored.toSorted()).toEqual(["out", "out", "tile", "tile"]);
  });

  it("stay with an access mode that protection declares its report with", async () => {
    const { code, renamed, entryPoints } = protect(
      `@group(0) @binding(0) var out: texture_storage_2d<r32uint, write>;
      @compute @workgroup_size(8) fn read_write(@builtin(local_invocation_id) id: vec3u) {
        textureStore(out, id.xy, vec4u(id.x));
      }`,
      { redundancy: "intra+lds" },
    );
    expect(renamed).toEqual({ read_write: "read_write_1" });
    expect(entryPoints).toMatchObject([{ name: "read_write", redundancy: "intra+lds" }]);
    expect(await dawn.validate(code)).toEqual({ ok: true });
  });

  it("stay where statements nest too deeply", () => {
    const deep = `${"for (var k = 0; k < 1; k++) {".repeat(120)}bitcast[i] = i;${"}".repeat(120)}`;
    const { diagnostics, entryPoints } = protect(
      `@group(0) @binding(0) var<storage, read_write> bitcast: array<u32>;
      @compute @workgroup_size(8) fn select(@builtin(local_invocation_index) i: u32) { ${deep} }
      @compute @workgroup_size(8) fn all(@builtin(local_invocation_index) i: u32) { bitcast[i] = i; }`,
      { redundancy: "intra+lds" },
    );
    expect(diagnostics).toMatchObject([{ code: "BELAY219", entryPoints: ["select"] }]);
    expect(entryPoints).toMatchObject([
      { name: "select", redundancy: "none" },
      { name: "all", redundancy: "intra+lds" },
    ]);
  });
});

it("stops where the shapes of pointers multiply", () => {
  // Each level passes both halves of its half on: 2^24 shapes for the innermost function.
  const levels = Array.from({ length: 24 }, (_, i) => i);
  const structs = levels.map((i) => `struct S${i + 1} { a: S${i}, b: S${i} }`).join("\n");
  const functions = levels.map(
    (i) => `fn f${i + 1}(p: ptr<storage, S${i + 1}, read_write>) { f${i}(&p.a); f${i}(&p.b); }`,
  );
  const wgsl = `
    struct S0 { x: u32 }
    ${structs}
    @group(0) @binding(0) var<storage, read_write> tree: S24;
    fn f0(p: ptr<storage, S0, read_write>) { p.x = 1u; }
    ${functions.join("\n")}
    @compute @workgroup_size(1) fn main() { f24(&tree); }`;
  const { code, diagnostics } = protect(wgsl);
  expect(diagnostics.map((diagnostic) => diagnostic.code)).toEqual(["BELAY211"]);
  expect(code).toBe(wgsl);
});
