/**
 * Measures loops that compute with doubles, which a GPU computes with integers, beside JavaScript
 * and beside the same loops with `precision(f32)`.
 *
 *   node research/dist/scripts/doubleLoops.js [--size 1024] [--runs 10] [--seconds 60]
 *       [--json FILE]
 *
 * Arrays are resident on the GPU. The first call includes the compilation of all kernels. Each
 * result in doubles is compared with JavaScript's bit for bit. No loop begins after `--seconds`.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import { callOfWords } from "belay-speculate/internal/engine/call/doubles";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { type ResidentArray, resident } from "belay-speculate/internal/engine/transfer/resident";
import type { LoopData, SequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { translate } from "belay-speculate/internal/loops/translate";
import Table from "cli-table3";
import { median } from "simple-statistics";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "1024" },
    runs: { type: "string", default: "10" },
    seconds: { type: "string", default: "60" },
    json: { type: "string" },
  },
});
const size = Number(flags.size);
const runs = Number(flags.runs);

/** The loops: parameters with their types, and the loop itself. */
const loops: Readonly<Record<string, readonly [parameters: string, loop: string]>> = {
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

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const rounded = (value: number) => Number(value.toPrecision(4));
const results: object[] = [];
const table = new Table({
  head: [
    "loop",
    "numbers",
    "JavaScript, ms",
    "first call, ms",
    "GPU, ms",
    "times faster",
    "executed by",
    "equal",
  ],
});
const start = performance.now();
for (const name of Object.keys(loops)) {
  for (const clauses of ["", "precision(f32)"]) {
    if (performance.now() - start < 1000 * Number(flags.seconds)) await measure(name, clauses);
  }
}
console.log(opened.choice.description);
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, `${JSON.stringify(results, null, 2)}\n`);
device.destroy();
opened.close();

async function measure(name: string, clauses: string): Promise<void> {
  const [parameters, loop] = loops[name]!;
  const isSingle = clauses !== "";
  const typed = isSingle ? parameters.replaceAll("Float64Array", "Float32Array") : parameters;
  const source = `export async function ${name}(${typed}) {
    "use speculate";
    let total = 0;
    //#pragma omp for target(webgpu) ${clauses}
    ${loop}
    return total;
  }`;
  const { loops: translated, diagnostics } = translate(source, `${name}.ts`);
  const [one] = translated;
  if (!one) throw new Error(diagnostics.map(({ message }) => message).join("; "));

  const values = Object.fromEntries(
    typed.split(", ").map((parameter) => {
      const [key, type] = parameter.split(": ") as [string, string];
      return [key, type === "number" ? size : filled(type)];
    }),
  );
  const scope = { ...values, total: 0 };
  const evaluated = (code: string): unknown =>
    new Function(...Object.keys(scope), `return ${code};`)(...Object.values(scope));
  const mapped = (codes: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(codes).map(([key, code]) => [key, evaluated(code) as number]));
  const arrays = Object.fromEntries(
    Object.entries(one.host.arrays).map(([key, code]) => [key, evaluated(code) as LoopData]),
  );
  const sequential = new Function(`return ${one.sequential};`)() as SequentialLoop;
  const [inputs, carried] = [mapped(one.host.inputs), mapped(one.host.carried)];
  const [first, step, count] = [one.host.first, one.host.step, one.host.count].map(evaluated) as [
    number,
    number,
    number,
  ];

  const copies = Object.fromEntries(Object.entries(arrays).map(([key, array]) => [key, array.slice()]));
  const kept = { ...carried };
  const javaScript = await repeat(() => {
    Object.assign(kept, carried);
    sequential(copies, { ...inputs, $first: first, $step: step }, kept, {}, 0, count);
  });
  const residents = Object.fromEntries(
    Object.entries(arrays).map(([key, array]) => [key, resident(array)]),
  ) as Record<string, ResidentArray>;
  const call = () =>
    speculate(
      {
        loop: one.loop,
        sequential,
        arrays: residents,
        inputs,
        carried,
        reductions: {},
        first,
        step,
        count,
        doubles: callOfWords,
      },
      { device, fallback: name === "sum" ? "measured" : "never" },
    );
  const before = performance.now();
  let done = await call();
  const firstCall = performance.now() - before;
  const onGpu = await repeat(async () => {
    done = await call();
  });
  for (const array of Object.values(residents)) await array.read();
  const isEqual =
    Object.entries(arrays).every(([key, array]) => hasBits(array, copies[key]!)) &&
    Object.entries(kept).every(([key, value]) => Object.is(value, done.carried[key]));
  for (const array of Object.values(residents)) array.release();
  const { engine, plans, onCpu } = done.statistics;
  const result = {
    loop: name,
    numbers: isSingle ? "f32" : "f64",
    javaScript: rounded(javaScript),
    firstCall: rounded(firstCall),
    onGpu: rounded(onGpu),
    speedup: rounded(javaScript / onGpu),
    executedBy: engine === "sequential" ? "CPU" : `GPU: ${plans.join(", ")}`,
    onCpu,
    isEqual,
  };
  results.push(result);
  const { onCpu: _, ...row } = result;
  table.push(Object.values(row).map(String));
}

function filled(type: string): LoopData {
  const Elements = { Float64Array, Float32Array, Uint8Array }[type as "Float64Array"];
  const array = new Elements(size * size);
  for (let at = 0; at < array.length; at++) array[at] = ((at * 7919) % 10007) / 997;
  return array;
}

function hasBits(one: LoopData, other: LoopData): boolean {
  const [a, b] = [one, other].map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength),
  );
  return a!.equals(b!);
}

/** Returns the median time of the runs, in milliseconds. */
async function repeat(run: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < runs; at++) {
    const before = performance.now();
    await run();
    times.push(performance.now() - before);
  }
  return median(times);
}
