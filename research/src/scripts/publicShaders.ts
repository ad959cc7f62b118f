/**
 * Counts the compute shaders in folders that Dawn accepts, and those of them that Belay accepts and
 * protects. Dawn also judges the code that `protect` emits.
 *
 *     npx tsc -b tsconfig.build.json
 *     node research/dist/scripts/publicShaders.js FOLDER... [--all] [--skip PATTERN] [--every N]
 *       [--json FILE]
 *
 * Without `--all`, only the default policy protects each shader. With it, every flavor, channel,
 * pairing, check and memory code does. The judge is Dawn's null backend with all its features,
 * which validates without a GPU. It runs in a process of its own, because it aborts now and then.
 */
import { type ChildProcess, fork } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { configurationsFor, describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { memoryCodes } from "belay-gpu/internal/ecc/scheme";
import { parse, print, resolve } from "belay-gpu/wgsl";
import { createGpu } from "belay-node/internal/gpu";

/** The device that kernels are protected for, with limits that most GPUs have. */
const device: CompilerOptions = {
  features: ["subgroups", "shader-f16"],
  subgroupMaxSize: 32,
  limits: {
    maxComputeInvocationsPerWorkgroup: 1024,
    maxComputeWorkgroupSizeX: 1024,
    maxComputeWorkgroupStorageSize: 32768,
    maxStorageBuffersPerShaderStage: 10,
  },
};

/** The findings about one file. */
interface Findings {
  readonly file: string;
  /** The compute entry points; none if Dawn rejects the file. */
  readonly kernels: number;
  /** The reason why Belay does not parse, type or print the file, if there is one. */
  readonly refused?: string;
  /** The number of kernels that need more workgroup memory than the device has, by Dawn's count. */
  readonly impossible: number;
  /** The reasons for leaving other kernels alone, by the kernel's name. */
  readonly alone: Readonly<Record<string, readonly string[]>>;
  /** Dawn's message about each emitted module that it rejects, by configuration. */
  readonly rejected: Readonly<Record<string, string>>;
  /** The number of different modules that were emitted. */
  readonly emitted: number;
}

/** Returns the options of each configuration to try, by name; the first is the default policy. */
function configurations(all: boolean): Record<string, CompilerOptions> {
  const auto: CompilerOptions = { ...device, redundancy: "auto" };
  if (!all) return { auto };
  return {
    auto,
    "auto store": { ...auto, check: "store" },
    ...Object.fromEntries(
      configurationsFor(device.features!).map((each) => [
        describeConfiguration(each),
        { ...device, ...each } satisfies CompilerOptions,
      ]),
    ),
    ...Object.fromEntries(
      memoryCodes.map((memory) => [memory, { ...device, redundancy: "none", memory } as const]),
    ),
    "auto secded128": { ...auto, memory: "secded128" },
    "inter detect": { ...device, redundancy: "inter", memory: "detect" },
    "auto checksum": { ...auto, memory: "checksum" },
    "auto with fault sites": { ...auto, injectFaults: true, strikeMachinery: true },
  };
}

/** A judge of modules, or of a kernel of a module. */
type Judge = (code: string, entryPoint?: string) => Promise<string | null>;

async function startJudge(): Promise<Judge> {
  const gpu = await createGpu(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error("Dawn has no null backend");
  const requiredFeatures = [...adapter.features] as GPUFeatureName[];
  const judge = await adapter.requestDevice({ requiredFeatures });
  return async (code, entryPoint) => {
    judge.pushErrorScope("validation");
    try {
      const module = judge.createShaderModule({ code });
      if (entryPoint !== undefined)
        judge.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    } catch (error) {
      await judge.popErrorScope();
      return messageOf(error);
    }
    return (await judge.popErrorScope())?.message ?? null;
  };
}

/** Returns a text as Dawn accepts it. Some programs add the directive for subgroups themselves. */
async function completed(text: string, judge: Judge): Promise<string | undefined> {
  for (const source of [text, `enable subgroups;\n${text}`])
    if ((await judge(source)) === null) return source;
  return undefined;
}

/** Returns the workgroup memory that a kernel needs, as far as Dawn complains about it. */
const workgroupBytes = (message: string | null) =>
  Number(/workgroup storage \((\d+) bytes\)/.exec(message ?? "")?.[1] ?? 0);

async function findingsOf(file: string, judge: Judge, all: boolean): Promise<Findings | undefined> {
  const text = readFileSync(file, "utf8");
  if (!/@\s*compute/.test(text)) return undefined;
  const source = await completed(text, judge);
  if (source === undefined) return undefined;
  const none = { file, impossible: 0, alone: {}, rejected: {}, emitted: 0 };
  const parsed = parse(source);
  const program = resolve(parsed.module);
  const [error] = [...parsed.diagnostics, ...program.diagnostics].filter(
    ({ severity }) => severity === "error",
  );
  const kernels = parsed.module.declarations.filter(
    (each) => each.kind === "function" && each.attributes.some(({ name }) => name === "compute"),
  ).length;
  if (error) return { ...none, kernels: kernels || 1, refused: `${error.code} ${error.message}` };
  if (kernels === 0) return undefined;
  const printed = await judge(print(parsed.module));
  if (printed !== null) return { ...none, kernels, refused: `printed: ${printed}` };
  const verdicts = new Map<string, string | null>([[source, null]]);
  const rejected: Record<string, string> = {};
  const alone: Record<string, string[]> = {};
  let impossible = 0;
  for (const [name, options] of Object.entries(configurations(all))) {
    let result: ReturnType<typeof protect>;
    try {
      result = protect(source, options);
    } catch (exception) {
      rejected[name] = `exception: ${messageOf(exception)}`;
      continue;
    }
    const { code, entryPoints, diagnostics } = result;
    if (!verdicts.has(code)) verdicts.set(code, await judge(code));
    const verdict = verdicts.get(code);
    if (verdict) rejected[name] = verdict;
    if (name !== "auto") continue;
    for (const { name: kernel, redundancy } of entryPoints) {
      if (redundancy !== "none") continue;
      if (workgroupBytes(await judge(source, kernel)) > device.limits!.maxComputeWorkgroupStorageSize!)
        impossible++;
      else
        alone[kernel] = diagnostics
          .filter((each) => each.entryPoints?.includes(kernel) ?? true)
          .map((each) => `${each.code} ${each.message}`);
    }
  }
  return { file, kernels, impossible, alone, rejected, emitted: verdicts.size - 1 };
}

async function work(all: boolean): Promise<void> {
  const judge = await startJudge();
  let last: Promise<unknown> = Promise.resolve();
  process.on("message", (file: string) => {
    last = last.then(async () => process.send!((await findingsOf(file, judge, all)) ?? null));
  });
  process.on("disconnect", () => process.exit(0));
  process.send!(null);
}

/** Judges files in one process at a time, and starts another one if it ends or hangs. */
async function judgeAll(files: readonly string[], all: boolean): Promise<Findings[]> {
  const found: Findings[] = [];
  let worker: ChildProcess | undefined;
  const ask = (message?: string): Promise<Findings | null | "ended"> =>
    new Promise((settle) => {
      const ended = () => settle("ended");
      worker!.once("exit", ended);
      worker!.once("message", (answer) => {
        worker!.off("exit", ended);
        settle(answer as Findings | null);
      });
      if (message !== undefined) worker!.send(message);
    });
  for (const [i, file] of files.entries()) {
    if (i % 2000 === 0) {
      worker?.disconnect();
      worker = undefined;
    }
    for (let tries = 0; tries < 2; tries++) {
      if (!worker) {
        worker = fork(fileURLToPath(import.meta.url), ["--worker", ...(all ? ["--all"] : [])], {
          stdio: ["ignore", "ignore", "inherit", "ipc"],
        });
        await ask();
      }
      const answer = await ask(file);
      if (answer !== "ended") {
        if (answer) found.push(answer);
        break;
      }
      worker = undefined;
      if (tries === 1)
        found.push({
          file,
          kernels: 1,
          refused: "the process ended",
          impossible: 0,
          alone: {},
          rejected: {},
          emitted: 0,
        });
    }
    if (i % 200 === 199)
      process.stderr.write(`${i + 1} of ${files.length} files, ${found.length} accepted\n`);
  }
  worker?.disconnect();
  return found;
}

/** Returns a message without the names and numbers of one shader. */
const general = (message: string) =>
  message
    .split("\n")[0]!
    .replace(/[`"'][^`"']*[`"']/g, "…")
    .replace(/\d+/g, (digits, at) => (at < 9 ? digits : "N"));

/** Returns rows of reasons with their counts, the most frequent first. */
function counted(reasons: readonly string[]): string[][] {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([reason, count]) => [String(count), reason]);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      all: { type: "boolean", default: false },
      json: { type: "string" },
      skip: { type: "string" },
      every: { type: "string", default: "1" },
      worker: { type: "boolean", default: false },
    },
  });
  if (values.worker) return work(values.all);
  const rows: string[][] = [
    ["folder", "shaders", "refused", "kernels", "impossible", "protected", "emitted", "rejected"],
  ];
  const all: Findings[] = [];
  for (const folder of positionals) {
    const skip = values.skip === undefined ? undefined : new RegExp(values.skip);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((file) => join(resolvePath(folder), file))
      .filter((file) => file.endsWith(".wgsl") && !skip?.test(file))
      .sort()
      .filter((_, i) => i % Number(values.every) === 0);
    const found = await judgeAll(files, values.all);
    all.push(...found);
    rows.push([folder, ...totals(found)]);
  }
  rows.push(["all", ...totals(all)]);
  console.log(alignColumns(rows));
  const reasons = {
    refused: all.flatMap(({ refused }) => (refused ? [general(refused)] : [])),
    "left alone": all.flatMap(({ alone }) =>
      Object.values(alone).flatMap((each) => [...new Set(each.map(general))]),
    ),
    rejected: all.flatMap(({ rejected }) =>
      Object.entries(rejected).map(([name, message]) => `${name}: ${general(message)}`),
    ),
  };
  for (const [title, list] of Object.entries(reasons))
    if (list.length > 0) console.log(`\n${title}\n${alignColumns(counted(list))}`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(all, null, 1));
}

function totals(found: readonly Findings[]): string[] {
  const sum = (of: (each: Findings) => number) => String(found.reduce((n, each) => n + of(each), 0));
  return [
    String(found.length),
    sum(({ refused }) => Number(refused !== undefined)),
    sum(({ kernels }) => kernels),
    sum(({ impossible }) => impossible),
    sum(({ kernels, impossible, alone, refused }) =>
      refused ? 0 : kernels - impossible - Object.keys(alone).length,
    ),
    sum(({ emitted }) => emitted),
    sum(({ rejected }) => Object.keys(rejected).length),
  ];
}

await main();
