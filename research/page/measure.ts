/** The measurement of `belay bench programs` in a page. */
import { requestFullDevice } from "belay-gpu";
import { modelPrograms } from "../src/bench/programs/model.ts";
import {
  comparedPolicies,
  isSound,
  measurePrograms,
  type PolicyName,
  type ProgramsOptions,
  type ProgramsResult,
} from "../src/bench/programs/programs.ts";
import { samplePrograms } from "../src/bench/programs/samples.ts";
import { tensorflowPrograms } from "../src/bench/programs/tensorflow.ts";
import { threePrograms } from "../src/bench/programs/three.ts";
import { typegpuPrograms } from "../src/bench/programs/typegpu.ts";
import { type Shape, shapes } from "../src/workloads/model/shape.ts";
import { tensorflow, three } from "./libraries.mjs";

/** The options that an address of the page can have, as texts. */
export interface PageOptions {
  /** The numbers in each buffer; 65,536 by default. */
  readonly elements?: string;
  readonly runs?: string;
  readonly warmup?: string;
  readonly calls?: string;
  /** The name of the transformer's shape; `small` by default. */
  readonly model?: string;
  /** Names of programs, with commas between. */
  readonly only?: string;
  /** Names of policies, with commas between. */
  readonly policies?: string;
}

/** The results of a page. */
export interface PageResult extends ProgramsResult {
  /** The adapter of the page, in the browser's words. Some browsers hide the device. */
  readonly adapter: string;
}

interface PageCalls extends Pick<ProgramsOptions, "progress"> {
  readonly save: (sofar: PageResult) => Promise<void>;
}

/** Measures programs with the adapter of the page. Calls `save` with the results so far. */
export async function measureInPage(
  options: PageOptions,
  { progress, save }: PageCalls,
): Promise<PageResult> {
  const { elements = "65536", runs = "9", warmup = "20", calls = "1000", only, policies } = options;
  const numbers = Number(elements);
  const adapter = await requestAdapter();
  const all = [
    ...(await tensorflowPrograms(numbers, undefined, tensorflow)),
    ...typegpuPrograms(numbers),
    ...threePrograms(numbers, three),
    ...samplePrograms("small"),
    ...modelPrograms(
      shapeNamed(options.model ?? "small"),
      adapter.features.has("shader-f16") ? ["f32", "f16"] : ["f32"],
    ),
  ];
  const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info;
  const words = [vendor, architecture, device, description, isFallbackAdapter && "software"].filter(Boolean);
  const named = (result: ProgramsResult): PageResult => ({ adapter: words.join(" "), ...result });
  const result = await measurePrograms({
    // An adapter object is good for one device.
    newDevice: async () => requestFullDevice(await requestAdapter()),
    programs: all.filter(({ name }) => !only || only.split(",").includes(name)),
    policies: (policies ?? "default,throw,unprotected").split(",").map(policyNamed),
    runs: Number(runs),
    warmup: Number(warmup),
    calls: Number(calls),
    progress,
    save: (sofar) => save(named(sofar)),
  });
  return named(result);
}

async function requestAdapter(): Promise<GPUAdapter> {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("this browser offers no WebGPU adapter");
  return adapter;
}

function shapeNamed(name: string): Shape {
  if (Object.hasOwn(shapes, name)) return shapes[name as keyof typeof shapes];
  throw new Error(`there is no model ${name}: take one of ${Object.keys(shapes).join(", ")}`);
}

function policyNamed(name: string): PolicyName {
  if (Object.hasOwn(comparedPolicies, name)) return name as PolicyName;
  throw new Error(`there is no policy ${name}: take some of ${Object.keys(comparedPolicies).join(", ")}`);
}

/** Returns the adapter, and the lines of a table with the medians of wall time. */
export function linesOf({ adapter, programs, host }: PageResult): string[] {
  const lines = programs.map((program) => {
    const { name, failure, plain, policies } = program;
    if (failure !== undefined) return `${name}: ${failure}`;
    const ratios = policies.map(({ policy, ratio }) => `${policy} ${ratio.toFixed(2)}x`);
    const verdict = isSound(program) ? "right" : "WRONG";
    return [name.padEnd(20), verdict, `${plain.median.toFixed(2)} ms`, ...ratios].join("  ");
  });
  const calls = host.map(({ device, dispatch, dispatchInPass }) =>
    [
      `a dispatch on ${device}:`,
      `${dispatch.toFixed(1)} us in a submission of its own,`,
      `${dispatchInPass.toFixed(1)} us in a pass`,
    ].join(" "),
  );
  return [`adapter: ${adapter}`, ...lines, ...calls];
}
