/** The power that programs draw, as figure 5 of the paper has it. */
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { mean } from "simple-statistics";
import { harden } from "../runtime/harden.ts";
import type { Program } from "../runtime/workload.ts";
import type { Configuration, Flavor } from "./configurations.ts";
import { gapsOf } from "./overhead.ts";
import { TimedProgram } from "./timing.ts";

/** Watts, over the readings of one program that runs again and again. */
export interface Power {
  readonly redundancy: Flavor | "none";
  readonly average: number;
  readonly peak: number;
  readonly readings: number;
}

/** Something that prints the GPU's power, in watts, a line for each reading, until it is stopped. */
export interface PowerMeter {
  readonly source: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** What the driver may know, best first: power at the moment, or averaged over a second on older ones. */
const FIELDS = ["power.draw.instant", "power.draw"];

/** Finds a meter; undefined where the driver's tool is missing or knows no power. */
export async function findPowerMeter(command = "nvidia-smi"): Promise<PowerMeter | undefined> {
  for (const field of FIELDS) {
    const args = ["--id=0", `--query-gpu=${field}`, "--format=csv,noheader,nounits"];
    const output = await promisify(execFile)(command, args, { timeout: 10_000 }).catch(() => undefined);
    // The fastest that the tool accepts; what it reads changes less often.
    if (output && Number.parseFloat(output.stdout) > 0) {
      return { source: `${command} ${field}`, command, args: [...args, "--loop-ms=1"] };
    }
  }
  return undefined;
}

/** The readings of a meter while `work` runs. */
export async function readPower(meter: PowerMeter, work: () => Promise<void>): Promise<number[]> {
  const child = spawn(meter.command, meter.args, { stdio: ["ignore", "pipe", "ignore"] });
  const readings: number[] = [];
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`${meter.command} has ended`)));
  });
  // Killed at the end, it exits too, when nobody waits for that any more.
  failed.catch(() => {});
  const lines = createInterface({ input: child.stdout });
  const first = new Promise<void>((resolve) => lines.once("line", () => resolve()));
  lines.on("line", (line) => {
    const watts = Number.parseFloat(line);
    if (watts > 0) readings.push(watts);
  });
  try {
    await Promise.race([first, failed]);
    readings.length = 0;
    await work();
  } finally {
    child.kill();
    lines.close();
  }
  return readings;
}

/** Runs a program, unprotected or in a configuration, for `milliseconds` and reads its power; undefined where it cannot run. */
export async function measurePower(
  program: Program,
  native: GPUDevice,
  configuration: Configuration | undefined,
  meter: PowerMeter,
  milliseconds: number,
): Promise<Power | undefined> {
  const device = configuration && (await harden(native, { ...configuration, onFault: "report" }));
  using running = new TimedProgram(program, device ?? native);
  if (device && (await gapsOf(device, running))) return undefined;
  const once = await running.run();
  const batch = Math.max(1, Math.ceil(20 / once));
  const runFor = async (duration: number) => {
    const end = performance.now() + duration;
    while (performance.now() < end) await running.runMany(batch);
  };
  // Clocks and the regulator settle first.
  await runFor(milliseconds / 4);
  const readings = await readPower(meter, () => runFor(milliseconds));
  if (readings.length === 0) return undefined;
  const redundancy = configuration?.redundancy ?? "none";
  return { redundancy, average: mean(readings), peak: Math.max(...readings), readings: readings.length };
}
