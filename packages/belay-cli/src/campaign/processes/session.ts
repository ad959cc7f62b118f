import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import type { Report } from "belay-gpu/internal/runtime/belay";
import { FaultError } from "belay-gpu/internal/runtime/context/detectedFault";
import { MemoryFaultError } from "belay-gpu/internal/runtime/context/memoryFault";
import { UnverifiedError } from "belay-gpu/internal/runtime/context/unverified";
import { hardenForCampaign } from "belay-gpu/internal/runtime/harden";
import type { CampaignDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { findDifference, type OutputDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { Outputs } from "belay-gpu/internal/runtime/tuning/workload";
import type { OpenedGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import type { CampaignConfiguration } from "../model/configurations.ts";
import { CampaignError } from "../model/failure.ts";
import { type Fault, isResting } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { hasSites, profileOf, type StruckKernel } from "../model/profile.ts";
import type { ControlRecord, UnitRecord } from "../model/records.ts";
import { runPlain, timed } from "./plainRun.ts";
import { type CampaignProgram, makeReady, type ReadyProgram } from "./readyProgram.ts";

/** The code of the diagnostic for state that the replicas share. */
const outsideSphereCode = codeOf("outside-sphere");

/** The errors by which Belay refuses to release results. */
const refusals = [FaultError, MemoryFaultError, UnverifiedError];

/** The details of one injection. */
export interface Explanation extends Observation {
  readonly difference?: OutputDifference;
  /**
   * The messages of disagreements between replicas, faults in memory and unverified work, one line
   * each.
   */
  readonly disagreements: readonly string[];
  /** The struck word before and after the strike, if known. */
  readonly observed?: { readonly before: number; readonly after: number };
}

/**
 * A program in one configuration on a device of its own. It is compiled once and run with one fault
 * after another.
 */
export class Session {
  readonly #device: CampaignDevice;
  readonly #program: ReadyProgram;
  readonly #expected: Outputs;
  #errors: string[] = [];
  #disagreements: string[] = [];
  #corrections = 0;
  #lost: string | undefined;

  private constructor(device: CampaignDevice, program: ReadyProgram, expected: Outputs) {
    this.#device = device;
    this.#program = program;
    this.#expected = expected;
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#errors.push(event.error.message);
    });
    void device.lost.then(({ message }) => {
      this.#lost = `the device is lost: ${message}`;
    });
    for (const type of ["detection", "memoryFault", "unverified"] as const)
      device.belay.addEventListener(type, ({ message }) => this.#disagreements.push(message));
    device.belay.addEventListener("corrected", ({ detail }) => {
      this.#corrections += detail.count;
    });
  }

  /**
   * Runs the program plain and protected without a fault, and counts its executions. The `seed`
   * decides which executions are drawn. Rejects with a `CampaignError` when the program fails, is
   * not deterministic, or has no protected kernel that can be struck.
   */
  static async open(
    program: CampaignProgram,
    configuration: CampaignConfiguration,
    opened: OpenedGpu,
    { counted, seed }: { readonly counted: readonly StruckKernel[]; readonly seed: number },
  ): Promise<{ session: Session; unit: UnitRecord }> {
    const { expected, milliseconds: plain } = await runPlain(program, opened);
    const session = await Session.reopen(program, configuration, opened);
    const kernels = hasSites(session.#device, counted)
      ? counted
      : await count(program, configuration, opened, seed);
    const [outputs, milliseconds] = await timed(() => session.#program.run());
    const report = await session.#device.belay.report();
    refuseUnprotected(program, configuration, report);
    if (!kernels.some(({ sites }) => sites.some(({ samples }) => samples.length > 0))) {
      throw new CampaignError(
        "nothing-to-inject",
        `${program.name} runs no kernel with anything that a fault can strike`,
      );
    }
    const [first, again] = [session.#expected, outputs];
    if (findDifference(first, again)) {
      throw new CampaignError(
        "nondeterministic-program",
        `${program.name} is not deterministic in configuration ${configuration.name}`,
      );
    }
    const verdict = typeof program.runs === "function" ? undefined : program.runs.verify(again);
    if (verdict?.ok === false) {
      throw new CampaignError(
        "program-fails",
        `${program.name} is wrong without a fault in configuration ${configuration.name}: ${verdict.message}`,
      );
    }
    const gaps = report.kernels.flatMap(({ kernel, diagnostics }) =>
      diagnostics
        .filter(({ code }) => code === outsideSphereCode)
        .map(({ line, message }) => ({ kernel, line, message })),
    );
    const unit: UnitRecord = {
      kind: "unit",
      program: program.name,
      configuration: configuration.name,
      kernels,
      gaps,
      buffers: session.#program.buffers,
      sameBits: findDifference(expected, again) === undefined,
      milliseconds: { plain, protected: milliseconds },
    };
    return { session, unit };
  }

  /** Opens a session for a program and a configuration whose profile is already known. */
  static async reopen(
    program: CampaignProgram,
    configuration: CampaignConfiguration,
    opened: OpenedGpu,
  ): Promise<Session> {
    const device = hardenForCampaign(await newDevice(opened), {
      ...configuration.policy,
      onFault: "recover",
      injectFaults: true,
    });
    const ready = makeReady(program, device, async (buffer, byteOffset, mask) => {
      await device.belay.verify();
      device.belay.flip(buffer, byteOffset, mask);
    });
    return new Session(device, ready, await ready.run());
  }

  /** Returns whether the counted kernels have the same sites as the kernels of this device. */
  has(kernels: readonly StruckKernel[]): boolean {
    return hasSites(this.#device, kernels);
  }

  close(): void {
    this.#device.destroy();
  }

  /** Runs the program without a fault. */
  async control(runs: number): Promise<Pick<ControlRecord, "runs" | "detections" | "different">> {
    let [detections, different] = [0, 0];
    for (let i = 0; i < runs; i++) {
      const { detections: found, results } = await this.#observe(undefined);
      detections += found;
      if (results !== "right") different++;
    }
    return { runs, detections, different };
  }

  /**
   * Runs the program with one fault. A lost device appears as an error, and the session cannot be
   * used afterwards.
   */
  inject(fault: Fault): Promise<Observation> {
    return this.#observe(fault);
  }

  /** Injects a fault as `inject` does, and returns all details. */
  async explain(fault: Fault): Promise<Explanation> {
    const observation = await this.#observe(fault);
    const observed = isResting(fault) ? undefined : await this.#device.belay.observed();
    return { ...observation, ...(observed && { observed }), disagreements: this.#disagreements };
  }

  async #observe(fault: Fault | undefined): Promise<Observation & { difference?: OutputDifference }> {
    const { belay } = this.#device;
    this.#errors = [];
    this.#disagreements = [];
    this.#corrections = 0;
    const resting = fault && isResting(fault) ? fault : undefined;
    if (fault && !isResting(fault)) belay.arm(fault);
    let results: Observation["results"] = "none";
    let difference: OutputDifference | undefined;
    let error: string | undefined;
    try {
      const outputs = await this.#program.run(resting);
      difference = findDifference(this.#expected, outputs);
      results = difference ? "wrong" : "right";
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

/**
 * Counts a program's executions with instrumented kernels. Rejects with a `CampaignError` when the
 * runs execute too differently.
 */
async function count(
  program: CampaignProgram,
  { policy }: CampaignConfiguration,
  opened: OpenedGpu,
  seed: number,
): Promise<StruckKernel[]> {
  const device = hardenForCampaign(await newDevice(opened), { ...policy, injectFaults: "profile" });
  const ready = makeReady(program, device);
  try {
    const kernels = await profileOf(device, () => ready.run(), `${seed}/${program.name}`);
    if (kernels) return kernels;
    throw new CampaignError(
      "nondeterministic-program",
      `${program.name} executes other statements in each run`,
    );
  } finally {
    device.destroy();
  }
}

/**
 * Refuses a configuration that leaves a kernel unprotected, because the kernel would falsify the
 * configuration's rates.
 */
function refuseUnprotected(
  { name }: CampaignProgram,
  { name: configuration, policy }: CampaignConfiguration,
  { kernels }: Report,
): void {
  if (policy.redundancy === "none") return;
  const gap = kernels.find(({ redundancy }) => redundancy === "none");
  if (!gap) return;
  const reasons = gap.diagnostics.map(({ message }) => message).join("; ");
  throw new CampaignError(
    "kernel-unprotected",
    `${name}: kernel "${gap.kernel}" stays unprotected in configuration ${configuration}: ${reasons}`,
    { help: "leave the configuration out by --flavors" },
  );
}
