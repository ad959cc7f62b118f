/**
 * Looks for sums of products in kernels of public repositories that multiply matrices, and counts
 * those that are found. No GPU is needed, as kernels are executed with symbols.
 *
 *   node research/dist/scripts/publicProducts.js FOLDER [--json FILE]
 *
 * FOLDER has a clone of each repository, such as `FOLDER/OWNER/NAME`. A file that a clone
 * lacks counts as missing.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { findSumsOfProducts } from "belay-gpu/algebra";

/** The sides of all products: those of the results, and the number of terms. */
const [m, n, k] = [64, 96, 48];
const [a, b, c] = [4 * m * k, 4 * k * n, 4 * m * n];

/** A kernel, with a dispatch as its program makes it. */
interface PublicKernel {
  readonly file: string;
  readonly entryPoint?: string;
  /** The values of names in the places `{{ … }}` of a template. */
  readonly template?: Readonly<Record<string, number>>;
  readonly grid: readonly [x: number, y: number, z: number];
  /** The bytes of storage buffers, and the words of uniform buffers, by binding. */
  readonly buffers: readonly (number | readonly number[])[];
}

/** A template with the parameters of its host program. */
const template = (
  name: string,
  grid: readonly [number, number, number],
  [x, y]: readonly [number, number],
  more: Readonly<Record<string, number>> = {},
): PublicKernel => ({
  file: `FL33TW00D/wgpu-mm/shaders/gemm/${name}.wgsl`,
  template: {
    M: m,
    N: n,
    K: k,
    workgroup_size_x: x,
    workgroup_size_y: y,
    workgroup_size_z: 1,
    ...more,
  },
  grid,
  buffers: [a, b, c],
});
const [tiles, turned] = [
  [m / 16, n / 16, 1],
  [n / 16, m / 16, 1],
] as const;
const artifex = (entryPoint: string, grid: PublicKernel["grid"]): PublicKernel => ({
  file: "kavenmartinez1-collab/Artifex_Web/src/shaders/matmul.wgsl",
  entryPoint,
  grid,
  buffers: [a, b, c, [m, n, k], 0, b / 2],
});
const kernels: readonly PublicKernel[] = [
  template("gemm_1", tiles, [16, 16]),
  template("gemm_1v", [m / 16, n / 16, 1], [16, 4]),
  template("gemm_2", tiles, [256, 1]),
  template("gemm_3", tiles, [256, 1], { BLOCKSIZE: 16 }),
  template("gemm_4", turned, [128, 1], { BM: 16, BN: 16, BK: 8, TM: 2 }),
  template("gemm_5", [n / 32, m / 32, 1], [64, 1], { BM: 32, BN: 32, BK: 16, TM: 4, TN: 4 }),
  {
    file: "CoderKavyaG/Ignite/src/shaders/matmul.wgsl",
    grid: [n / 8, m / 8, 1],
    buffers: [a, b, c, [m, k, n, 0]],
  },
  {
    file: "Elxuz/nnrs/src/shaders/matmul.wgsl",
    grid: turned,
    // The rows of its buffers are as long as the longest.
    buffers: [[m, m, 0, 0, 0, 0, 0], [0, n, k, k, n, n], c, b, c],
  },
  {
    file: "bukkabu-gpu/Tensor-Frame/src/shaders/matmul.wgsl",
    grid: tiles,
    buffers: [a, b, c, [m, k, k, n]],
  },
  {
    file: "dullfig/memory-rlm/src/shaders/matmul.wgsl",
    grid: [m, 1, n],
    buffers: [a / 2, b, c, [m, k, n, 0]],
  },
  artifex("matmul", tiles),
  artifex("matmul_bt", tiles),
  artifex("matmul_bt_bf16", tiles),
  artifex("matmul_naive", [Math.ceil((m * n) / 256), 1, 1]),
  { file: "marijnfs/zig-llm/src/shaders/matmul.wgsl", grid: [m, n, 1], buffers: [c, a, b, [m, k, n]] },
  {
    file: "marijnfs/zig-llm/src/shaders/transposematmul.wgsl",
    grid: tiles,
    buffers: [c, a, b, [m, k, n, 0]],
  },
  {
    file: "shashvathsrivatsa/homemade-ml/shaders/matmul.wgsl",
    grid: tiles,
    // Its second factor is transposed.
    buffers: [a, b, c, [m, k, n, 2]],
  },
  {
    file: "zanussbaum/surfgrad/src/shaders/matmul.ts",
    grid: [1, 1, 1],
    buffers: [[m, k, n], a, b, c],
  },
];

const {
  values: flags,
  positionals: [folder],
} = parseArgs({ allowPositionals: true, options: { json: { type: "string" } } });
if (folder === undefined) throw new Error("name the folder of the clones");

/** A kernel, and the reason why no sums are found in it, if there is one. */
interface Row {
  readonly kernel: string;
  readonly reason?: string;
}

const rows = kernels.map((each): Row => {
  const { file, entryPoint, grid, buffers } = each;
  const kernel = entryPoint ? `${file}, ${entryPoint}` : file;
  const path = join(folder, file);
  if (!existsSync(path)) return { kernel, reason: "missing" };
  const source = completed(readFileSync(path, "utf8"), each);
  const found = findSumsOfProducts(
    { source, ...(entryPoint && { entryPoint }) },
    {
      grid,
      sizeOf: ({ binding }) => {
        const buffer = buffers[binding];
        return typeof buffer === "object" ? 4 * buffer.length : buffer;
      },
      wordAt: ({ binding }, offset) => {
        const buffer = buffers[binding];
        return typeof buffer === "object" ? buffer[offset / 4] : undefined;
      },
    },
  );
  if ("reason" in found) return { kernel, reason: found.reason };
  const terms = found.terms.reduce((product, { size }) => product * size, 1);
  const isProduct = found.count === m * n && terms === k;
  return isProduct ? { kernel } : { kernel, reason: `found ${found.count} sums of ${terms} terms` };
});
const count = rows.filter(({ reason }) => reason === undefined).length;
console.log(
  alignColumns([["kernel", "found"], ...rows.map(({ kernel, reason }) => [kernel, reason ?? "yes"])]),
);
console.log(`${count} of ${rows.length} are found`);
if (flags.json) writeFileSync(flags.json, JSON.stringify(rows));

/** Returns the WGSL of a file: of a template, or in a literal of TypeScript. */
function completed(text: string, { file, template: values = {} }: PublicKernel): string {
  const wgsl = file.endsWith(".ts") ? /`([^`]*)`/.exec(text)![1]! : text;
  return wgsl
    .replace(/\{% for \w+ in range\(end = (\w+)\) -?%\}([^{]*)\{% endfor -?%\}/g, (_, end, body) =>
      String(body).repeat(values[end]!),
    )
    .replace(/\{\{([^}]*)\}\}/g, (_, expression) => String(evaluated(expression, values)));
}

/** Returns the value of a name, or of a product or quotient of two names. */
function evaluated(expression: string, values: Readonly<Record<string, number>>): number {
  const [first, operator, second] = expression.trim().split(" ");
  const value = values[first!]!;
  if (!operator) return value;
  return operator === "*" ? value * values[second!]! : value / values[second!]!;
}
