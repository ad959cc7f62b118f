/**
 * Compares the reference executor with what the conformance suite of WebGPU expects of expressions.
 *
 *   node research/dist/scripts/conformanceSuite.js FOLDER [--only REGEXP] [--seconds 3]
 *       [--json FILE]
 *
 * The folder has a copy of https://github.com/gpuweb/cts. Its test files run with a device whose
 * dispatches the executor executes. Inputs come from storage buffers, and vectors of scalar cases
 * are left out. A file starts no further test after `--seconds`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { f16Format, f32Format } from "belay-gpu/internal/reference/floatFormat";
import { createReference, createReferenceBuffer, type ReferenceBuffer } from "belay-gpu/reference";
import { build } from "esbuild";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "3" },
    json: { type: "string" },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error("name the folder of the conformance suite");
const expressions = join(folder, "src/webgpu/shader/execution/expression");

/**
 * The cases of a file by their outcome. Two bounds are the same within a unit in the last place, or
 * 1 % of the suite's interval.
 */
interface Counts {
  /** The executor has the interval of the suite, or the same integers. */
  same: number;
  /** The executor allows more. */
  wider: number;
  /** The executor allows less: a device may pass the suite and differ from the executor. */
  narrower: number;
  /** Neither bounds the number. */
  open: number;
  /** Only the suite bounds the number. */
  unknown: number;
  undecided: number;
  /** Tests that the executor or this script cannot run. */
  notRun: number;
}

/** An interval of the suite, or of the executor. */
interface Interval {
  readonly begin: number;
  readonly end: number;
}

/** A number, vector or matrix of the suite. */
interface SuiteValue {
  readonly value?: number | boolean;
  readonly elements?: readonly (SuiteValue | readonly SuiteValue[])[];
  readonly type: { readonly kind: string };
}
/** An expectation of the suite: intervals, a value, or a choice. */
type Expectation = Interval | readonly (Interval | readonly Interval[])[] | { readonly kind?: string };
interface SuiteCase {
  readonly input: unknown;
  readonly expected: Expectation & { readonly data?: readonly Expectation[] };
}

/** A test of the suite. */
interface SuiteTest {
  readonly name: string;
  params?: unknown;
  run?: (t: unknown) => unknown;
}

class Skipped extends Error {}
class UndecidedBatch extends Error {}

/** The lower and upper bounds of the results of a dispatch, and the bytes without bounds. */
interface Results {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
  readonly unknown: ReadonlySet<number>;
}

/** The state of the test that runs. */
const state = {
  counts: noCounts(),
  output: createReferenceBuffer(new Uint8Array()),
  results: undefined as Results | undefined,
  undecided: undefined as string | undefined,
};
const examples: string[] = [];

function noCounts(): Counts {
  return { same: 0, wider: 0, narrower: 0, open: 0, unknown: 0, undecided: 0, notRun: 0 };
}

/** The functions that the files of the suite call in place of its own. */
const hooks = {
  newGroup() {
    const tests: SuiteTest[] = [];
    const test = (name: string) => {
      const each: SuiteTest = { name };
      tests.push(each);
      const chain: Record<string, (given?: unknown) => unknown> = {};
      for (const method of ["specURL", "desc", "batch", "beforeAllSubcases", "unimplemented"])
        chain[method] = () => chain;
      for (const method of ["params", "paramsSubcasesOnly", "paramsSimple"])
        chain[method] = (given) => {
          each.params = given;
          return chain;
        };
      chain.fn = (given) => {
        each.run = given as NonNullable<SuiteTest["run"]>;
        return chain;
      };
      return chain;
    };
    return { tests, test };
  },
  /** The number of cases of a dispatch. */
  batchSize: 512,
  compare(
    { input, expected }: SuiteCase,
    matches: (value: SuiteValue) => boolean,
    read: (bytes: Uint8Array) => SuiteValue,
    offset: number,
    stride: number,
  ): { readonly matched: true } {
    state.results ??= resultsOf(state.output, isHalf(scalarsOf(read(state.output.bytes))[0]!));
    const { low, high, unknown } = state.results;
    const isUnknown = Array.from({ length: stride / 2 }, (_, i) => offset + 2 * i).some((at) =>
      unknown.has(at),
    );
    const bounds = isUnknown ? undefined : ([read(low), read(high)] as const);
    const outcome = outcomeOf(expected, matches, bounds);
    state.counts[outcome]++;
    if (outcome === "narrower" && examples.length < 20)
      examples.push(`${input}: the executor has ${bounds?.join(" to ")}`);
    return { matched: true };
  },
};
Object.assign(globalThis, {
  hooks,
  GPUPipelineError: Error,
  GPUBufferUsage: { COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 },
});

function outcomeOf(
  expected: Expectation,
  matches: (value: SuiteValue) => boolean,
  bounds: readonly [low: SuiteValue, high: SuiteValue] | undefined,
): keyof Counts {
  const intervals = intervalsOf(expected);
  if (!bounds) {
    const isOpen = intervals?.some(({ begin, end }) => !Number.isFinite(begin) || !Number.isFinite(end));
    return isOpen ? "open" : "unknown";
  }
  if (!intervals) return bounds.every(matches) ? "same" : "narrower";
  const [lows, highs] = bounds.map(scalarsOf) as [SuiteValue[], SuiteValue[]];
  let isWider = false;
  for (const [i, { begin, end }] of intervals.entries()) {
    const ends = [Number(lows[i]!.value), Number(highs[i]!.value)];
    const [from, to] = [Math.min(...ends), Math.max(...ends)];
    const { ulp } = isHalf(lows[i]!) ? f16Format : f32Format;
    const small = (x: number) => Math.max(0.01 * (end - begin), 1.01 * ulp(x));
    if (from - begin > small(from) || end - to > small(to)) return "narrower";
    isWider ||= begin - from > small(from) || to - end > small(to);
  }
  return isWider ? "wider" : "same";
}

/** Returns the intervals of numbers, of which several choices are joined. */
function intervalsOf(expected: Expectation): Interval[] | undefined {
  if ("begin" in expected) return [expected];
  if (Array.isArray(expected)) return expected.flat() as Interval[];
  const choices = (expected as { readonly data?: readonly Expectation[] }).data?.map(intervalsOf);
  const [first] = choices ?? [];
  if (!first || choices!.some((each) => each?.[0]?.begin === undefined)) return undefined;
  return first.map((_, i) => ({
    begin: Math.min(...choices!.map((each) => each![i]!.begin)),
    end: Math.max(...choices!.map((each) => each![i]!.end)),
  }));
}

const isHalf = ({ type }: SuiteValue): boolean => type.kind === "f16";

function scalarsOf(value: SuiteValue): SuiteValue[] {
  return value.elements ? value.elements.flat().flatMap((each) => scalarsOf(each as SuiteValue)) : [value];
}

/** Returns the bounds of all numbers in a buffer. */
function resultsOf(buffer: ReferenceBuffer, hasHalves: boolean): Results {
  const [low, high] = [buffer.bytes.slice(), buffer.bytes.slice()];
  const unknown = new Set<number>();
  const [lows, highs] = [new DataView(low.buffer), new DataView(high.buffer)];
  for (let at = 0; at < low.length; at += 2) {
    const range = buffer.rangeAt(at);
    if (!range) continue;
    if (Number.isNaN(range.low)) unknown.add(at);
    else if (hasHalves) {
      lows.setUint16(at, f16Format.toBits(range.low), true);
      highs.setUint16(at, f16Format.toBits(range.high), true);
    } else {
      lows.setFloat32(at, range.low, true);
      highs.setFloat32(at, range.high, true);
    }
  }
  return { low, high, unknown };
}

/** Returns the fixture of a test, on whose device the executor executes. */
function fixtureOf(params: unknown) {
  const bufferOf = (bytes: Uint8Array): ReferenceBuffer => {
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    return createReferenceBuffer(padded);
  };
  type Entry = { readonly binding: number; readonly resource: { readonly buffer: ReferenceBuffer } };
  let code = "";
  let entries: readonly Entry[] = [];
  const execute = () => {
    const kernel = createReference({ source: code, entryPoint: "main" });
    if ("construct" in kernel) throw new Error(`the executor does not have ${kernel.construct}`);
    const buffers = entries.map(({ binding, resource }) => ({ group: 0, binding, buffer: resource.buffer }));
    state.undecided = kernel.run({ workgroups: [1, 1, 1], buffers }).undecided?.reason;
  };
  const skip = () => {
    throw new Skipped();
  };
  const pass = {
    setPipeline: (pipeline: { readonly code: string }) => {
      code = pipeline.code;
    },
    setBindGroup: (_: number, group: readonly Entry[]) => {
      entries = group;
    },
    dispatchWorkgroups() {},
    end() {},
  };
  const createComputePipeline = ({ compute }: { readonly compute: { readonly module: string } }) => ({
    code: compute.module,
    getBindGroupLayout() {},
  });
  return {
    params,
    skip,
    skipIf: (isSkipped: boolean) => isSkipped && skip(),
    skipIfDeviceDoesNotHaveFeature() {},
    skipIfLanguageFeatureNotSupported() {},
    hasLanguageFeature: () => true,
    fail(message: string) {
      throw new Error(message);
    },
    createBufferTracked: ({ size }: { readonly size: number }) => bufferOf(new Uint8Array(size)),
    makeBufferWithContents: bufferOf,
    queue: { submit: execute, async onSubmittedWorkDone() {} },
    device: {
      limits: { maxUniformBufferBindingSize: 2 ** 16, maxStorageBufferBindingSize: 2 ** 24 },
      features: new Set(["shader-f16"]),
      createShaderModule: (module: { readonly code: string }) => module.code,
      createComputePipeline,
      createComputePipelineAsync: async (descriptor: never) => createComputePipeline(descriptor),
      createBindGroup: (descriptor: { readonly entries: readonly Entry[] }) => descriptor.entries,
      createCommandEncoder: () => ({ beginComputePass: () => pass, finish() {} }),
    },
    expectGPUBufferValuesPassCheck(buffer: ReferenceBuffer, check: (bytes: Uint8Array) => void) {
      if (state.undecided !== undefined && hooks.batchSize > 1) throw new UndecidedBatch();
      if (state.undecided !== undefined) {
        state.counts.undecided++;
        return;
      }
      state.output = buffer;
      state.results = undefined;
      check(buffer.bytes);
    },
  };
}

/** The replaced texts of files of the suite: each has to be there. */
const replacements: Readonly<Record<string, readonly (readonly [text: string, other: string])[]>> = {
  "expression.ts": [
    [
      "toComparator(c.expected).compare(got)",
      `(globalThis as any).hooks.compare(c, v => toComparator(c.expected).compare(v).matched,
        bytes => resultType.read(bytes, caseIdx * outputStride), caseIdx * outputStride, outputStride)`,
    ],
    ["if (batch_size) {\n      return batch_size;", "{\n      return (globalThis as any).hooks.batchSize;"],
  ],
  "compare.ts": [["if (getIsBuildingDataCache())", ""]],
  "test_group.ts": [
    [
      "export { makeTestGroup } from '../internal/test_group.js';",
      "export const makeTestGroup = () => (globalThis as any).hooks.newGroup();",
    ],
  ],
};

interface Suite {
  readonly groups: readonly (readonly [file: string, group: { readonly tests: readonly SuiteTest[] }])[];
  readonly unit: unknown;
  readonly casesOf: (
    builder: unknown,
    filter: null,
  ) => Iterable<readonly [object, Iterable<object> | undefined]>;
}

/** Bundles the files that run expressions, and imports the bundle. */
async function importSuite(): Promise<Suite> {
  const excluded = /texture|subgroup|quad|workgroupUniformLoad|\/a[fi]_|matrix_matrix|dpd|fwidth/;
  const files = readdirSync(expressions, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".spec.ts") && !excluded.test(file) && new RegExp(flags.only).test(file))
    .filter((file) => readFileSync(join(expressions, file), "utf8").includes("run("))
    .sort();
  const imports = files.map((file, i) => `import { g as g${i} } from "./${file}";`);
  const groups = files.map((file, i) => `["${file}", g${i}]`);
  const contents = `${imports.join("\n")}
    export const groups = [${groups.join()}];
    export { builderIterateCasesWithSubcases as casesOf, kUnitCaseParamsBuilder as unit }
      from "../../../../common/framework/params_builder.ts";`;
  const outfile = join(await mkdtemp(join(tmpdir(), "suite-")), "suite.mjs");
  await build({
    stdin: { contents, resolveDir: expressions, loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    outfile,
    plugins: [
      {
        name: "suite",
        setup({ onLoad }) {
          onLoad({ filter: /webgpu.gpu_test\.ts$/ }, () => ({
            contents: "export class AllFeaturesMaxLimitsGPUTest {} export class GPUTest {}",
          }));
          onLoad({ filter: /(expression|compare|framework.test_group)\.ts$/ }, ({ path }) => {
            let text = readFileSync(path, "utf8");
            for (const [old, other] of replacements[basename(path)] ?? []) {
              if (basename(path) !== "compare.ts" && !text.includes(old))
                throw new Error(`${path} lacks ${old}`);
              text = text.replace(old, other);
            }
            return { contents: text, loader: "ts" };
          });
        },
      },
    ],
  });
  return import(pathToFileURL(outfile).href);
}

/** Returns the parameters of the cases of a test that this script runs. */
function casesOf({ unit, casesOf: iterate }: Suite, { params }: SuiteTest): object[] {
  const made = typeof params === "function" ? params(unit) : params;
  const isList = made !== undefined && Symbol.iterator in (made as object);
  const all = !made
    ? [{}]
    : isList
      ? [...(made as Iterable<object>)]
      : [...iterate(made, null)].flatMap(([each, parts]) =>
          parts ? [...parts].map((part) => ({ ...each, ...part })) : [each],
        );
  return all.filter((each) => {
    const { inputSource = "storage_r", vectorize } = each as { inputSource?: string; vectorize?: number };
    return inputSource === "storage_r" && vectorize === undefined;
  });
}

/** Runs a case of a test, and each of its inputs alone if one of them makes all undecided. */
async function runCase(test: SuiteTest, params: object): Promise<void> {
  const before = { ...state.counts };
  for (const batchSize of [512, 1]) {
    hooks.batchSize = batchSize;
    try {
      await test.run!(fixtureOf(params));
      return;
    } catch (error) {
      if (error instanceof Skipped) return;
      Object.assign(state.counts, before);
      if (error instanceof UndecidedBatch) continue;
      state.counts.notRun++;
      if (examples.length < 20) examples.push(`${test.name}: ${messageOf(error)}`);
      return;
    }
  }
}

const suite = await importSuite();
const rows: { readonly file: string; readonly counts: Counts }[] = [];
for (const [file, { tests }] of suite.groups) {
  state.counts = noCounts();
  const end = performance.now() + 1000 * Number(flags.seconds);
  for (const test of tests.filter(({ name, run }) => run && !name.includes("abstract")))
    for (const params of casesOf(suite, test)) if (performance.now() < end) await runCase(test, params);
  rows.push({ file, counts: state.counts });
}
const total = noCounts();
const names = Object.keys(total) as (keyof Counts)[];
for (const { counts } of rows) for (const name of names) total[name] += counts[name];
const lines = [...rows, { file: "all", counts: total }].map(({ file, counts }) => [
  file,
  ...names.map((name) => String(counts[name])),
]);
console.log(alignColumns([["file", ...names], ...lines]));
for (const example of examples) console.error(example);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ total, rows, examples }, null, 1));
