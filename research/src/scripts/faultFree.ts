/**
 * Runs random kernels without a fault on hardened devices of all kinds, and compares every bit of
 * their results with the plain device's. Zeros may have the other sign.
 *
 *   node research/dist/scripts/faultFree.js [--seed 1] [--runs 1000000] [--time-limit 480]
 *       [--jobs 1] [--dispatches 256] [--only REGEXP] [--out FILE]
 *
 * A run is a dispatch of a protected kernel. `--only` selects policies by their text as JSON. The
 * runs are shared by `--jobs` processes, with seeds of their own. Ends with an error when a result
 * differs or anything is reported, and then prints the kernel.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { guardProcess } from "belay-cli/internal/shared/workloads/guard";
import { twoTexts } from "belay-gpu/diversity";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { type ComparedPolicy, comparedCodes, hardenWithCodes } from "../ecc/index.ts";
import { randomBelow } from "../workloads/random.ts";
import { runJobs } from "./faultFree/jobs.ts";
import { inputsOf, type RandomKernel, randomKernel } from "./faultFree/kernels.ts";

guardProcess();
const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "1000000" },
    "time-limit": { type: "string", default: "480" },
    jobs: { type: "string", default: "1" },
    dispatches: { type: "string", default: "256" },
    only: { type: "string", default: "" },
    out: { type: "string" },
  },
});
const seed = Number(flags.seed);
const runs = Number(flags.runs);
const jobs = Number(flags.jobs);
const dispatches = Number(flags.dispatches);
const end = performance.now() + 1000 * Number(flags["time-limit"]);

interface Count {
  /**
   * Under one policy: the dispatches of protected kernels, the number of these kernels, and the
   * number of kernels that the policy leaves alone.
   */
  runs: number;
  kernels: number;
  leftAlone: number;
  /**
   * The kernels with another result; below, the events: faults, unverified work, errors of memory.
   */
  different: number;
  alarms: number;
}

interface Result {
  counts: Record<string, Count>;
  failures: { policy: string; seed: number; reason: string; code: string }[];
}

/** Returns every way to protect, most of them under several codes for memory. */
function policies(): ComparedPolicy[] {
  const checks = ["signature", "store"] as const;
  const ways: ComparedPolicy[] = [
    { redundancy: "auto" },
    { redundancy: "auto", cover: ["ALU", "VRF", "LDS", "SU"] },
  ];
  for (const redundancy of ["intra+lds", "intra-lds"] as const) {
    ways.push({ redundancy, pairing: "subgroups" }, { redundancy, pairing: "passes" });
    for (const check of checks)
      for (const channel of ["subgroup", "workgroup"] as const)
        for (const pairing of ["adjacent", "half-subgroup"] as const)
          ways.push({ redundancy, check, channel, pairing });
  }
  for (const check of checks) ways.push({ redundancy: "inter", check });
  for (const redundancy of ["auto", "inter"] as const) ways.push({ redundancy, diversity: twoTexts });
  const coded = [...ways, { redundancy: "none" } as const].flatMap((way) =>
    comparedCodes.map((memory) => ({ ...way, memory })),
  );
  return [...ways, ...coded].filter((policy) => new RegExp(flags.only).test(JSON.stringify(policy)));
}

/** Returns the words of a kernel's buffers after some dispatches. */
async function resultsOf(
  device: GPUDevice,
  kernel: RandomKernel,
  label: string,
  seed: number,
): Promise<Uint32Array[]> {
  const { code, workgroups } = kernel;
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ label, layout: "auto", compute: { module } });
  const made: GPUBuffer[] = [];
  const create = (size: number, usage: number) => {
    const buffer = device.createBuffer({ size, usage });
    made.push(buffer);
    return buffer;
  };
  const inputs = inputsOf(kernel, seed);
  const buffers = kernel.sizes.map((size, binding) => {
    const isUniform = binding === inputs.length - 1;
    const buffer = create(size, (isUniform ? UNIFORM : STORAGE) | COPY_SRC | COPY_DST);
    device.queue.writeBuffer(buffer, 0, inputs[binding]!);
    return buffer;
  });
  const entries = ["a", "f", "o", "p", "v", "s", "n", "h", "size"].flatMap((name, binding) =>
    isUsed(code, name) ? [{ binding, resource: { buffer: buffers[binding]! } }] : [],
  );
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  for (let left = dispatches; left > 0; left -= 16) {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let k = Math.min(16, left); k > 0; k--) pass.dispatchWorkgroups(workgroups);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }
  const results: Uint32Array[] = [];
  for (const buffer of buffers.slice(2, -1)) {
    const reader = create(buffer.size, MAP_READ | COPY_DST);
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, reader, 0, buffer.size);
    device.queue.submit([encoder.finish()]);
    await reader.mapAsync(GPUMapMode.READ);
    results.push(new Uint32Array(reader.getMappedRange().slice(0)));
  }
  for (const buffer of made) buffer.destroy();
  return results;
}

/** The place of the floats `h` among the results. */
const floats = 5;

/**
 * Returns true if two arrays of words have the same values. Zeros of floats have either sign, as
 * the difference of equal products does. Source: WGSL, section "Floating Point Evaluation".
 */
function haveSameValues(words: Uint32Array, others: Uint32Array, areFloats: boolean): boolean {
  const isZero = (word: number) => (word & 0x7fff_ffff) === 0;
  return words.every((word, at) => {
    const other = others[at]!;
    return word === other || (areFloats && isZero(word) && isZero(other));
  });
}

/** Returns true if a kernel names a variable outside its declaration. */
const isUsed = (code: string, name: string) =>
  [...code.matchAll(new RegExp(`\\b${name}\\b(?!:)`, "g"))].length > 0;

/** Returns the count of a policy in a result. Begins it if there is none yet. */
function countOf({ counts }: Result, policy: string): Count {
  counts[policy] ??= { runs: 0, kernels: 0, leftAlone: 0, different: 0, alarms: 0 };
  return counts[policy];
}

async function work(): Promise<Result> {
  const result: Result = { counts: {}, failures: [] };
  const opened = await openGpu();
  const all = policies();
  let [done, drawn] = [0, 0];
  while (done < runs && performance.now() < end) {
    // Hardened devices hold memory, so a few devices serve a few kernels before others replace
    // them.
    const native = await newDevice(opened);
    const devices: { policy: string; device: HardenedDevice; alarms: string[] }[] = [];
    for (let k = 0; k < 8; k++) {
      const policy = all[randomBelow(all.length, seed, drawn++)]!;
      const alarms: string[] = [];
      const device = hardenWithCodes(native, policy);
      for (const event of ["fault", "unverified", "memoryFault", "corrected", "giveUp", "recovery"] as const)
        device.belay.addEventListener(event, ({ message }) => alarms.push(`${event}: ${message}`));
      devices.push({ policy: JSON.stringify(policy), device, alarms });
    }
    for (let k = 0; k < 12 && done < runs && performance.now() < end; k++) {
      const kernelSeed = randomBelow(2 ** 32, seed, drawn++);
      const kernel = randomKernel(kernelSeed);
      const expected = await resultsOf(native, kernel, "plain", kernelSeed);
      for (const { policy, device, alarms } of devices) {
        if (performance.now() > end) break;
        const label = `kernel ${kernelSeed}`;
        const fail = (reason: string) => {
          result.failures.push({ policy, seed: kernelSeed, reason, code: kernel.code });
          console.error(`${policy}\n${reason}\n${kernel.code}\n`);
        };
        const count = countOf(result, policy);
        try {
          const got = await resultsOf(device, kernel, label, kernelSeed);
          const isSame = got.every((words, i) => haveSameValues(words, expected[i]!, i === floats));
          if (!isSame) {
            count.different++;
            fail("the results differ");
          }
        } catch (error) {
          count.alarms++;
          fail(String(error));
        }
        if (alarms.length > 0) {
          count.alarms++;
          fail(alarms.splice(0).join("\n"));
        }
        const { kernels } = await device.belay.report();
        const isRedundant = kernels.some((each) => each.kernel === label && each.redundancy !== "none");
        if (isRedundant || policy.includes('"none"')) {
          count.runs += dispatches;
          count.kernels++;
          done += dispatches;
        } else count.leftAlone++;
      }
    }
    native.destroy();
  }
  opened.close();
  return result;
}

/** Runs processes with a share of the runs each, and merges their results. */
async function share(): Promise<Result> {
  const results = await runJobs<{ result: Result }>(new URL(import.meta.url), jobs, (job) => [
    ...["--seed", `${seed * 1000 + job}`, "--runs", `${Math.ceil(runs / jobs)}`],
    ...["--time-limit", flags["time-limit"], "--dispatches", `${dispatches}`, "--only", flags.only],
  ]);
  const whole: Result = { counts: {}, failures: results.flatMap(({ result }) => result.failures) };
  for (const { counts } of results.map(({ result }) => result))
    for (const [policy, count] of Object.entries(counts)) {
      const sum = countOf(whole, policy);
      for (const field of Object.keys(count) as (keyof Count)[]) sum[field] += count[field];
    }
  return whole;
}

const result = await (jobs > 1 ? share() : work());
const total = (field: keyof Count) =>
  Object.values(result.counts).reduce((sum, each) => sum + each[field], 0);
const summary = {
  runs: total("runs"),
  /** A kernel counts once under each policy. */
  pairs: total("kernels"),
  pairsLeftAlone: total("leftAlone"),
  different: total("different"),
  alarms: total("alarms"),
};
console.log(
  `${summary.runs} runs of ${summary.pairs} pairs of a protected kernel and one of ${Object.keys(result.counts).length} policies: ` +
    `${summary.different} pairs with other results, ${summary.alarms} alarms; ${summary.pairsLeftAlone} pairs were left alone`,
);
if (flags.out) writeFileSync(flags.out, JSON.stringify({ seed, dispatches, summary, result }, null, 2));
process.exitCode = result.failures.length === 0 ? 0 : 1;
