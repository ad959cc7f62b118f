import { describe, expect, it } from "vitest";
import { translate } from "../translate.ts";
import type { ModuleReader } from "./imports.ts";

/** Returns the module with the name that an import has. */
const reading =
  (modules: Readonly<Record<string, string>>): ModuleReader =>
  (specifier) =>
    modules[specifier] === undefined
      ? undefined
      : { filename: `${specifier.slice(2)}.ts`, source: modules[specifier] };

/** Returns the file with a loop that stores an expression of its index in each element. */
const fileWith = (imports: string, value: string) => `${imports}
export async function run(a: Int32Array) {
  "use speculate";
  for (let i = 0; i < a.length; i++) a[i] = ${value};
}`;

function translated(imports: string, value: string, modules: Readonly<Record<string, string>>) {
  const { loops, diagnostics } = translate(fileWith(imports, value), "main.ts", "module", reading(modules));
  return {
    refusals: diagnostics.map(({ message }) => message.replace("not parallelized because ", "")),
    elements: loops.map(({ sequential, host }) => {
      const a = new Int32Array(4);
      const run = new Function(`return ${sequential}`)();
      run({ a }, { $first: 0, $step: 1, ...host.inputs }, {}, {}, 0, 4);
      return [...a];
    })[0],
  };
}

const clamp = "export const clamp = (x: number, high: number) => Math.min(Math.max(x, LOW), high);";

describe("imported names", () => {
  it.each([
    [
      "a function, which uses a constant of its module",
      'import { clamp as limit } from "./util"',
      { "./util": `${clamp} const LOW = 2 / 2;` },
    ],
    [
      "a default export without a name",
      'import limit from "./util"',
      { "./util": "export default (x: number, high: number) => Math.min(Math.max(x, 1), high);" },
    ],
    [
      "a default export with a name",
      'import limit from "./util"',
      { "./util": `${clamp} const LOW = 1; export { clamp as default };` },
    ],
    [
      "an export of another module",
      'import { limit } from "./index"',
      {
        "./index": 'export { clamp as limit } from "./util"; export * from "./other";',
        "./util": `import { LOW } from "./constants"; ${clamp}`,
        "./constants": "export const LOW = -1 + 2;",
      },
    ],
    [
      "an export of all modules, of which two export each other",
      'import { limit } from "./index"',
      {
        "./index": 'export * from "./first"; export * from "./second";',
        "./first": 'export * from "./index"; export const other = 1;',
        "./second": 'import { clamp } from "./util"; export const LOW = 5; export { clamp as limit };',
        "./util": `import { Low } from "./enum"; ${clamp.replace("LOW", "Low.One")}`,
        "./enum": "export enum Low { Zero, One }",
      },
    ],
    [
      "an imported name that is exported again",
      'import { limit } from "./index"',
      {
        "./index": 'import { clamp } from "./util"; export { clamp as limit };',
        "./util": `${clamp} const low = { least: 1 } as const; const LOW = low.least;`,
      },
    ],
  ])("are followed to %s", (_, imports, modules) => {
    expect(translated(imports, "limit(i, 2)", modules)).toEqual({ refusals: [], elements: [1, 1, 2, 2] });
  });

  it("are followed through namespaces", () => {
    const modules = {
      "./util": 'export * as deep from "./deep"; export const SIZE = 1 << 4; export { Kind } from "./deep";',
      "./deep": "export const half = (x: number) => x >> 1; export enum Kind { A = 3, B }",
    };
    const imports = 'import * as util from "./util"; import { deep, Kind } from "./util";';
    const value = "util.SIZE + deep.half(i) + Kind.B";
    expect(translated(imports, value, modules)).toEqual({ refusals: [], elements: [20, 20, 21, 21] });
  });

  it("are followed through namespaces within namespaces, to their tables, types and objects", () => {
    const modules = {
      "./util": `export * as deep from "./deep"; export const TABLE = [5, 6, 7, 8];
        export const options = { gain: 2, weights: Int32Array.of(1, 0, 1, 0) };
        const hidden = Int32Array.of(9); export const ofTable = (x: number) => TABLE[x]!;`,
      "./deep": `export namespace Deep {
          export const K = 3, T = Int32Array.of(1, 2, 3, 4);
          export const half = (x: number) => x >> 1;
          export namespace Inner { export enum Kind { A = 2, B } export type Cells = Int16Array; }
        }
        export interface Body { x: Deep.Inner.Cells; kind: Deep.Inner.Kind }`,
    };
    const imports = `import * as util from "./util"; import type { Body } from "./deep";
      import { Deep } from "./deep"; declare const body: Body; type Other = Body & { y: util.deep.Body };
      declare const other: Other;`;
    const value = (...parts: string[]) => parts.join(" + ");
    const read = (parts: string) => {
      const { loops, diagnostics } = translate(
        fileWith(imports, parts),
        "main.ts",
        "module",
        reading(modules),
      );
      return { arrays: loops.flatMap(({ loop }) => loop.arrays.slice(1)), refused: diagnostics.length };
    };
    const constants = value("util.deep.Deep.half(i)", "Deep.Inner.Kind.B", "util.deep.Deep.K");
    expect(translated(imports, constants, modules)).toEqual({ refusals: [], elements: [6, 6, 7, 7] });
    expect(read(value("util.TABLE[i & 3]!", "util.deep.Deep.T[i & 3]!", "util.options.weights[i]!"))).toEqual(
      {
        arrays: [
          { name: "util$TABLE", element: "i32", role: "read", isCopy: true },
          { name: "util$deep$Deep$T", element: "i32", role: "read" },
          { name: "util$options$weights", element: "i32", role: "read" },
        ],
        refused: 0,
      },
    );
    expect(read("util.ofTable(i & 3)").arrays).toMatchObject([{ name: "util$TABLE" }]);
    expect(read("body.x[i]! + body.kind + other.y.x[i]! + other.x[i]!").arrays).toMatchObject([
      { name: "body$x", element: "i16" },
      { name: "other$y$x", element: "i16" },
      { name: "other$x", element: "i16" },
    ]);
    expect(read("util.hidden[i]!").refused).toBe(1);
  });

  it("are followed to functions with several returns through namespaces", () => {
    const modules = { "./util": "export function early(x: number) { if (x < 2) return -1; return x; }" };
    const found = translated('import * as util from "./util";', "util.early(i)", modules);
    expect(found).toEqual({ refusals: [], elements: [-1, -1, 2, 3] });
  });

  it.each([
    ["that cannot be read", "", "`limit` is imported from `./util`, which cannot be read"],
    [
      "that does not parse",
      "export const limit =",
      "`limit` is imported from `./util`, which does not parse",
    ],
    [
      "without the name",
      "export let x = 1;",
      "`limit` is imported from `./util`, which does not export `limit`",
    ],
    [
      "that changes the function",
      "export let limit = (x: number) => x; limit = (x) => -x;",
      "`limit` is imported from `./util`, where its value may change",
    ],
    [
      "that assigns to the function",
      "export function limit(x: number) { return x; } limit = Math.abs;",
      "`limit` is imported from `./util`, where its value may change",
    ],
    [
      "that has it from a module that cannot be read",
      'import { limit } from "./gone"; export { limit };',
      "`limit` is imported from `./util`, where it is imported from `./gone`, which cannot be read",
    ],
    [
      "that has it from two modules",
      'export * from "./one"; export * from "./two";',
      "`limit` is imported from `./util`, which exports it twice",
    ],
  ])("are refused if they come from a module %s", (_, util, refusal) => {
    const one = "export const limit = (x: number) => x;";
    const modules = { ...(util !== "" && { "./util": util }), "./one": one, "./two": one };
    const { refusals } = translated('import { limit } from "./util"', "limit(i)", modules);
    expect(refusals).toEqual([refusal]);
  });

  it("take types and interfaces of other modules", () => {
    const source = fileWith('import type { Cells } from "./types"', "i").replace("Int32Array", "Cells");
    const read = reading({ "./types": "export type Cells = Int16Array;" });
    const { loops } = translate(source, "main.ts", "module", read);
    expect(loops[0]!.loop.arrays).toMatchObject([{ name: "a", element: "i16" }]);
  });

  it("keep what a file changes apart from what its modules name alike", () => {
    const util = "let scale = 3; export const scaled = (x: number) => { const n = x * scale; return n; };";
    const source = `import { scaled } from "./util";
      export async function run(a: Int32Array) {
        "use speculate";
        let scale = 1, n = 0;
        for (let i = 0; i < a.length; i++) { a[i] = scaled(i); scale ^= i; n |= i; }
        return [scale, n];
      }`;
    const { loops } = translate(source, "main.ts", "module", reading({ "./util": util }));
    expect(loops.map(({ loop }) => loop.reductions.map(({ name }) => name))).toEqual([]);
    const constant = reading({ "./util": util.replace("let", "const") });
    expect(translate(source, "main.ts", "module", constant).loops[0]!.loop.reductions).toMatchObject([
      { name: "scale", operator: "^" },
      { name: "n$2", operator: "|" },
    ]);
  });

  it("show the place in a module that a loop cannot use, with its file", () => {
    const util = `export const last = (x: number) => LUT[x]!;\nexport const LUT = new Uint8Array(4);`;
    const source = fileWith('import { last } from "./util"', "last(i)");
    const { diagnostics } = translate(source, "main.ts", "module", reading({ "./util": util }));
    expect(diagnostics).toMatchObject([
      {
        message: "not parallelized because `LUT` of util.ts is not known in the file with the loop",
        span: { start: util.indexOf("LUT"), end: util.indexOf("LUT") + 3 },
        module: { filename: "util.ts", source: util },
      },
    ]);
    const known = source.replace("last }", "last, LUT as table }");
    const { loops } = translate(known, "main.ts", "module", reading({ "./util": util }));
    expect(loops[0]!.loop.arrays).toMatchObject([{ name: "a" }, { name: "table", element: "u8" }]);
  });

  it("count the documented types of a module's functions and constants", () => {
    const util = `/** @type {Uint8Array} */\nexport const table = make();`;
    const source = fileWith('/* */ import { table } from "./util"', "table[i]!");
    const { loops } = translate(source, "main.ts", "module", reading({ "./util": util }));
    expect(loops[0]!.loop.arrays).toMatchObject([{ name: "a" }, { name: "table", element: "u8" }]);
  });
});
