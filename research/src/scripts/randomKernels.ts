/**
 * Compares random kernels on a device with the reference executor. Half of them have floats that
 * each operation rounds.
 *
 *   node research/dist/scripts/randomKernels.js [--seed 1] [--seconds 60] [--jobs 1]
 *       [--kernels 1000000] [--text first] [--attribute] [--only SEED,SEED] [--cut 4] [--out FILE]
 *
 * The processes of `--jobs` share the kernels. With `--text second`, the device runs the second
 * text that `diversity` gives a kernel. With `--text fields`, it runs right shifts as
 * `extractBits`, which is wrong on some drivers. `--only` tries the kernels of some seeds.
 * `--attribute` names the rewritings of a second text without which its results agree.
 *
 * A kernel whose results differ is tried again with an initializer for each variable. Some drivers
 * forget that variables in loops start at zero. Other differences are cut down, for `--cut` seconds
 * each. Their disputes are in the file, for `belay blame`, and the script ends with an error. With
 * another text, it also says what the device computes of the first text.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { guardProcess } from "belay-cli/internal/shared/workloads/guard";
import { blame, type Testimony } from "belay-gpu/internal/blame/blame";
import { otherText } from "belay-gpu/internal/blame/otherText";
import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine, type KernelCandidate } from "belay-gpu/internal/qualify/examine";
import type { Dispute, KernelCase } from "belay-gpu/internal/qualify/qualification";
import { trialsOf } from "belay-gpu/internal/qualify/trials";
import { rewriteTyped } from "belay-gpu/internal/transforms/diversity/bodies";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { quote } from "belay-gpu/internal/wgsl/quote";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { randomBelow } from "../workloads/random.ts";
import { runJobs } from "./faultFree/jobs.ts";
import { type Floats, inputsOf, randomKernel } from "./faultFree/kernels.ts";

guardProcess();
const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "60" },
    jobs: { type: "string", default: "1" },
    kernels: { type: "string", default: "1000000" },
    text: { type: "string", default: "first" },
    attribute: { type: "boolean", default: false },
    only: { type: "string" },
    cut: { type: "string", default: "4" },
    out: { type: "string" },
  },
});
const [seed, seconds, jobs, most, cut] = (["seed", "seconds", "jobs", "kernels", "cut"] as const).map(
  (flag) => Number(flags[flag]),
) as [number, number, number, number, number];
/** Returns a kernel whose right shifts by an amount of run time are fields of bits. */
function withFields(source: string): string {
  const program = resolve(parse(source).module);
  const module = rewriteTyped(program.module, (node, mapped) =>
    node.kind === "binary" &&
    mapped.kind === "binary" &&
    node.operator === ">>" &&
    program.stageOf(node.right) === "runtime"
      ? quote(node.span).expression`extractBits(${mapped.left}, (${mapped.right}) & 31u, 32u)`
      : mapped,
  );
  return print(module);
}

/** Returns the text that the device runs of a kernel, if it is another one. */
const texts: Readonly<Record<string, ((source: string) => string | undefined) | undefined>> = {
  second: otherText,
  fields: withFields,
};
const textFor = texts[flags.text];
if (textFor === undefined && flags.text !== "first") throw new Error("--text is first, second or fields");
const only = flags.only?.split(",").map(Number);
const end = performance.now() + 1000 * seconds;
/** The kernels in work at the same time, and the most differences that are cut down. */
const concurrent = 4;
const mostCutDown = 3;

/** The number of kernels with each outcome, and the words that were compared. */
type Counts = Record<KernelCase["outcome"] | "words", number>;

interface Difference {
  readonly floats: Floats;
  readonly seed: number;
  readonly reason: string;
  /** True if the results agree once all variables have initializers. */
  readonly isInitializer: boolean;
  readonly culprit?: string;
  /** The outcome of the first text on the device, if it ran the second one. */
  readonly firstText?: Testimony;
  /** The changes of the second text with which the results agree. */
  readonly agreesWith?: readonly string[];
  readonly dispute?: Dispute;
}

interface Result {
  readonly adapter: string;
  readonly counts: Record<Floats, Counts>;
  /** The reasons for which kernels are undecided or not checked. */
  readonly reasons: Record<string, number>;
  readonly differences: Difference[];
}

const noCounts = (): Counts => ({
  agrees: 0,
  undecided: 0,
  differs: 0,
  failed: 0,
  "not-checked": 0,
  words: 0,
});

/** The operations that rewritings of integers stand for. */
const operations: Readonly<Record<string, string>> = {
  add: "a + b",
  subtract: "a - b",
  multiply: "a * b",
  divide: "a / b",
  remainder: "a % b",
  shift_left: "a << n",
  shift_right: "a >> n",
  and: "a & b",
  or: "a | b",
  xor: "a ^ b",
  min: "min(a, b)",
  max: "max(a, b)",
  select: "select(a, b, condition)",
};

/** Other right shifts of u32: the driver's mistake may depend on their form. */
const rightShifts: Readonly<Record<string, string>> = {
  field: "extractBits(a, n & 31u, 32u | belay_zero)",
  "field in range": "extractBits(a, (n & 31u) | belay_zero, 32u - (n & 31u))",
  reversed: "reverseBits(reverseBits(a) << ((n & 31u) | belay_zero))",
};

/** Changes of a second text, each of which leaves out or changes a rewriting, by their names. */
const changes = new Map<string, (text: string) => string>([
  ...Object.entries(operations).map(
    ([name, value]) => [`plain ${name}`, (text: string) => withBody(text, name, value)] as const,
  ),
  ...Object.entries(rightShifts).map(
    ([name, value]) =>
      [`shift_right as ${name}`, (text: string) => withBody(text, "shift_right", value, "u")] as const,
  ),
  [
    "all plain",
    (text) => Object.entries(operations).reduce((left, [name, value]) => withBody(left, name, value), text),
  ],
]);

/** Returns a second text whose rewriting of an operation on integers has another value. */
const withBody = (text: string, name: string, value: string, types = "iu") =>
  text.replace(
    new RegExp(`(fn belay_${name}_[${types}]32\\([^{]*\\{)[^]*?\\n\\}`, "g"),
    (_, head: string) => `${head} return ${value}; }`,
  );

/** Returns the kernel of a seed with its inputs, perhaps with an initializer for each variable. */
function candidateOf(
  kernelSeed: number,
  floats: Floats,
  initializers: boolean,
  change = (text: string) => text,
): KernelCandidate {
  const kernel = randomKernel(kernelSeed, floats);
  const initialized = () => kernel.code.replace(/\bvar (\w+): ([^;={]+);/g, "var $1 = $2();");
  const code = initializers ? initialized() : kernel.code;
  const source = { source: code };
  const inputs = inputsOf(kernel, kernelSeed, floats);
  return {
    name: `kernel ${kernelSeed}`,
    kernel: source,
    onDevice: { source: change(textFor?.(code) ?? code) },
    // The generator makes no kernel in which the order of invocations decides a result.
    isBuiltIn: true,
    trials: (resolved) => {
      const [made] = trialsOf({ ...source, workgroups: [kernel.workgroups, 1, 1] }, resolved, 32);
      const buffers = made!.buffers.map((each) => ({
        ...each,
        bytes: new Uint8Array(inputs[each.binding]!.buffer),
      }));
      return [{ ...made!, buffers }];
    },
  };
}

async function work(): Promise<Result> {
  const opened = await openGpu();
  const result: Result = {
    adapter: opened.choice.description,
    counts: { whole: noCounts(), rounded: noCounts() },
    reasons: {},
    differences: [],
  };
  const device = await newDevice(opened);
  const tried = new TriedDevice(device, undefined);
  let drawn = 0;
  const tryKernels = async () => {
    while (drawn < Math.min(most, only ? 2 * only.length : most) && performance.now() < end) {
      const floats = drawn % 2 === 0 ? "whole" : "rounded";
      const kernelSeed = only?.[drawn >> 1] ?? randomBelow(2 ** 32, seed, drawn);
      drawn++;
      const candidate = candidateOf(kernelSeed, floats, false);
      const { outcome, words, reason } = await examine(tried, candidate);
      const counts = result.counts[floats];
      counts[outcome]++;
      counts.words += words;
      if (outcome === "agrees") continue;
      if (outcome === "differs" || outcome === "failed") {
        const again = await examine(tried, candidateOf(kernelSeed, floats, true));
        const isInitializer = outcome === "differs" && again.outcome === "agrees";
        const agreesWith: string[] = [];
        if (flags.attribute)
          for (const [name, change] of changes) {
            const changed = await examine(tried, candidateOf(kernelSeed, floats, true, change));
            if (changed.outcome === "agrees") agreesWith.push(name);
          }
        result.differences.push({
          floats,
          seed: kernelSeed,
          reason: reason!,
          isInitializer,
          ...(flags.attribute && { agreesWith }),
          ...(!isInitializer && again.dispute && { dispute: again.dispute }),
        });
      } else result.reasons[reason!] = (result.reasons[reason!] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, tryKernels));
  tried.end();
  const disputed = [...result.differences.entries()].filter(([, { dispute }]) => dispute);
  for (const [i, each] of disputed.slice(0, mostCutDown)) {
    const { culprit, dispute, evidence } = await blame(each.dispute!, {
      device,
      milliseconds: 1000 * cut,
      ...(textFor && { textFor }),
    });
    const firstText = textFor && evidence.otherText;
    result.differences[i] = { ...each, culprit, dispute, ...(firstText && { firstText }) };
  }
  opened.close();
  return result;
}

/** Runs processes with a share of the kernels each, and adds their results up. */
async function share(): Promise<Result> {
  const results = await runJobs<Result>(new URL(import.meta.url), jobs, (job) => [
    ...["--seed", `${seed * 1000 + job}`, "--seconds", flags.seconds, "--text", flags.text],
    ...["--kernels", `${Math.ceil(most / jobs)}`, "--cut", flags.cut],
  ]);
  const [whole, ...others] = results as [Result, ...Result[]];
  for (const { counts, reasons, differences } of others) {
    for (const floats of ["whole", "rounded"] as const) add(whole.counts[floats], counts[floats]);
    add(whole.reasons, reasons);
    whole.differences.push(...differences);
  }
  return whole;
}

function add(sums: Record<string, number>, numbers: Readonly<Record<string, number>>): void {
  for (const [name, number] of Object.entries(numbers)) sums[name] = (sums[name] ?? 0) + number;
}

const result = await (jobs > 1 ? share() : work());
const text = JSON.stringify(result, null, 2);
if (flags.out) writeFileSync(flags.out, text);
const { differences, ...summary } = result;
const unexplained = differences.filter(({ isInitializer }) => !isInitializer);
const numbers = { initializers: differences.length - unexplained.length, unexplained: unexplained.length };
console.log(JSON.stringify({ ...summary, ...numbers }));
// The processes of several jobs have named theirs.
if (jobs === 1)
  for (const { floats, seed: drawn, reason, culprit, firstText, agreesWith } of unexplained) {
    const first =
      firstText && `first text: ${firstText.outcome}${firstText.reason ? `, ${firstText.reason}` : ""}`;
    const changed = agreesWith && `agrees with: ${agreesWith.join(", ") || "no change"}`;
    console.error(
      [`kernel ${drawn} (${floats}): ${reason}`, culprit, first, changed].filter(Boolean).join("; "),
    );
  }
process.exit(unexplained.length === 0 ? 0 : 1);
