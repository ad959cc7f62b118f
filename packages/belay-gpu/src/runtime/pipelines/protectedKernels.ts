import { uncoveredBy } from "../../compiler/configurations.ts";
import type {
  BindingAccess,
  BindingPoint,
  BindingScheme,
  CompiledEntryPoint,
  CompilerOptions,
  CompilerResult,
  InterGroup,
  KeptSums,
  KernelLimits,
  MemoryBindings,
  MemorySummary,
  Protect,
} from "../../compiler/contract.ts";
import { structuresOf } from "../../compiler/selectiveCover.ts";
import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { messageOf } from "../../diagnostics/messageOf.ts";
import { hostCodeOf } from "../../ecc/scheme.ts";
import {
  describeShortfall,
  type KernelCoverage,
  type LocatedDiagnostic,
  leftAlone,
  locate,
  shortfalls,
} from "../context/coverage.ts";
import type { Events } from "../context/events.ts";
import { type CompiledPolicy, policyFor } from "../context/kernelPolicy.ts";
import type { ResolvedPolicy } from "../context/policy.ts";
import type { ReportArena, ReportSlot } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { makeSilently } from "../webgpu/nativeObjects.ts";

/**
 * A variant of a kernel with fewer checks. `"none"` has no checks of memory, for a bound buffer
 * without check words. A list of schemes computes other sums, if the usual ones are not useful.
 *
 * Others are for dispatches that are checked by algebra, between passes that verify memory.
 */
export type KernelVariant = "none" | CheckedVariant | readonly BindingScheme[];

/** A variant of a kernel that runs as a part of a checked dispatch. */
export interface CheckedVariant {
  /**
   * `"alone"` has no redundancy and no checks of memory. `"again"` has redundancy, and is skipped
   * if the results of `"alone"` are right.
   */
  readonly run: "alone" | "again";
  /** The sums that it stores if its results are functions of them. */
  readonly keptSums?: KeptSums;
}

/** Returns a variant that runs as a part of a checked dispatch; undefined for others. */
export const checkedVariant = (variant: KernelVariant | undefined): CheckedVariant | undefined =>
  typeof variant === "object" && "run" in variant ? variant : undefined;

/** Returns true for a variant that runs without redundancy, as a check of its results follows. */
export const runsAlone = (variant: KernelVariant | undefined): boolean =>
  checkedVariant(variant)?.run === "alone";

/** The room for added bindings in an explicit pipeline layout. */
export interface LayoutRoom {
  /**
   * The binding point of the report: in a bind group of its own if possible, else after the
   * program's bindings of a group.
   */
  readonly reportBinding: BindingPoint;
  /** The binding points of check words, after the report. */
  readonly memoryBindings: MemoryBindings;
  /** The numbers of storage and uniform buffers that the device allows in addition. */
  readonly storageBuffers: number;
  readonly uniformBuffers: number;
}

/** The properties that identify a kernel. */
export interface KernelRequest {
  readonly source: string;
  readonly entryPoint: string | undefined;
  readonly label: string;
  readonly constants: Readonly<Record<string, number>>;
  /** The room in an explicit pipeline layout. */
  readonly room: LayoutRoom | undefined;
  /** Set for a variant with fewer checks. */
  readonly variant?: KernelVariant;
}

/** The words of a report about the armed fault. */
export interface ObservedWords {
  readonly strikes: number;
  readonly struck: number;
  readonly hung: boolean;
}

export const noStrike: ObservedWords = { strikes: 0, struck: 0, hung: false };

/**
 * A protected kernel. Pipelines with equal requests share it, such as those of a program that runs
 * twice.
 */
export interface ProtectedKernel {
  /**
   * The label of its pipeline, or else its entry point. `#2` and so on distinguish kernels of the
   * same name.
   */
  readonly name: string;
  /**
   * The name under which faults are injected into it. A variant that runs as a part of a checked
   * dispatch has the suffix ` alone` or ` again`.
   */
  readonly target: string;
  readonly entryPoint: string;
  /** The program's own source, to which all positions refer. */
  readonly source: string;
  readonly protection: CompilerResult;
  /** The native module with the protected code. */
  readonly module: GPUShaderModule;
  /** The device's error about the module, if any. The error of a pipeline then tells no reason. */
  readonly moduleFailed: Promise<GPUError | null>;
  readonly slot: ReportSlot;
  /** The requirements of its dispatches, if a replica is a workgroup. */
  readonly interGroup: InterGroup | undefined;
  /** True if it uses its report buffer. */
  readonly usesReport: boolean;
  /** The binding points of its results, and of sums of which they are functions, if it has any. */
  readonly sums: CompiledEntryPoint["sums"];
  /** The kernel's checks of the memory that it uses. */
  readonly memory: MemorySummary | undefined;
  /** Bytes of data per check word of its memory; infinite without check words. */
  readonly granuleBytes: number;
  /** The number of disagreements read so far, and of findings that are no fault. */
  detections: number;
  unverified: number;
  /** The number of checks that found subgroups which mixed its replicas. */
  mixings: number;
  /** The words of its report about the armed fault. */
  observed: ObservedWords;
  /**
   * The reason why the device rejected the protected code or its buffers, if it did. It is known
   * when `acceptance` settles.
   */
  rejection?: string;
  acceptance?: Promise<void>;
}

/**
 * Returns whether a kernel is found to run where subgroups mix its replicas. A fault may look so
 * once.
 */
export const mixesReplicas = ({ mixings }: ProtectedKernel): boolean => mixings > 1;

/** Makes verification of a kernel's work wait until `known` settles. */
export function awaitAcceptance(kernel: ProtectedKernel, known: Promise<void>): void {
  kernel.acceptance = Promise.all([kernel.acceptance, known]).then(() => {});
}

/** A source after protection, and the module that is created from it on first use. */
interface Protection {
  readonly result: CompilerResult;
  module?: ReturnType<typeof makeSilently<GPUShaderModule>>;
}

/** The part of a policy that decides how a kernel is compiled. */
type Configuration = CompiledPolicy &
  Pick<CompilerOptions, "copies" | "skippable"> & {
    /** The sums that the kernel stores, if it does. */
    readonly keptSums?: KeptSums | undefined;
    /** True if subgroups may mix the replicas of a workgroup. Default false. */
    readonly mixes?: boolean;
  };

/** The compiled sources of a device, each compiled once. */
class Protections {
  readonly #device: GPUDevice;
  readonly #policy: ResolvedPolicy;
  readonly #protect: Protect;
  readonly #limits: KernelLimits;
  readonly #made = new Map<string, Protection>();

  constructor(device: GPUDevice, policy: ResolvedPolicy, protect: Protect) {
    this.#device = device;
    this.#policy = policy;
    this.#protect = protect;
    this.#limits = kernelLimits(device.limits);
  }

  /** Returns the names of a source's entry points. */
  entryPointsOf(source: string): string[] {
    const { entryPoints } = protectOrLeave(this.#protect, source, { redundancy: "none" });
    return entryPoints.map(({ name }) => name);
  }

  /**
   * Returns the protection of a kernel and the diagnostics about its memory. Passes verify the
   * memory instead of the kernel if the layout has no room for check words, or the policy says so.
   */
  protectionFor(request: KernelRequest, policy: Configuration): [Protection, ...Diagnostic[]] {
    const { room, variant } = request;
    const checked = checkedVariant(variant);
    if (checked) {
      const { run, keptSums } = checked;
      return [this.#once(request, { ...policy, skippable: run === "again", keptSums }, "none")];
    }
    if (variant === "none") return [this.#once(request, policy, "none"), leftAlone.boundWithoutChecks()];
    const usual = this.#policy.memory;
    if (usual !== "none" && policy.memoryCheck !== "loads")
      return [this.#once(request, policy, "none"), leftAlone.notCheckedInKernel(policy.memoryCheck)];
    const memory = Array.isArray(variant) ? { default: usual, bindings: variant } : usual;
    const protection = this.#once(request, policy, memory);
    const summary = summaryOf(protection.result, request);
    if (!room || !summary?.memory?.checks) return [protection];
    const areInterchangeable = addedBuffers(summary) <= room.storageBuffers && room.uniformBuffers > 0;
    return areInterchangeable
      ? [protection]
      : [this.#once(request, policy, "none"), leftAlone.noRoomForChecks()];
  }

  #once(
    { source, constants, room, entryPoint }: KernelRequest,
    configuration: Configuration,
    memory: NonNullable<CompilerOptions["memory"]>,
  ): Protection {
    const { redundancy, cover, check, channel, pairing, diversity } = configuration;
    const { copies = false, skippable = false, mixes = false, keptSums } = configuration;
    const reportBinding = room?.reportBinding;
    // Under `"auto"`, the cheapest configuration depends on the kernel. All other configurations
    // depend on the module only.
    const chosenFor =
      redundancy === "auto"
        ? {
            ...(entryPoint && { entryPoint }),
            ...(room && { room: room.storageBuffers }),
            closesGaps: configuration.strict,
          }
        : {};
    const policy = [redundancy, cover, check, channel, pairing, diversity, copies, skippable, mixes, memory];
    const known = [reportBinding, Object.entries(constants).sort(), policy, keptSums, chosenFor, source];
    const key = JSON.stringify(known);
    let protection = this.#made.get(key);
    if (!protection) {
      const { injectFaults, strikeMachinery } = this.#policy;
      // Some browsers do not provide it.
      const adapter: GPUAdapterInfo | undefined = this.#device.adapterInfo;
      const options: CompilerOptions = {
        // Strictness is decided for each pipeline, as a module may have entry points that no
        // pipeline uses.
        redundancy,
        cover,
        check,
        channel,
        pairing,
        diversity,
        memory,
        injectFaults,
        strikeMachinery,
        copies,
        skippable,
        ...(keptSums && { keptSums }),
        constants,
        ...chosenFor,
        ...(room && { reportBinding: room.reportBinding, memoryBindings: room.memoryBindings }),
        // With memory codes, all bind groups of the program are extended for each dispatch.
        reportInLastGroup: !room && this.#policy.memory === "none",
        features: this.#device.features,
        ...(adapter?.subgroupMinSize && { subgroupSize: adapter.subgroupMinSize }),
        ...(adapter?.subgroupMaxSize && !mixes && { subgroupMaxSize: adapter.subgroupMaxSize }),
        limits: this.#limits,
      };
      protection = { result: protectOrLeave(this.#protect, source, options) };
      this.#made.set(key, protection);
    }
    return protection;
  }
}

/** The decision for a pipeline: a protected kernel, or the program's own if `kernel` is absent. */
export interface KernelChoice {
  readonly source: string;
  readonly coverage: KernelCoverage;
  readonly kernel?: ProtectedKernel;
  /** The accesses of the entry point to its resources, if the compiler knows them. */
  readonly bindings?: readonly BindingAccess[];
  /** True if anything less than full coverage is an error. */
  readonly strict: boolean;
  /** True if data at rest needs no verification before the kernel. */
  readonly trustsRest: boolean;
  /** The numbers of runs, protected or not. */
  readonly runs: RunCounts;
}

/** The numbers of runs of pipelines of one kernel. */
export interface RunCounts {
  /** The dispatches in submits that the device accepted. */
  dispatches: number;
}

/**
 * The kernels of a device. Protects each source once, names the kernels, and records their
 * coverage.
 */
export class Kernels {
  readonly #device: GPUDevice;
  readonly #policy: ResolvedPolicy;
  readonly #arena: ReportArena;
  readonly #protections: Protections;
  readonly #choices = new Map<string, KernelChoice>();
  /** The number of pipelines of each choice, without those that the device rejected. */
  readonly #pipelines = new Map<string, number>();
  /** The request for which each kernel was made. */
  readonly #requests = new WeakMap<ProtectedKernel, KernelRequest>();
  /** The variants of kernels that compare before each store; null if there is none. */
  readonly #storing = new WeakMap<ProtectedKernel, ProtectedKernel | null>();
  /** The variants of kernels whose replicas wait for nobody; null if there is none. */
  readonly #unhurried = new WeakMap<ProtectedKernel, ProtectedKernel | null>();
  /** The variants of Inter-Group kernels with both replicas in one workgroup; null if none fits. */
  readonly #gathered = new WeakMap<ProtectedKernel, ProtectedKernel | null>();
  /** Settles when it is known for each pipeline so far whether the device accepted it. */
  #told: Promise<unknown> = Promise.resolve();

  /** The kernels whose shortfalls were reported. */
  readonly #toldOf = new Set<string>();
  readonly #granuleBytes: number;
  readonly #events: Events;

  constructor({ device, policy, codes, events, reports }: RuntimeContext, protect: Protect) {
    this.#device = device;
    this.#policy = policy;
    this.#granuleBytes =
      policy.memory === "none" ? Number.POSITIVE_INFINITY : hostCodeOf(policy.memory, codes).granuleBytes;
    this.#events = events;
    this.#protections = new Protections(device, policy, protect);
    this.#arena = reports;
  }

  /** The choices for all requested kernels, in the order of the requests. */
  get choices(): Iterable<KernelChoice> {
    return this.#choices.values();
  }

  /** Returns the choices of which the device accepted a pipeline. */
  async accepted(): Promise<KernelChoice[]> {
    await Promise.all([this.#told, ...[...this.choices].map(({ kernel }) => kernel?.acceptance)]);
    return [...this.#choices].flatMap(([key, choice]) => (this.#pipelines.get(key) ? [choice] : []));
  }

  /** Returns the sum of the counts of a kernel and its variants. */
  total(count: "detections" | "unverified", name: string): number {
    const own = [...this.choices].filter(({ coverage }) => coverage.kernel === name);
    return own.reduce((sum, { kernel }) => sum + (kernel?.[count] ?? 0), 0);
  }

  /** Returns the choice for a pipeline. Equal requests get the same choice. */
  choose(request: KernelRequest): KernelChoice {
    const key = keyOf(request);
    // Reports have one entry for a kernel, whether or not its dispatches are checked.
    if (!checkedVariant(request.variant)) this.#count(key, 1);
    const known = this.#choices.get(key);
    if (known) return known;
    const choice = this.#make(request);
    this.#choices.set(key, choice);
    return choice;
  }

  /**
   * Chooses again for a pipeline, as subgroups mixed the replicas of its kernel. Equal requests get
   * the new choice from now on.
   */
  chooseUnmixed(request: KernelRequest): KernelChoice {
    const key = keyOf(request);
    const known = this.#choices.get(key)!;
    const { kernel, runs } = known;
    if (!kernel || !mixesReplicas(kernel)) return known;
    const choice = { ...this.#make(request, kernel), runs };
    if (choice.kernel) {
      choice.kernel.detections = kernel.detections;
      choice.kernel.unverified = kernel.unverified;
    }
    this.#choices.set(key, choice);
    return choice;
  }

  /** Records that the device rejected a requested pipeline. */
  recordRejection(request: KernelRequest): void {
    this.#count(keyOf(request), -1);
  }

  /** Records that a pipeline is rejected if `failed` resolves to an error. */
  recordRejectionIf(request: KernelRequest, failed: Promise<GPUError | null>): void {
    this.#told = Promise.all([this.#told, failed.then((error) => error && this.recordRejection(request))]);
  }

  /** Leaves the kernel of a pipeline unprotected from now on, for this reason. */
  leaveAlone(request: KernelRequest, reason: Diagnostic): KernelChoice {
    const key = keyOf(request);
    this.#count(key, 1);
    const known = this.#choices.get(key);
    const name = known?.coverage.kernel ?? this.#name(request);
    const choice: KernelChoice = {
      source: request.source,
      coverage: {
        kernel: name,
        entryPoint: request.entryPoint ?? "",
        redundancy: "none",
        diagnostics: locate(request.source, [reason]),
      },
      strict: policyFor(this.#policy, request).strict,
      trustsRest: false,
      runs: known?.runs ?? { dispatches: 0 },
    };
    this.#choices.set(key, choice);
    return choice;
  }

  #count(key: string, more: number): void {
    this.#pipelines.set(key, (this.#pipelines.get(key) ?? 0) + more);
  }

  /**
   * Emits `unprotected` once for a kernel with less coverage than the policy asks for. Call this
   * when a pipeline of the kernel was created.
   */
  announce({ coverage }: KernelChoice): void {
    const diagnostics = shortfalls(coverage.diagnostics);
    // A kernel that the device rejects later is reported again.
    const key = `${coverage.kernel} ${coverage.redundancy}`;
    if (diagnostics.length === 0 || this.#toldOf.has(key)) return;
    this.#toldOf.add(key);
    const shortfall = { ...coverage, diagnostics };
    if (this.#events.emit("unprotected", shortfall)) console.warn(`belay: ${describeShortfall(shortfall)}`);
  }

  /**
   * Returns the shortfalls of a module: those of pipelines that were created, and those of its
   * other entry points without constants and layout.
   */
  shortfallsIn(source: string): LocatedDiagnostic[] {
    const made = [...this.choices].filter((choice) => choice.source === source);
    const others = this.#protections
      .entryPointsOf(source)
      .filter((name) => !made.some(({ coverage }) => coverage.entryPoint === name))
      .map((entryPoint) => ({ source, entryPoint, label: "", constants: {}, room: undefined }));
    const all = [
      ...made.flatMap(({ coverage }) => coverage.diagnostics),
      ...others.flatMap((request) => locate(source, this.#assess(request).reasons)),
    ];
    const distinct = new Map(shortfalls(all).map((each) => [`${each.span.start} ${each.message}`, each]));
    return [...distinct.values()];
  }

  /**
   * Decides if a kernel is protected, and lists the reasons for gaps. `mixes` says that subgroups
   * mixed its replicas, so that these run elsewhere.
   */
  #assess(request: KernelRequest, mixes = false) {
    const asked = policyFor(this.#policy, this.#named(request));
    const policy: Configuration = runsAlone(request.variant)
      ? { ...asked, redundancy: "none" }
      : mixes
        ? { ...asked, redundancy: "auto", pairing: "auto", channel: "auto", mixes }
        : asked;
    const [protection, ...gaps] = this.#protections.protectionFor(request, policy);
    if (mixes) gaps.push(leftAlone.subgroupsMixed());
    const { result } = protection;
    const summary = summaryOf(result, request);
    const failed = result.diagnostics.some(({ severity }) => severity === "error");
    const added = summary ? addedBuffers(summary) : 0;
    const free = request.room?.storageBuffers ?? added;
    // Without redundancy, a report buffer serves fault injection and memory errors only.
    const isPlanned = !failed && result.layout && (summary?.usesReport || summary?.sums);
    const usable = isPlanned && added <= free;
    const concerns = ({ entryPoints }: Diagnostic) =>
      !entryPoints || !summary || entryPoints.includes(summary.name);
    const reasons = [...result.diagnostics.filter(concerns), ...gaps];
    if (reasons.length === 0 && !summary) reasons.push(leftAlone.unknownEntryPoint());
    if (!failed && policy.redundancy === "none") reasons.push(leftAlone.notRequested());
    else if (isPlanned && !usable) reasons.push(leftAlone.layoutIsFull(added, free));
    else if (!usable && summary && summary.redundancy !== "none") reasons.push(leftAlone.nothingToCompare());
    return { policy, protection, summary, usable, reasons };
  }

  /** Makes a choice. `mixed` is the earlier kernel, whose replicas subgroups mixed. */
  #make(request: KernelRequest, mixed?: ProtectedKernel): KernelChoice {
    const { source } = request;
    const { policy, protection, summary, usable, reasons } = this.#assess(request, mixed !== undefined);
    const { result } = protection;
    const name = mixed?.name ?? this.#name(request, summary?.name);
    const coverage: KernelCoverage = {
      kernel: name,
      entryPoint: summary?.name ?? request.entryPoint ?? "",
      redundancy: usable && summary ? summary.redundancy : "none",
      ...(usable && result.chosen && { chosen: result.chosen }),
      diagnostics: locate(source, reasons),
    };
    const choice = {
      source,
      coverage,
      strict: policy.strict,
      trustsRest: policy.memoryCheck === "scrubs" && !checkedVariant(request.variant),
      runs: { dispatches: 0 },
      ...(summary && { bindings: summary.bindings }),
    };
    if (!usable || !summary || !result.layout) return choice;
    const checked = checkedVariant(request.variant);
    const target = mixed?.target ?? (checked ? this.#unique(`${name} ${checked.run}`) : name);
    const kernel = this.#kernelOf({ name, target, source }, protection, summary);
    this.#requests.set(kernel, request);
    return { ...choice, kernel };
  }

  #kernelOf(
    { name, target, source }: Pick<ProtectedKernel, "name" | "target" | "source">,
    protection: Protection,
    summary: CompiledEntryPoint,
  ): ProtectedKernel {
    const { result } = protection;
    protection.module ??= makeSilently(this.#device, () =>
      this.#device.createShaderModule({ label: name, code: result.code }),
    );
    return {
      name,
      target,
      entryPoint: summary.name,
      source,
      protection: result,
      module: protection.module.made,
      moduleFailed: protection.module.failed,
      slot: this.#arena.allocate(result.layout!),
      interGroup: summary.interGroup,
      usesReport: summary.usesReport,
      sums: summary.sums,
      memory: summary.memory,
      granuleBytes: this.#granuleBytes,
      detections: 0,
      unverified: 0,
      mixings: 0,
      observed: noStrike,
    };
  }

  /** Returns the program's bind groups that a kernel uses. */
  groupsOf(kernel: ProtectedKernel): number[] {
    const request = this.#requests.get(kernel);
    const bindings = (request && summaryOf(kernel.protection, request)?.bindings) ?? [];
    return bindings.map(({ group }) => group);
  }

  /**
   * Returns the variant of a kernel that compares before each store. It can run in place of the
   * kernel with the same bind groups. Undefined if there is none.
   */
  withStoreChecks(kernel: ProtectedKernel): ProtectedKernel | undefined {
    return this.#once(this.#storing, kernel, () => this.#makeStoring(kernel));
  }

  /**
   * Returns the variant of a kernel whose replicas do not wait for each other, as they compare
   * signatures. It can run in place of the kernel with the same bind groups. Undefined if there is
   * none.
   */
  withoutWaits(kernel: ProtectedKernel): ProtectedKernel | undefined {
    return this.#once(this.#unhurried, kernel, () => {
      const request = this.#requests.get(kernel);
      const policy = request && policyFor(this.#policy, this.#named(request));
      if (!policy || !kernel.interGroup) return undefined;
      if ((kernel.protection.chosen ?? policy).check !== "store") return undefined;
      const changed = { ...policy, redundancy: "inter", check: "signature", copies: true } as const;
      const variant = this.#variantOf(kernel, request, changed);
      return variant?.interGroup?.blocking === false ? variant : undefined;
    });
  }

  /**
   * Returns the variant of a kernel whose replicas waited in vain, or which subgroups mixed. Its
   * replicas run in one workgroup or in two passes. It has the grid of the program, and no shadows.
   * Undefined if there is none that covers what the policy asks for.
   */
  withinWorkgroups(kernel: ProtectedKernel): ProtectedKernel | undefined {
    return this.#once(this.#gathered, kernel, () => {
      const request = this.#requests.get(kernel);
      const policy = request && policyFor(this.#policy, this.#named(request));
      // Replicas in one workgroup would have one text, and agree where two texts do not.
      if (!policy || policy.diversity || kernel.interGroup?.blocking === false) return undefined;
      const compared = { ...policy, channel: "auto", check: "signature" } as const;
      const flavors = (
        [
          { redundancy: "intra+lds", pairing: "adjacent" },
          { redundancy: "intra-lds", pairing: "adjacent" },
          { redundancy: "intra+lds", pairing: "passes" },
        ] as const
      )
        .map((places) => ({ ...compared, ...places }))
        .filter((each) => uncoveredBy(each, structuresOf(policy.cover)).length === 0);
      for (const flavor of flavors) {
        const variant = this.#variantOf(kernel, request!, flavor);
        if (variant) return variant;
      }
      return undefined;
    });
  }

  #once(
    made: WeakMap<ProtectedKernel, ProtectedKernel | null>,
    kernel: ProtectedKernel,
    make: () => ProtectedKernel | undefined,
  ): ProtectedKernel | undefined {
    let variant = made.get(kernel);
    if (variant === undefined) {
      variant = make() ?? null;
      made.set(kernel, variant);
    }
    return variant ?? undefined;
  }

  #makeStoring(kernel: ProtectedKernel): ProtectedKernel | undefined {
    const request = this.#requests.get(kernel);
    if (!request) return undefined;
    const policy = policyFor(this.#policy, this.#named(request));
    const { redundancy, check, pairing, channel } = kernel.protection.chosen ?? policy;
    if (check !== "signature" || redundancy === "none" || redundancy === "auto") return undefined;
    // Replicas in different subgroups or passes cannot compare before stores. Adjacent replicas run
    // on the same grid.
    const isApart = redundancy !== "inter" && (pairing === "subgroups" || pairing === "passes");
    // They would have one text, and agree where two texts do not.
    if (isApart && policy.diversity) return undefined;
    const places = isApart
      ? ({ redundancy: "intra+lds", pairing: "adjacent", channel: "auto" } as const)
      : { redundancy, pairing, channel };
    return this.#variantOf(kernel, request, { ...policy, ...places, check: "store" });
  }

  /** Returns a kernel with another configuration if it can run in place of the kernel. */
  #variantOf(
    kernel: ProtectedKernel,
    request: KernelRequest,
    configuration: Configuration,
  ): ProtectedKernel | undefined {
    const [protection] = this.#protections.protectionFor(request, configuration);
    const { result } = protection;
    const summary = summaryOf(result, request);
    const failed = result.diagnostics.some(({ severity }) => severity === "error");
    if (failed || !summary?.usesReport || summary.redundancy === "none" || !fits(kernel, result, summary))
      return undefined;
    return this.#kernelOf(kernel, protection, summary);
  }

  /**
   * Returns the request with a named entry point, if exceptions in the policy depend on the name.
   */
  #named(request: KernelRequest): KernelRequest {
    if (request.entryPoint !== undefined || Object.keys(this.#policy.kernels).length === 0) return request;
    const [only, ...others] = this.#protections.entryPointsOf(request.source);
    return { ...request, entryPoint: others.length === 0 ? only : undefined };
  }

  /** Returns the name of a kernel, which it shares with its variants in checked dispatches. */
  #name({ variant, ...request }: KernelRequest, found?: string): string {
    const known = checkedVariant(variant) && this.#choices.get(keyOf(request));
    return known
      ? known.coverage.kernel
      : this.#unique(request.label || found || request.entryPoint || "kernel");
  }

  /** Returns a name that no other kernel has. */
  #unique(base: string): string {
    const all = [...this.choices].flatMap(({ coverage, kernel }) => [coverage.kernel, kernel?.target]);
    const taken = new Set(all);
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}#${n}`;
    return name;
  }
}

/**
 * Returns whether a kernel can run in place of another one. Both need the same bindings and names.
 * They need the same grids, too, unless only the replaced kernel is Inter-Group.
 */
function fits(
  { protection, interGroup, memory }: ProtectedKernel,
  result: CompilerResult,
  other: CompiledEntryPoint,
) {
  const replaced = other.interGroup ? interGroup : undefined;
  const boundBy = (
    { layout, renamed }: CompilerResult,
    inter: InterGroup | undefined,
    codes: MemorySummary | undefined,
  ) =>
    JSON.stringify([
      layout?.group,
      layout?.binding,
      inter?.doubling,
      inter?.mostWorkgroups,
      inter?.shadows,
      codes,
      renamed,
    ]);
  return boundBy(protection, replaced, memory) === boundBy(result, other.interGroup, other.memory);
}

function keyOf({ source, entryPoint, label, constants, room, variant }: KernelRequest): string {
  return JSON.stringify([label, entryPoint, room, variant, Object.entries(constants).sort(), source]);
}

/**
 * Protects a source. A defect of the compiler leaves the source unprotected and the program
 * running.
 */
function protectOrLeave(protect: Protect, source: string, options: CompilerOptions): CompilerResult {
  try {
    return protect(source, options);
  } catch (error) {
    const diagnostics = [leftAlone.compilerFailed(messageOf(error))];
    const nothing = { renamed: {}, layout: null, entryPoints: [], checks: [], faultSites: [] };
    return { code: source, diagnostics, ...nothing };
  }
}

/** Returns the requested entry point, or the only one. Undefined if the choice is ambiguous. */
function summaryOf(
  { entryPoints }: CompilerResult,
  { entryPoint }: KernelRequest,
): CompiledEntryPoint | undefined {
  if (entryPoint !== undefined) return entryPoints.find(({ name }) => name === entryPoint);
  return entryPoints.length === 1 ? entryPoints[0] : undefined;
}

/**
 * Returns the number of storage buffers that protection adds: the report, shadows, sums, and check
 * words.
 */
function addedBuffers({ interGroup, memory, sums }: CompiledEntryPoint): number {
  return 1 + (interGroup?.shadows.length ?? 0) + (sums ? 1 : 0) + (memory?.checks ? 1 : 0);
}

/**
 * Returns the limits for the compiler. `GPUSupportedLimits` has its values on the prototype, so
 * they are copied by name.
 */
function kernelLimits(limits: GPUSupportedLimits): KernelLimits {
  const {
    maxComputeInvocationsPerWorkgroup,
    maxComputeWorkgroupSizeX,
    maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage,
    maxBindGroups,
  } = limits;
  return {
    maxComputeInvocationsPerWorkgroup,
    maxComputeWorkgroupSizeX,
    maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage,
    maxBindGroups,
  };
}
