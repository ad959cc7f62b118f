/**
 * The codes that `memory: "auto"` chooses: from the text of the kernels alone, and with a short
 * measurement if the text leaves a question.
 */

import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import { inQuestion, rankSchemes } from "belay-gpu/internal/compiler/memoryChoice";
import type { Rates } from "belay-gpu/internal/compiler/memoryCost";
import type { MemoryCode } from "belay-gpu/internal/ecc/scheme";
import { tuneMemory } from "belay-gpu/internal/runtime/tuning/tuneMemory";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { TimedProgram, warmUp } from "../measuring/timing.ts";

export interface AutomaticMemory {
  readonly fromText: MemoryCode;
  /** The codes that the measurement compared. */
  readonly tried: readonly MemoryCode[];
  /** The code of `tried` that cost least in the measurement. */
  readonly measured: MemoryCode;
}

interface AutomaticOptions {
  readonly candidates: readonly MemoryCode[];
  readonly newDevice: () => Promise<GPUDevice>;
  readonly rates: Rates;
  readonly redundancy: Redundancy;
}

/** The number of runs under each code while tuning. */
const tuningRuns = 5;
/** The milliseconds of work before a device is timed. */
const warmUpEach = 30;

/**
 * Chooses a code by the time of GPU work alone, like the overheads beside it. Rejects when the
 * program fails.
 */
export async function chooseMemory(
  program: VerifiableProgram,
  { newDevice, candidates, rates, redundancy }: AutomaticOptions,
): Promise<AutomaticMemory> {
  const probe = await newDevice();
  const { features, limits } = probe;
  probe.destroy();
  const ranked = rankSchemes(Object.values(program.kernelSources), { candidates, features, limits, rates });
  const fromText = ranked[0]!.scheme;
  const tried = inQuestion(ranked);
  if (tried.length === 1) return { fromText, tried, measured: fromText };
  const programs = new Map<GPUDevice, TimedProgram>();
  const time = async (device: GPUDevice) => {
    const timed = programs.get(device) ?? new TimedProgram(program, device);
    if (!programs.has(device)) await warmUp(timed, warmUpEach);
    programs.set(device, timed);
    return timed.run();
  };
  const { memory } = await tuneMemory(program.workload, {
    newDevice,
    candidates: tried,
    redundancy,
    runs: tuningRuns,
    time,
  });
  return { fromText, tried, measured: memory };
}
