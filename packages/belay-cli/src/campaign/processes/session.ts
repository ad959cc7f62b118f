import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import type { Report } from "belay-gpu/internal/runtime/belay";
import { hardenForCampaign } from "belay-gpu/internal/runtime/harden";
import { findDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { OpenedGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { type CampaignConfiguration, strikesKernel } from "../model/configurations.ts";
import { CampaignError } from "../model/failure.ts";
import type { Fault } from "../model/faultModel.ts";
import { hasSites, profileOf, type StruckKernel } from "../model/profile.ts";
import type { ControlRecord, UnitRecord } from "../model/records.ts";
import { type Explanation, Instance, type ObservedRun, policyOf } from "./instance.ts";
import { runPlain, timed } from "./plainRun.ts";
import { type CampaignProgram, makeReady } from "./readyProgram.ts";

/** The code of the diagnostic for state that the replicas share. */
const outsideSphereCode = codeOf("outside-sphere");

/** The bytes of buffers above which no further instance is opened. */
const MOST_BYTES = 2 ** 28;

/**
 * A program in one configuration on a device of its own. Its instances run side by side, as the
 * host would otherwise wait for the GPU after each fault.
 */
export class Session {
  readonly #program: CampaignProgram;
  readonly #configuration: CampaignConfiguration;
  /** Opens another instance on the same device. */
  readonly #open: () => Promise<Instance>;
  readonly #first: Instance;
  readonly #others: Instance[] = [];

  private constructor(
    program: CampaignProgram,
    configuration: CampaignConfiguration,
    open: () => Promise<Instance>,
    first: Instance,
  ) {
    this.#program = program;
    this.#configuration = configuration;
    this.#open = open;
    this.#first = first;
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
    const kernels = session.has(counted) ? counted : await count(program, configuration, opened, seed);
    const [outputs, milliseconds] = await timed(() => session.#first.program.run());
    const report = await session.#first.device.belay.report();
    refuseUnprotected(program, configuration, report);
    if (!kernels.some(({ sites }) => sites.some(({ samples }) => samples.length > 0))) {
      throw new CampaignError(
        "nothing-to-inject",
        `${program.name} runs no kernel with anything that a fault can strike`,
      );
    }
    const [first, again] = [session.#first.expected, outputs];
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
      // The host would no longer know the uniform buffers on which checks depend.
      buffers: configuration.policy.redundancy === "algebra" ? [] : session.#first.program.buffers,
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
    const native = await newDevice(opened);
    const open = () => Instance.open(program, configuration, native);
    return new Session(program, configuration, open, await open());
  }

  /** Returns whether the counted kernels have the same sites as the kernels of this device. */
  has(kernels: readonly StruckKernel[]): boolean {
    return hasSites(this.#first.device, kernels, (kernel) => strikesKernel(this.#configuration, kernel));
  }

  /** The largest error of a result that the claims allow. */
  get tolerated(): number {
    return this.#first.tolerated;
  }

  close(): void {
    this.#first.device.destroy();
  }

  /**
   * Opens instances for `inject`, up to so many. A workload has only one instance, because its runs
   * may share state.
   */
  async widen(instances: number): Promise<void> {
    if (typeof this.#program.runs === "function") return;
    const bytes = this.#first.program.buffers.reduce((sum, size) => sum + size, 0);
    const most = Math.min(instances, MOST_BYTES / bytes);
    while (this.#others.length + 1 < most) this.#others.push(await this.#open());
  }

  /** Runs the program without a fault. */
  async control(runs: number): Promise<Pick<ControlRecord, "runs" | "detections" | "different">> {
    let [detections, different] = [0, 0];
    for (let i = 0; i < runs; i++) {
      const { detections: found, results } = await this.#first.observe(undefined);
      detections += found;
      if (results !== "right") different++;
    }
    return { runs, detections, different };
  }

  /**
   * Runs the program once with each fault, in any order. The observations have the order of the
   * faults. A lost device appears as an error, and the session cannot be used afterwards. An error
   * may appear in other runs than the one with the fault that caused it.
   */
  async inject(faults: readonly Fault[]): Promise<ObservedRun[]> {
    const observations: ObservedRun[] = [];
    const waiting = faults.entries();
    const serve = async (instance: Instance) => {
      for (const [i, fault] of waiting) observations[i] = await instance.observe(fault);
    };
    await Promise.all([this.#first, ...this.#others].map(serve));
    return observations;
  }

  /** Injects one fault, and returns all details. */
  explain(fault: Fault): Promise<Explanation> {
    return this.#first.explain(fault);
  }
}

/**
 * Counts a program's executions with instrumented kernels. Rejects with a `CampaignError` when the
 * runs execute too differently.
 */
async function count(
  program: CampaignProgram,
  configuration: CampaignConfiguration,
  opened: OpenedGpu,
  seed: number,
): Promise<StruckKernel[]> {
  const policy = { ...policyOf(configuration), injectFaults: "profile" } as const;
  const device = hardenForCampaign(await newDevice(opened), policy);
  const ready = makeReady(program, device);
  try {
    const isStruck = (kernel: string) => strikesKernel(configuration, kernel);
    const kernels = await profileOf(device, () => ready.run(), `${seed}/${program.name}`, isStruck);
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
 * Refuses a configuration that leaves a kernel unprotected, or under redundancy in place of a
 * check, because the kernel would falsify the configuration's rates.
 */
function refuseUnprotected(
  { name }: CampaignProgram,
  { name: configuration, policy }: CampaignConfiguration,
  { kernels }: Report,
): void {
  if (policy.redundancy === "none") return;
  const gap = kernels.find(({ redundancy, dispatches, sums }) => {
    const isUnchecked = policy.redundancy === "algebra" && dispatches > (sums?.checked ?? 0);
    return redundancy === "none" || isUnchecked;
  });
  if (!gap) return;
  const reasons = gap.diagnostics.map(({ message }) => message).join("; ");
  throw new CampaignError(
    "kernel-unprotected",
    `${name}: kernel "${gap.kernel}" stays ${gap.redundancy === "none" ? "unprotected" : "unchecked"} in configuration ${configuration}: ${reasons}`,
    { help: "leave the configuration out by --flavors" },
  );
}
