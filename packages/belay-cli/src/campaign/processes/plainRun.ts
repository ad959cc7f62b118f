import { performance } from "node:perf_hooks";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { findDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { OpenedGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { CampaignError } from "../model/failure.ts";
import { type CampaignProgram, makeReady } from "./readyProgram.ts";

/**
 * Runs a program twice without protection. Rejects with a `CampaignError` when the program fails or
 * is not deterministic.
 */
export async function runPlain({ name, ...program }: CampaignProgram, opened: OpenedGpu) {
  const device = await newDevice(opened);
  let gpuError: string | undefined;
  device.addEventListener("uncapturederror", (event) => {
    event.preventDefault();
    gpuError ??= event.error.message;
  });
  try {
    const ready = makeReady({ name, ...program }, device);
    const [expected] = await timed(() => ready.run());
    const [again, milliseconds] = await timed(() => ready.run());
    await device.queue.onSubmittedWorkDone();
    if (gpuError !== undefined) throw new Error(gpuError);
    checkOutputs(expected);
    const difference = findDifference(expected, again);
    if (difference) {
      const { output, index, expected: before, actual } = difference;
      throw new CampaignError(
        "nondeterministic-program",
        `${name} is not deterministic: ${output}[${index}] was ${before} in one run and ${actual} in the next`,
        {
          help: "outputs are compared bit for bit; leave out what depends on time or on the order of atomics",
        },
      );
    }
    return { expected, milliseconds };
  } catch (error) {
    if (error instanceof CampaignError) throw error;
    throw new CampaignError(
      "program-fails",
      `${name} fails without a fault: ${gpuError ?? messageOf(error)}`,
      {
        cause: error,
      },
    );
  } finally {
    device.destroy();
  }
}

function checkOutputs(outputs: unknown): void {
  const entries = typeof outputs === "object" && outputs !== null ? Object.values(outputs) : [];
  if (entries.length === 0 || !entries.every((each) => ArrayBuffer.isView(each))) {
    throw new Error("it resolves to no typed arrays");
  }
}

/** Returns the result of `work` and its duration in milliseconds. */
export async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}
