import { algebra } from "belay-gpu/algebra";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { FaultError } from "belay-gpu/internal/runtime/context/detectedFault";
import { MemoryFaultError } from "belay-gpu/internal/runtime/context/memoryFault";
import type { CampaignPolicy } from "belay-gpu/internal/runtime/context/policy";
import { UnverifiedError } from "belay-gpu/internal/runtime/context/unverified";
import { hardenForCampaign } from "belay-gpu/internal/runtime/harden";
import type { CampaignDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { findDifference, type OutputDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { Outputs } from "belay-gpu/internal/runtime/tuning/workload";
import type { CampaignConfiguration } from "../model/configurations.ts";
import { type Fault, isResting } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { type CampaignProgram, makeReady, type ReadyProgram } from "./readyProgram.ts";

/** The errors by which Belay refuses to release results. */
const refusals = [FaultError, MemoryFaultError, UnverifiedError];

/** The observations of one run, with the difference of its results. */
export interface ObservedRun extends Observation {
  readonly difference?: OutputDifference;
}

/** The details of one injection. */
export interface Explanation extends ObservedRun {
  /**
   * The messages of disagreements between replicas, repairs, faults in memory and unverified work,
   * one line each.
   */
  readonly disagreements: readonly string[];
  /** The struck word before and after the strike, if known. */
  readonly observed?: { readonly before: number; readonly after: number };
}

/**
 * A program with kernels, buffers and reports of its own. It is compiled once and runs with one
 * fault after another. Several instances can share a native device and run side by side.
 */
export class Instance {
  readonly device: CampaignDevice;
  readonly program: ReadyProgram;
  /** The outputs of a run without a fault. */
  readonly expected: Outputs;
  /** The largest error of a result that the claims allow. */
  readonly tolerated: number;
  #errors: string[] = [];
  #disagreements: string[] = [];
  #corrections = 0;
  #lost: string | undefined;

  private constructor(device: CampaignDevice, program: ReadyProgram, expected: Outputs, tolerated: number) {
    this.device = device;
    this.program = program;
    this.expected = expected;
    this.tolerated = tolerated;
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#errors.push(event.error.message);
    });
    void device.lost.then(({ message }) => {
      this.#lost = `the device is lost: ${message}`;
    });
    for (const type of ["detection", "repair", "memoryFault", "unverified"] as const)
      device.belay.addEventListener(type, ({ message }) => this.#disagreements.push(message));
    device.belay.addEventListener("corrected", ({ detail }) => {
      this.#corrections += detail.count;
    });
  }

  /** Hardens the native device and runs the program on it without a fault. */
  static async open(
    program: CampaignProgram,
    configuration: CampaignConfiguration,
    native: GPUDevice,
  ): Promise<Instance> {
    const device = hardenForCampaign(native, {
      ...policyOf(configuration),
      onFault: "recover",
      injectFaults: true,
      comparesStores: false,
    });
    const ready = makeReady(program, device, async (buffer, byteOffset, mask) => {
      await device.belay.verify();
      device.belay.flip(buffer, byteOffset, mask);
    });
    const expected = await ready.run();
    return new Instance(device, ready, expected, await toleratedBy(device));
  }

  /** Runs the program with one fault, or without any, and returns all details. */
  async explain(fault: Fault | undefined): Promise<Explanation> {
    const observation = await this.observe(fault);
    const observed = fault && !isResting(fault) ? await this.device.belay.observed() : undefined;
    return { ...observation, ...(observed && { observed }), disagreements: this.#disagreements };
  }

  /**
   * Runs the program with one fault, or without any. A lost device appears as an error, and the
   * instance cannot be used afterwards.
   */
  async observe(fault: Fault | undefined): Promise<ObservedRun> {
    const { belay } = this.device;
    this.#errors = [];
    this.#disagreements = [];
    this.#corrections = 0;
    const resting = fault && isResting(fault) ? fault : undefined;
    if (fault && !isResting(fault)) belay.arm(fault);
    let results: Observation["results"] = "none";
    let difference: OutputDifference | undefined;
    let error: string | undefined;
    try {
      const outputs = await this.program.run(resting);
      difference = findDifference(this.expected, outputs);
      if (!difference) results = "right";
      else results = difference.largest <= this.tolerated ? "near" : "wrong";
    } catch (thrown) {
      if (!refusals.some((Refusal) => thrown instanceof Refusal)) error = messageOf(thrown);
    }
    const { strikes, hung } = fault && !resting ? await belay.observed() : { strikes: 1, hung: false };
    belay.disarm();
    error ??= this.#lost ?? this.#errors[0];
    return {
      strikes,
      hung,
      results,
      corrections: this.#corrections,
      detections: this.#disagreements.length,
      ...(error !== undefined && { error }),
      ...(difference && { difference }),
    };
  }
}

/** Returns the policy of a configuration for a hardened device. */
export function policyOf({ policy }: CampaignConfiguration): CampaignPolicy {
  const { redundancy, strikeMachinery } = policy;
  if (redundancy !== "algebra")
    return { ...policy, redundancy: redundancy === "selective" ? "auto" : redundancy };
  const checker = algebra({ searchesAtOnce: true });
  return { redundancy, algebra: checker, ...(strikeMachinery && { strikeMachinery }) };
}

/**
 * Returns the largest error that a check by algebra may miss in the results of a program's only
 * dispatch, after one run. It is 0 for other programs: errors of one dispatch may grow in the next.
 */
async function toleratedBy({ belay }: CampaignDevice): Promise<number> {
  const { kernels } = await belay.report();
  const dispatches = kernels.reduce((sum, kernel) => sum + kernel.dispatches, 0);
  return dispatches === 1 ? 2 * Math.max(...kernels.map(({ sums }) => sums?.bound ?? 0)) : 0;
}
