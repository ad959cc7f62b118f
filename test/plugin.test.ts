/**
 * Programs with loops compute the same through each bundler, and through Node.js's own loader, as
 * untranslated.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import esbuildPlugin from "belay-speculate/esbuild";
import rolldownPlugin from "belay-speculate/rolldown";
import rollupPlugin from "belay-speculate/rollup";
import rspackPlugin from "belay-speculate/rspack";
import vitePlugin from "belay-speculate/vite";
import webpackPlugin from "belay-speculate/webpack";
import { build as esbuild } from "esbuild";
import { rolldown } from "rolldown";
import { rollup } from "rollup";
import { build as vite } from "vite";
import { afterAll, describe, expect, it } from "vitest";
import webpack from "webpack";
import { root } from "./support/workspaces.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-plugin-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

// An engine that executes loops on the CPU and counts them.
file(
  "node_modules/belay-speculate/package.json",
  '{ "type": "module", "exports": { ".": "./index.js", "./internal/*": "./*.js" } }',
);
file(
  "node_modules/belay-speculate/index.js",
  "export const speculate = () => {}, misspeculate = () => {}, reduction = () => {}, schedule = () => {};",
);
file(
  "node_modules/belay-speculate/translated.js",
  `globalThis.speculated ??= 0;
export async function speculate(call) {
  globalThis.speculated++;
  const inputs = { ...call.inputs, $first: call.first, $step: call.step };
  const [carried, reductions] = [{ ...call.carried }, { ...call.reductions }];
  return { ...call.sequential(call.arrays, inputs, carried, reductions, 0, call.count), carried, reductions };
}
export const takeTurn = () => ({ comes: null, toHost: async () => {}, end: () => {} }), requireOnHost = () => {};
`,
);
file("package.json", '{ "type": "module" }');
file("steps/index.js", 'export * from "./half.js";');
file("steps/half.js", "const SHIFT = 3 - 2; export const half = (x) => (x / (1 << SHIFT)) | 0;");

/** A program in JavaScript with types in comments, which bundlers accept without more plugins. */
const program = `
import { misspeculate, reduction, speculate } from "belay-speculate";
import { half } from "./steps/index.js";
/** @param {Int32Array} a  @param {Uint32Array} p  @param {number} n */
async function relax(a, p, n) {
  "use speculate";
  let total = 0, last = -1;
  //#pragma omp for target(webgpu) speculate(a) reduction(+:total)
  for (let i = 0; i < n; i++) {
    if (a[i] === 99) break;
    a[p[i]] = half(a[i]) + 1;
    total += 2;
  }
  speculate(a);
  reduction("+", total);
  outer: for (let i = n - 1; i >= 0; i -= 2) {
    for (let j = 0; j < 3; j++) {
      if (a[p[j]] > 5) { misspeculate("+1"); last = i; continue outer; }
      total++;
    }
  }
  return [total, last];
}
export default async function run() {
  const a = Int32Array.from({ length: 20 }, (_, i) => (i * 7) % 20);
  a[15] = 99;
  const p = Uint32Array.from(a, (x) => (x * 3) % 23);
  return [await relax(a, p, 18), [...a], globalThis.speculated];
}
`;
const main = file("main.js", program);
const expected = await import(pathToFileURL(main).href).then((module) => module.default());

async function resultOf(bundle: string) {
  const before = (globalThis as { speculated?: number }).speculated ?? 0;
  const [returned, array, after] = await (await import(pathToFileURL(bundle).href)).default();
  return { returned, array, speculated: after - before };
}

describe("the plugin", () => {
  const result = { returned: expected[0], array: expected[1], speculated: 2 };

  it("translates for Vite", async () => {
    await vite({
      root: folder,
      logLevel: "silent",
      configFile: false,
      plugins: [vitePlugin()],
      build: { lib: { entry: main, formats: ["es"], fileName: "vite" }, outDir: "vite", minify: true },
    });
    expect(await resultOf(join(folder, "vite/vite.js"))).toEqual(result);
  });

  it("translates for Rollup", async () => {
    const plugins = [rollupPlugin()];
    const bundle = await rollup({ input: main, external: /belay-gpu/, plugins, onwarn: () => {} });
    await bundle.write({ file: join(folder, "rollup.js"), sourcemap: true });
    expect(await resultOf(join(folder, "rollup.js"))).toEqual(result);
  });

  it("runs before an earlier plugin that removes comments, for Rollup and Rolldown", async () => {
    const transform = (code: string) => code.replace(/^ *\/\/.*$|\/\*.*?\*\//gm, "");
    const uncomment = { name: "uncomment", transform };
    const input = { input: main, external: /belay-(gpu|speculate)/ };
    const bundles = [
      await rollup({ ...input, plugins: [uncomment, rollupPlugin()], onwarn: () => {} }),
      await rolldown({ ...input, plugins: [uncomment, rolldownPlugin()], logLevel: "silent" }),
    ];
    for (const bundle of bundles) {
      const { output } = await bundle.generate({});
      expect(output[0].code.match(/sequential: /g)).toHaveLength(2);
    }
  });

  it("translates for Rolldown", async () => {
    const plugins = [rolldownPlugin()];
    const bundle = await rolldown({ input: main, external: /belay-gpu/, plugins, logLevel: "silent" });
    await bundle.write({ file: join(folder, "rolldown.js") });
    expect(await resultOf(join(folder, "rolldown.js"))).toEqual(result);
  });

  it("translates for esbuild", async () => {
    await esbuild({
      entryPoints: [main],
      outfile: join(folder, "esbuild.js"),
      format: "esm",
      bundle: true,
      minify: true,
      logLevel: "silent",
      plugins: [esbuildPlugin()],
    });
    expect(await resultOf(join(folder, "esbuild.js"))).toEqual(result);
  });

  it("translates for webpack", async () => {
    const compiler = webpack({
      context: folder,
      entry: main,
      mode: "production",
      target: "node",
      experiments: { outputModule: true },
      output: { path: folder, filename: "webpack.js", module: true, library: { type: "module" } },
      plugins: [webpackPlugin()],
    });
    const stats = await promisify(compiler.run.bind(compiler))();
    expect(stats?.toJson({ all: false, errors: true }).errors).toEqual([]);
    expect(await resultOf(join(folder, "webpack.js"))).toEqual(result);
  });

  it("has a version for Rspack, which is no dependency of the tests", () => {
    expect(rspackPlugin({ strict: true }).apply).toBeTypeOf("function");
  });

  it.each([vitePlugin, rollupPlugin, rolldownPlugin, webpackPlugin, rspackPlugin, esbuildPlugin])(
    "rejects unknown options",
    (plugin) => {
      const refusal = new TypeError("there is no option stric: the options are strict");
      expect(() => plugin({ stric: true } as never)).toThrow(refusal);
    },
  );

  const build = (source: string, name: string, strict = false) => {
    const warnings: string[] = [];
    const done = rollup({
      input: file(name, source),
      external: /belay-gpu/,
      plugins: [rollupPlugin({ strict })],
      onwarn: ({ message }) => warnings.push(message),
    });
    return done.then(
      () => warnings,
      (error: Error) => error.message,
    );
  };

  it("leaves a loop that it cannot translate unchanged, with a warning that shows the loop", async () => {
    const source = program.replace("half(a[i]) + 1", "console.log(i)");
    expect(String(await build(source, "refused.js"))).toMatch(
      /warning\[BELAY513 unknown-call\][\s\S]*console\.log\(i\)[\s\S]*\^\^\^/,
    );
    expect(await build(source, "refused.js", true)).toMatch(/error\[BELAY513 unknown-call\]/);
  });

  it("tries the loops of a function whose directives another plugin removed", async () => {
    const bare = program
      .replace(/\/\/#.*/, "")
      .replace(/speculate\(a\);\s*reduction\(.*\);/, "")
      .replace(/misspeculate\(.*?\);/, "");
    expect(String(await build(bare, "bare.js"))).not.toContain("BELAY");
    const empty = `async function run() { "use speculate"; } ${bare.replace('"use speculate";', "")}`;
    expect(await build(empty, "empty.js")).toMatch(/error\[BELAY504 missing-directive\]/);
  });
});

describe("an import of a function that a loop calls", () => {
  const aliased = file("aliased.js", program.replace("./steps/index.js", "#steps"));
  const half = join(folder, "steps/half.js");

  it("is resolved by other plugins, and its file is watched", async () => {
    const alias = { name: "alias", resolveId: (id: string) => (id === "#steps" ? half : null) };
    const plugins = [alias, rollupPlugin({ strict: true })];
    const bundle = await rollup({ input: aliased, external: /belay-gpu/, plugins, onwarn: () => {} });
    const { output } = await bundle.generate({});
    expect(output[0].code.match(/sequential: /g)).toHaveLength(2);
    expect(bundle.watchFiles).toContain(half);
  });

  it("is not followed out of the bundle", async () => {
    const warnings: string[] = [];
    await rollup({
      input: aliased,
      external: /belay-gpu|#steps/,
      plugins: [rollupPlugin()],
      onwarn: ({ message }) => warnings.push(message),
    });
    expect(String(warnings)).toContain("`half` is imported from `#steps`, which cannot be read");
  });
});

describe("belay-speculate/register", () => {
  const typed = `
import { half, type Names } from "./half.ts";
export async function relax(a: Int32Array, p: Uint32Array): Promise<number> {
  "use speculate";
  let total: number = 0;
  //#pragma omp for target(webgpu) speculate(a) reduction(+:total)
  for (let i = 0; i < a.length; i++) {
    a[p[i]!] = (half(a[i]! * 2) + 1) as number;
    total += 1;
  }
  return total;
}
const [a, p] = [Int32Array.of(1, 2, 3), Uint32Array.of(1, 2, 0)];
const names: Names = { one: half(4) };
console.log(JSON.stringify([await relax(a, p), [...a], names, globalThis.speculated]));
`;
  it("translates modules that Node.js loads", async () => {
    file(
      "half.ts",
      "export interface Names { one: number }\nexport const half = (x: number): number => x >> 1;\n",
    );
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      "--import",
      // Node.js 20 does not load TypeScript, so this is the built package.
      pathToFileURL(join(root, "packages/belay-speculate/dist/plugin/register.js")).href,
      file("typed.ts", typed),
    ]);
    expect(JSON.parse(stdout)).toEqual([3, [4, 2, 3], { one: 2 }, 1]);
    expect(stderr).toBe("");
  });
});
