/** The power that programs draw, as in figure 5 of the paper. */
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { mean } from "simple-statistics";
import type { Flavor } from "../measuring/configurations.ts";
import type { TimedProgram } from "../measuring/timing.ts";

/** The watts, over the readings of one program that runs repeatedly. */
export interface Power {
  readonly redundancy: Flavor | "none";
  readonly average: number;
  readonly peak: number;
  readonly readings: number;
  /** The joules of one run. */
  readonly energy: number;
}

/**
 * A command that prints the GPU's power, in watts, a line for each reading, until it is stopped.
 */
export interface PowerMeter {
  readonly source: string;
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The names of the driver's fields, best first: power at the moment, or averaged over a second on
 * older drivers.
 */
const FIELDS = ["power.draw.instant", "power.draw"];

/** Finds a meter; returns undefined if the driver's tool is missing or does not report power. */
export async function findPowerMeter(command = "nvidia-smi"): Promise<PowerMeter | undefined> {
  for (const field of FIELDS) {
    const args = ["--id=0", `--query-gpu=${field}`, "--format=csv,noheader,nounits"];
    const output = await promisify(execFile)(command, args, { timeout: 10_000 }).catch(() => undefined);
    // One millisecond is the fastest that the tool accepts; its readings change less often.
    if (output && Number.parseFloat(output.stdout) > 0) {
      return { source: `${command} ${field}`, command, args: [...args, "--loop-ms=1"] };
    }
  }
  return undefined;
}

/**
 * Returns the readings of a meter while `work` runs. The meter takes a while to start. Until its
 * first reading `settle` runs, so that no reading is one of an idle device.
 */
export async function readPower(
  meter: PowerMeter,
  settle: (isReading: () => boolean) => Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const child = spawn(meter.command, meter.args, { stdio: ["ignore", "pipe", "ignore"] });
  const readings: number[] = [];
  let ended: Error | undefined;
  child.once("error", (error) => {
    ended = error;
  });
  child.once("exit", () => {
    ended ??= new Error(`${meter.command} has ended`);
  });
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const watts = Number.parseFloat(line);
    if (watts > 0) readings.push(watts);
  });
  try {
    await settle(() => ended !== undefined || readings.length > 0);
    if (ended) throw ended;
    readings.length = 0;
    await work();
    if (ended) throw ended;
    return [...readings];
  } finally {
    child.kill();
    lines.close();
  }
}

/**
 * Runs a program, unprotected or protected, for `milliseconds` and reads its power. Rejects when
 * the meter ends or is silent.
 */
export async function measurePower(
  redundancy: Power["redundancy"],
  running: TimedProgram,
  meter: PowerMeter,
  milliseconds: number,
): Promise<Power> {
  const each = await running.run();
  const runFor = (duration: number, isOver = () => true) => {
    const end = performance.now() + duration;
    return running.runUntil(() => performance.now() >= end && isOver(), each);
  };
  let [runs, took] = [0, 0];
  const readings = await readPower(
    meter,
    // Clocks and the regulator settle meanwhile.
    (isReading) => runFor(milliseconds / 4, isReading),
    async () => {
      const began = performance.now();
      runs = await runFor(milliseconds);
      took = performance.now() - began;
    },
  );
  if (readings.length === 0) throw new Error(`${meter.source} had no reading`);
  const average = mean(readings);
  return {
    redundancy,
    average,
    peak: Math.max(...readings),
    readings: readings.length,
    energy: (average * took) / 1000 / runs,
  };
}
