/**
 * Measures the time of the front end and of the compiler for the kernels of all workloads in one
 * module. Each kernel occurs `--copies` times. With `--generated`, measures one long generated
 * kernel or many constants in place of them.
 *
 *     npx tsc -p tsconfig.build.json
 *     node research/dist/scripts/frontEnd.js [--copies 1] [--generated kernel|constants]
 *         [--runs 40] [--json]
 */
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { parse, print, resolve, walk } from "belay-gpu/wgsl";
import { catalog } from "../workloads/samples/index.ts";

const { values: flags } = parseArgs({
  options: {
    copies: { type: "string", default: "1" },
    generated: { type: "string" },
    runs: { type: "string", default: "40" },
    json: { type: "boolean", default: false },
  },
});
const copies = Number(flags.copies);
const runs = Number(flags.runs);

interface Timing {
  readonly name: string;
  readonly runs: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

/**
 * Returns the kernels of all workloads as one module. Each kernel's own names get its number, so
 * that they don't clash.
 */
function joinKernels(): string {
  const sources = catalog.flatMap(({ small }) => Object.values(small().kernelSources));
  return Array.from({ length: copies }, () => sources)
    .flat()
    .map((source, i) => numberNames(source, `_${i}`))
    .join("\n");
}

const GENERATED_LINES = 1500;

/** Returns a kernel of 80 kB, or one after as many kB of constants. */
function generate(what: string): string {
  const line = (i: number) =>
    what === "kernel"
      ? `  let v${i + 1} = v${i} * ${i}.5 + a[(id.x + ${i}u) % 64u];`
      : `const c${i} = atan2(${i}.25, ${(i % 7) + 1}.5) + sin(${i}.0) * exp(-${i % 20}.0);`;
  const lines = Array.from({ length: GENERATED_LINES }, (_, i) => line(i)).join("\n");
  const [before, inside, result] =
    what === "kernel" ? ["", `  let v0 = 1.0;\n${lines}`, `v${GENERATED_LINES}`] : [lines, "", "c7"];
  return `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
${before}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
${inside}
  b[id.x] = a[id.x] + ${result};
}`;
}

/** Appends `suffix` to every name that a module declares at its outermost level. */
function numberNames(source: string, suffix: string): string {
  const program = resolve(parse(source).module);
  const declarations = new Set<unknown>(program.module.declarations);
  const ends: number[] = [];
  walk(program.module, (node) => {
    if ("nameSpan" in node && declarations.has(node)) ends.push(node.nameSpan.end);
    if (node.kind === "identifier" && declarations.has(program.targetOf(node))) {
      ends.push(node.span.start + node.name.length);
    }
  });
  const cuts = [0, ...ends.sort((a, b) => a - b)];
  return cuts.map((cut, i) => source.slice(cut, cuts[i + 1])).join(suffix);
}

/** Times `runs` runs after a quarter as many to warm up. */
function time(name: string, runs: number, work: () => unknown): Timing {
  for (let i = 0; i < runs / 4; i++) work();
  const times = Array.from({ length: runs }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return { name, runs, medianMs: times[runs >> 1]!, p95Ms: times[Math.floor(runs * 0.95)]! };
}

const source = flags.generated === undefined ? joinKernels() : generate(flags.generated);
const { module } = parse(source);
const configurations: Record<string, CompilerOptions> = {
  "protect, signature": { check: "signature" },
  "protect, store": { check: "store" },
  "protect, store, fault sites": { check: "store", injectFaults: true },
  "protect, Inter-Group": { redundancy: "inter" },
  "protect, memory": { redundancy: "none", memory: "secded128" },
  ...(flags.generated !== undefined && { "protect, auto": { redundancy: "auto", features: ["subgroups"] } }),
};
for (const [name, options] of Object.entries(configurations)) {
  const { diagnostics, entryPoints } = protect(source, options);
  const alone = entryPoints.filter(({ redundancy }) => redundancy === "none");
  if (entryPoints.length === 0 || (alone.length > 0 && options.redundancy !== "none")) {
    throw new Error(`${name} leaves kernels alone: ${diagnostics.map(({ message }) => message).join("; ")}`);
  }
}
const timings = [
  time("parse", runs, () => parse(source)),
  time("resolve", runs, () => resolve(module)),
  time("print", runs, () => print(module)),
  time("parse, resolve, print", runs, () => print(resolve(parse(source).module).module)),
  ...Object.entries(configurations).map(([name, options]) =>
    time(name, runs, () => protect(source, options)),
  ),
];

const lines = source.split("\n").length;
if (flags.json) {
  console.log(JSON.stringify({ lines, timings }, null, 2));
} else {
  const rows = timings.map(({ name, runs, medianMs, p95Ms }) => [
    name,
    String(runs),
    medianMs.toFixed(2),
    p95Ms.toFixed(2),
  ]);
  console.log(alignColumns([[`${lines} lines`, "runs", "median, ms", "95 %, ms"], ...rows]));
}
