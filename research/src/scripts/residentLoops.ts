/**
 * Measures loops whose arrays stay on the GPU, beside the same loops in JavaScript.
 *
 *   node research/dist/scripts/residentLoops.js [--loops doubles,found,programs] [--size 1024]
 *       [--fallback never] [--runs 10] [--seconds 60] [--json FILE]
 *
 * - `doubles`: loops that compute with doubles, which a GPU computes with integers, and the same
 *   loops with `precision(f32)`. The size is that of one side of a square.
 * - `found`: reductions, compaction, running sums and histograms without a clause, over one element
 *   less than `4 * size * size`, and than four times as many. A sum of 32-bit integers may leave
 *   2^53 with one element more, and then runs as it is written.
 * - `programs`: the loops of `belay bench speculation` that speculation suits, at their documented
 *   sizes.
 *
 * The first call includes the compilation of kernels. The time of the compilation is that in which
 * at least one pipeline was not ready yet. Each exact result is compared with JavaScript's bit for
 * bit. No loop begins after `--seconds`. With `--fallback measured`, the default of programs, the
 * CPU may execute a loop, or its first iterations.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import type { Statistics } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import type { LoopData } from "belay-speculate/internal/loops/javascript/sequential";
import { eraseTypes } from "belay-speculate/internal/plugin/eraseTypes";
import Table from "cli-table3";
import { median } from "simple-statistics";
import {
  type Executor,
  loadSpeculated,
  type SpeculatedFunction,
  speculatedIn,
} from "../bench/speculation/programRuns.ts";
import { loops as programs } from "../workloads/loops/index.ts";

const { values: flags } = parseArgs({
  options: {
    loops: { type: "string", default: "doubles,found,programs" },
    size: { type: "string", default: "1024" },
    fallback: { type: "string", default: "never" },
    runs: { type: "string", default: "10" },
    seconds: { type: "string", default: "60" },
    json: { type: "string" },
  },
});
const size = Number(flags.size);
const runs = Number(flags.runs);
if (flags.fallback !== "never" && flags.fallback !== "measured")
  throw new Error("--fallback is never or measured");
/** The use of the CPU by the loops, apart from a sum of doubles, which belongs there. */
const usual = flags.fallback;

/** A loop: the parameters of its function with their types, and its statements. */
type Written = readonly [parameters: string, statements: string];

/** The loops with doubles. */
const doubles: Readonly<Record<string, Written>> = {
  stencil: [
    "next: Float64Array, u: Float64Array, width: number",
    `for (let y = 1; y < width - 1; y++) {
      for (let x = 1; x < width - 1; x++) {
        const at = y * width + x;
        next[at] = (u[at - 1]! + u[at + 1]! + u[at - width]! + u[at + width]!) / 4;
      }
    }`,
  ],
  polynomial: [
    "next: Float64Array, u: Float64Array",
    `for (let i = 0; i < next.length; i++) {
      const v = u[i]!;
      next[i] = 0.5 + v * (1.5 + v * (-0.25 + v * 0.125));
    }`,
  ],
  mandelbrot: [
    "out: Uint8Array, width: number",
    `for (let y = 0; y < width; y++) {
      const cy = (y / width) * 2 - 1;
      for (let x = 0; x < width; x++) {
        const cx = (x / width) * 3 - 2;
        let a = 0;
        let b = 0;
        let k = 0;
        while (a * a + b * b <= 4 && k < 100) {
          const t = a * a - b * b + cx;
          b = 2 * a * b + cy;
          a = t;
          k++;
        }
        out[y * width + x] = k;
      }
    }`,
  ],
  sum: ["u: Float64Array", "for (let i = 0; i < u.length; i++) total += u[i]!;"],
};

/** The loops whose shared variables are reduced or scanned. */
const found: Readonly<Record<string, Written>> = {
  "sum of 32-bit integers": ["a: Int32Array", "for (let i = 0; i < a.length; i++) total += a[i]!;"],
  "sum of 16-bit integers": ["s: Int16Array", "for (let i = 0; i < s.length; i++) total += s[i]!;"],
  "largest with its index": [
    "f: Float32Array",
    "for (let i = 0; i < f.length; i++) if (f[i]! > most) { most = f[i]!; at = i; }",
  ],
  compaction: [
    "a: Int32Array, out: Int32Array",
    "for (let i = 0; i < a.length; i++) if (a[i]! > 0) out[total++] = a[i]!;",
  ],
  "running sum": [
    "b: Int8Array, out: Int32Array",
    "for (let i = 0; i < b.length; i++) { total += b[i]!; out[i] = total; }",
  ],
  "histogram of 256 cells": [
    "b: Uint8Array, h: Int32Array",
    "for (let i = 0; i < b.length; i++) h[b[i]!]++;",
  ],
  "histogram of 10,007 cells": [
    "a: Int32Array, h: Int32Array",
    "for (let i = 0; i < a.length; i++) h[a[i]! + 5003]++;",
  ],
};

/** A function with loops to measure, and its arguments. */
interface Case {
  readonly loop: string;
  readonly numbers: string;
  inOrder(...values: readonly (LoopData | number)[]): Promise<unknown>;
  load(): Promise<SpeculatedFunction>;
  readonly values: readonly (LoopData | number)[];
  readonly fallback: "never" | "measured";
}

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const compilation = observeCompilation(device);
const rounded = (value: number) => Number(value.toPrecision(4));
const results: object[] = [];
const columns = {
  loop: "loop",
  numbers: "numbers",
  javaScript: "JavaScript, ms",
  onGpu: "Belay, ms",
  speedup: "times faster",
  firstCall: "first call, ms",
  compilation: "compilation, ms",
  pipelines: "pipelines",
  executedBy: "executed by",
  isEqual: "equal",
} as const;
const table = new Table({ head: Object.values(columns) });
const start = performance.now();
for (const one of cases()) {
  if (performance.now() - start < 1000 * Number(flags.seconds)) await measure(one);
}
console.log(opened.choice.description);
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, `${JSON.stringify(results, null, 2)}\n`);
device.destroy();
opened.close();

/** Yields the loops that the program's flags ask for, each with new arguments. */
function* cases(): Generator<Case> {
  const kinds = flags.loops.split(",");
  for (const [loop, written] of Object.entries(kinds.includes("doubles") ? doubles : {})) {
    const fallback = loop === "sum" ? "measured" : usual;
    const [parameters, statements] = written;
    const single = parameters.replaceAll("Float64Array", "Float32Array");
    yield { loop, numbers: "f64", ...caseOf(written, "", size * size), fallback };
    yield {
      loop,
      numbers: "f32",
      ...caseOf([single, statements], "precision(f32)", size * size),
      fallback,
    };
  }
  for (const [loop, written] of Object.entries(kinds.includes("found") ? found : {})) {
    for (const length of [4 * size * size - 1, 16 * size * size - 1])
      yield { loop, numbers: String(length), ...caseOf(written, "", length), fallback: usual };
  }
  for (const { name, run, documented } of kinds.includes("programs") ? programs : []) {
    if (name === "chain") continue;
    const path = fileURLToPath(new URL(`../../src/workloads/loops/${name}.ts`, import.meta.url));
    const { iterations, inputs } = documented();
    yield {
      loop: name,
      numbers: String(iterations),
      inOrder: run as Case["inOrder"],
      load: () => loadSpeculated(path, name),
      values: inputs(),
      fallback: usual,
    };
  }
}

/** Returns the function of a loop, and its arguments with arrays of a length. */
function caseOf([parameters, statements]: Written, clauses: string, length: number) {
  const source = `export async function run(${parameters}) {
    "use speculate";
    let total = 0, most = -Infinity, at = -1;
    //#pragma omp for target(webgpu) ${clauses}
    ${statements}
    return [total, most, at];
  }`;
  const path = fileURLToPath(new URL("run.ts", import.meta.url));
  return {
    inOrder: new Function(`return ${eraseTypes(source.replace("export ", ""), path)}`)() as Case["inOrder"],
    load: () => speculatedIn(source, path, "run"),
    values: argumentsOf(parameters, length),
  };
}

/** Measures a loop in JavaScript and in Belay, each on arrays of its own. */
async function measure({ loop, numbers, inOrder, load, values, fallback }: Case): Promise<void> {
  const copies = values.map((value) => (typeof value === "number" ? value : value.slice()));
  let expected: unknown;
  const javaScript = await repeat(async () => {
    expected = await inOrder(...copies);
  });

  const run = await load();
  const residents = values.flatMap((value) => (typeof value === "number" ? [] : [resident(value)]));
  let executed: Statistics | undefined;
  const execute: Executor = async (call) => {
    const done = await speculate(call, { device, fallback });
    executed = done.statistics;
    return done;
  };
  let returned: unknown;
  const call = async () => {
    returned = await run(execute, values as never);
  };
  const first = await compilation.during(() => repeat(call, 1));
  const onGpu = await repeat(call, runs - 1);
  for (const array of residents) await array.read();
  const isEqual =
    isDeepStrictEqual(returned, expected) &&
    values.every((value, at) => isDeepStrictEqual(value, copies[at]));
  for (const array of residents) array.release();
  const { engine, plans, onCpu } = executed ?? { engine: "as written", plans: [], onCpu: 0 };
  const result = {
    loop,
    numbers,
    javaScript: rounded(javaScript),
    onGpu: rounded(onGpu),
    speedup: rounded(javaScript / onGpu),
    firstCall: rounded(first.result),
    compilation: rounded(first.milliseconds),
    pipelines: first.pipelines,
    executedBy: engine === "default" ? `GPU: ${plans.join(", ")}` : engine,
    onCpu,
    isEqual,
  };
  results.push(result);
  table.push(Object.keys(columns).map((column) => String(result[column as keyof typeof columns])));
}

/** Returns arguments for parameters: numbers are the size, and arrays have so many elements. */
function argumentsOf(parameters: string, length: number): (LoopData | number)[] {
  return parameters.split(", ").map((parameter) => {
    const type = parameter.split(": ")[1]!;
    if (type === "number") return size;
    const Elements = {
      Float64Array,
      Float32Array,
      Int32Array,
      Int16Array,
      Int8Array,
      Uint8Array,
    }[type as "Float64Array"];
    const array = new Elements(length);
    const divisor = type.startsWith("Float") ? 997 : 1;
    for (let at = 0; at < length; at++) array[at] = (((at * 7919) % 10007) - 5003) / divisor;
    return array;
  });
}

/** The time in which pipelines of some work were not ready, and their number. */
interface Compilation<Result> {
  readonly result: Result;
  readonly milliseconds: number;
  readonly pipelines: number;
}

/** Observes the pipelines that a device creates asynchronously. */
function observeCompilation(observed: GPUDevice) {
  const create = observed.createComputePipelineAsync.bind(observed);
  let [pending, since, milliseconds, pipelines] = [0, 0, 0, 0];
  observed.createComputePipelineAsync = async (descriptor) => {
    if (pending++ === 0) since = performance.now();
    pipelines++;
    try {
      return await create(descriptor);
    } finally {
      if (--pending === 0) milliseconds += performance.now() - since;
    }
  };
  return {
    async during<Result>(work: () => Promise<Result>): Promise<Compilation<Result>> {
      [milliseconds, pipelines] = [0, 0];
      const result = await work();
      return { result, milliseconds, pipelines };
    },
  };
}

/** Returns the median time of the runs, in milliseconds. */
async function repeat(run: () => unknown, times = runs): Promise<number> {
  const measured: number[] = [];
  for (let at = 0; at < times; at++) {
    const before = performance.now();
    await run();
    measured.push(performance.now() - before);
  }
  return median(measured);
}
