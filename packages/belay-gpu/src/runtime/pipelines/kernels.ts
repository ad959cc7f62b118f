import type {
  BindingAccess,
  BindingPoint,
  BindingScheme,
  EntryPointSummary,
  Fill,
  InterGroup,
  KernelLimits,
  MemoryBindings,
  MemorySummary,
  Protect,
  ProtectOptions,
  ProtectResult,
} from "../../compiler/contract.ts";
import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { messageOf } from "../../diagnostics/messageOf.ts";
import {
  describeShortfall,
  type KernelCoverage,
  type LocatedDiagnostic,
  leftAlone,
  locate,
  shortfalls,
} from "../context/coverage.ts";
import type { Events } from "../context/events.ts";
import { type KernelPolicy, policyFor, type ResolvedPolicy } from "../context/policy.ts";
import type { ReportArena, ReportSlot } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { makeSilently } from "../webgpu/nativeObjects.ts";

/**
 * `"none"`: it checks nothing, as a buffer without check words is bound. Else what it adds up of
 * some buffers, where that of all their accesses is of no use.
 */
export type LessMemory = "none" | readonly BindingScheme[];

/** What can be added to an explicit pipeline layout. */
export interface LayoutRoom {
  /** Where: a bind group of its own if possible, else behind the program's bindings of a group. */
  readonly reportBinding: BindingPoint;
  /** Where check words are added: behind the report. */
  readonly memoryBindings: MemoryBindings;
  /** How many storage and uniform buffers more the device allows. */
  readonly storageBuffers: number;
  readonly uniformBuffers: number;
}

/** What identifies a kernel. */
export interface KernelRequest {
  readonly source: string;
  readonly entryPoint: string | undefined;
  readonly label: string;
  readonly constants: Readonly<Record<string, number>>;
  /** What an explicit pipeline layout has room for. */
  readonly room: LayoutRoom | undefined;
  /** Set where the kernel is to do less about memory than it could. */
  readonly lessMemory?: LessMemory;
}

/** What a report says about the armed fault. */
export interface ObservedWords {
  readonly strikes: number;
  readonly struck: number;
  readonly hung: boolean;
}

export const noStrike: ObservedWords = { strikes: 0, struck: 0, hung: false };

/** A protected kernel. Pipelines made alike, such as by a program run twice, share one. */
export interface Kernel {
  /**
   * Its pipeline's label, else its entry point; `#2` and so on tell kernels of the same name apart.
   */
  readonly name: string;
  readonly entryPoint: string;
  /** The program's own source, which every position refers to. */
  readonly source: string;
  readonly protection: ProtectResult;
  /** The native module with the protected code. */
  readonly module: GPUShaderModule;
  /**
   * The device's error about the module, if it has one: a pipeline's error names no reason then.
   */
  readonly moduleFailed: Promise<GPUError | null>;
  readonly slot: ReportSlot;
  /** What it takes to dispatch it, where a replica is a workgroup. */
  readonly interGroup: InterGroup | undefined;
  /** What it does about the memory that it uses. */
  readonly memory: MemorySummary | undefined;
  /** Disagreements read so far, and findings that are none. */
  detections: number;
  unverified: number;
  /** What its report says about the armed fault. */
  observed: ObservedWords;
  /**
   * Why the device refused the protected code or its buffers, if it did; known when `proving`
   * settles.
   */
  refused?: string;
  proving?: Promise<void>;
}

/** Lets the checks of a kernel's work wait for something that is going to be known of it. */
export function prove(kernel: Kernel, known: Promise<void>): void {
  kernel.proving = Promise.all([kernel.proving, known]).then(() => {});
}

/** A source as the compiler protects it, and the module that is made of that once it is needed. */
interface Protection {
  readonly result: ProtectResult;
  module?: ReturnType<typeof makeSilently<GPUShaderModule>>;
}

/** What the compiler makes of a program's sources for one device, each once. */
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
   * The protection for a kernel; where it can't have all check words, its memory is verified around
   * it instead.
   */
  within(request: KernelRequest, policy: Required<KernelPolicy>): [Protection, ...Diagnostic[]] {
    const { room, lessMemory } = request;
    if (lessMemory === "none") return [this.#once(request, policy, "none"), leftAlone.boundWithoutChecks()];
    const usual = this.#policy.memory;
    const memory = lessMemory ? { default: usual, bindings: lessMemory } : usual;
    const protection = this.#once(request, policy, memory);
    const summary = summaryOf(protection.result, request);
    if (!room || !summary?.memory?.checks) return [protection];
    const fits = addedBuffers(summary) <= room.storageBuffers && room.uniformBuffers > 0;
    return fits ? [protection] : [this.#once(request, policy, "none"), leftAlone.noRoomForChecks()];
  }

  #once(
    { source, constants, room, entryPoint }: KernelRequest,
    { redundancy, cover, check, channel, pairing }: Required<KernelPolicy>,
    memory: NonNullable<ProtectOptions["memory"]>,
  ): Protection {
    const reportBinding = room?.reportBinding;
    // Which way is the cheapest depends on the kernel, and any other way on the module only.
    const chosenFor =
      redundancy === "auto"
        ? { ...(entryPoint && { entryPoint }), ...(room && { room: room.storageBuffers }) }
        : {};
    const policy = [redundancy, cover, check, channel, pairing, memory, chosenFor];
    const key = JSON.stringify([reportBinding, Object.entries(constants).sort(), policy, source]);
    let protection = this.#made.get(key);
    if (!protection) {
      const { injectFaults, strikeMachinery } = this.#policy;
      // Not all browsers tell.
      const adapter: GPUAdapterInfo | undefined = this.#device.adapterInfo;
      const options: ProtectOptions = {
        // Strictness is a matter of each pipeline: a module may have entry points that no pipeline
        // uses.
        redundancy,
        cover,
        check,
        channel,
        pairing,
        memory,
        injectFaults,
        strikeMachinery,
        constants,
        ...chosenFor,
        ...(room && { reportBinding: room.reportBinding, memoryBindings: room.memoryBindings }),
        features: this.#device.features,
        ...(adapter?.subgroupMinSize && { subgroupSize: adapter.subgroupMinSize }),
        limits: this.#limits,
      };
      protection = { result: protectOrLeave(this.#protect, source, options) };
      this.#made.set(key, protection);
    }
    return protection;
  }
}

/**
 * How a pipeline is made: from the protected kernel, or from the program's own when there is none.
 */
export interface KernelChoice {
  readonly source: string;
  readonly coverage: KernelCoverage;
  readonly kernel?: Kernel;
  /** What the entry point does with its resources, as far as the compiler knows. */
  readonly bindings?: readonly BindingAccess[];
  /** What its stores fill in these. */
  readonly fills?: readonly Fill[];
  /** Whether anything less than full coverage is an error. */
  readonly strict: boolean;
  /** Counts what ran, whether protected or not. */
  readonly runs: RunCounts;
}

/** How often pipelines of one kernel ran. */
export interface RunCounts {
  /** Dispatches in submits that the device has accepted. */
  dispatches: number;
}

/**
 * The kernels of a device: protects each source once, names them, and knows how far they are
 * covered.
 */
export class Kernels {
  readonly #device: GPUDevice;
  readonly #policy: ResolvedPolicy;
  readonly #arena: ReportArena;
  readonly #protections: Protections;
  readonly #choices = new Map<string, KernelChoice>();
  /** Pipelines with each choice, less those that the device did not make. */
  readonly #pipelines = new Map<string, number>();
  /** What each kernel was made for. */
  readonly #requests = new WeakMap<Kernel, KernelRequest>();
  /** The same kernels with comparisons before stores; null where there is none. */
  readonly #storing = new WeakMap<Kernel, Kernel | null>();
  /** Settles when the device has said of every pipeline so far whether it is made. */
  #told: Promise<unknown> = Promise.resolve();

  /** The kernels of which listeners were told. */
  readonly #toldOf = new Set<string>();
  readonly #events: Events;

  constructor({ device, policy, events, reports }: RuntimeContext, protect: Protect) {
    this.#device = device;
    this.#policy = policy;
    this.#events = events;
    this.#protections = new Protections(device, policy, protect);
    this.#arena = reports;
  }

  /** Every kernel a pipeline was asked for, in order. */
  get choices(): Iterable<KernelChoice> {
    return this.#choices.values();
  }

  /** Those of which the device has made a pipeline. */
  async made(): Promise<KernelChoice[]> {
    await Promise.all([this.#told, ...[...this.choices].map(({ kernel }) => kernel?.proving)]);
    return [...this.#choices].flatMap(([key, choice]) => (this.#pipelines.get(key) ? [choice] : []));
  }

  /** The kernel for a pipeline; the same one for the same request. */
  choose(request: KernelRequest): KernelChoice {
    const key = keyOf(request);
    this.#count(key, 1);
    const known = this.#choices.get(key);
    if (known) return known;
    const choice = this.#make(request);
    this.#choices.set(key, choice);
    return choice;
  }

  /** A pipeline that was asked for is not made. */
  notMade(request: KernelRequest): void {
    this.#count(keyOf(request), -1);
  }

  /** A pipeline is not made if this turns out to be an error. */
  notMadeIf(request: KernelRequest, failed: Promise<GPUError | null>): void {
    this.#told = Promise.all([this.#told, failed.then((error) => error && this.notMade(request))]);
  }

  /** Leaves a pipeline's kernel alone from now on, for this reason. */
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
      runs: known?.runs ?? { dispatches: 0 },
    };
    this.#choices.set(key, choice);
    return choice;
  }

  #count(key: string, more: number): void {
    this.#pipelines.set(key, (this.#pipelines.get(key) ?? 0) + more);
  }

  /**
   * Emits `unprotected` for a kernel that runs unprotected although the policy asks for protection,
   * or that is covered less than asked for: once for each kernel. Call when its pipeline is made.
   */
  tell({ coverage }: KernelChoice): void {
    const diagnostics = shortfalls(coverage.diagnostics);
    // A kernel that the device refuses is worth a second word.
    const key = `${coverage.kernel} ${coverage.redundancy}`;
    if (diagnostics.length === 0 || this.#toldOf.has(key)) return;
    this.#toldOf.add(key);
    const shortfall = { ...coverage, diagnostics };
    if (this.#events.emit("unprotected", shortfall)) console.warn(`belay: ${describeShortfall(shortfall)}`);
  }

  /**
   * Returns what stays unprotected in a module: in the pipelines that were made of it, and in
   * pipelines of its other entry points without constants or a layout.
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

  /** Decides whether a kernel is protected, and says what of it is not. */
  #assess(request: KernelRequest) {
    const policy = policyFor(this.#policy, this.#named(request));
    const [protection, ...gaps] = this.#protections.within(request, policy);
    const { result } = protection;
    const summary = summaryOf(result, request);
    const failed = result.diagnostics.some(({ severity }) => severity === "error");
    // Without redundancy, a report buffer is for injecting faults, and for what a kernel finds in
    // memory.
    const isWanted = summary && (summary.redundancy !== "none" || policy.redundancy === "none");
    const added = summary ? addedBuffers(summary) : 0;
    const free = request.room?.storageBuffers ?? added;
    const isPlanned = !failed && result.layout && isWanted && summary.usesReport;
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

  #make(request: KernelRequest): KernelChoice {
    const { source } = request;
    const { policy, protection, summary, usable, reasons } = this.#assess(request);
    const { result } = protection;
    const name = this.#name(request, summary?.name);
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
      runs: { dispatches: 0 },
      ...(summary && { bindings: summary.bindings }),
      ...(summary?.fills && { fills: summary.fills }),
    };
    if (!usable || !summary || !result.layout) return choice;
    const kernel = this.#kernelOf(name, source, protection, summary);
    this.#requests.set(kernel, request);
    return { ...choice, kernel };
  }

  #kernelOf(name: string, source: string, protection: Protection, summary: EntryPointSummary): Kernel {
    const { result } = protection;
    protection.module ??= makeSilently(this.#device, () =>
      this.#device.createShaderModule({ label: name, code: result.code }),
    );
    return {
      name,
      entryPoint: summary.name,
      source,
      protection: result,
      module: protection.module.made,
      moduleFailed: protection.module.failed,
      slot: this.#arena.allocate(result.layout!),
      interGroup: summary.interGroup,
      memory: summary.memory,
      detections: 0,
      unverified: 0,
      observed: noStrike,
    };
  }

  /** The program's bind groups that a kernel uses. */
  groupsOf(kernel: Kernel): number[] {
    const request = this.#requests.get(kernel);
    const bindings = (request && summaryOf(kernel.protection, request)?.bindings) ?? [];
    return bindings.map(({ group }) => group);
  }

  /**
   * Returns the same kernel with comparisons before stores, which can run in its place with what is
   * bound for it. Makes it when first asked for; undefined where there is none.
   */
  storing(kernel: Kernel): Kernel | undefined {
    let storing = this.#storing.get(kernel);
    if (storing === undefined) {
      storing = this.#makeStoring(kernel) ?? null;
      this.#storing.set(kernel, storing);
    }
    return storing ?? undefined;
  }

  #makeStoring(kernel: Kernel): Kernel | undefined {
    const request = this.#requests.get(kernel);
    if (!request) return undefined;
    const policy = policyFor(this.#policy, this.#named(request));
    const { redundancy, pairing, channel } = kernel.protection.chosen ?? policy;
    if (policy.check !== "signature" || redundancy === "none" || redundancy === "auto") return undefined;
    // Replicas in different subgroups or passes cannot compare before stores; adjacent ones take
    // the same grid.
    const isApart = redundancy !== "inter" && (pairing === "subgroups" || pairing === "passes");
    const places = isApart
      ? ({ redundancy: "intra+lds", pairing: "adjacent", channel: "auto" } as const)
      : { redundancy, pairing, channel };
    const [protection] = this.#protections.within(request, { ...policy, ...places, check: "store" });
    const { result } = protection;
    const summary = summaryOf(result, request);
    const failed = result.diagnostics.some(({ severity }) => severity === "error");
    if (failed || !summary?.usesReport || summary.redundancy === "none" || !fits(kernel, result, summary))
      return undefined;
    return this.#kernelOf(kernel.name, kernel.source, protection, summary);
  }

  /** The request with the entry point named, if exceptions from the policy depend on that. */
  #named(request: KernelRequest): KernelRequest {
    if (request.entryPoint !== undefined || Object.keys(this.#policy.kernels).length === 0) return request;
    const [only, ...others] = this.#protections.entryPointsOf(request.source);
    return { ...request, entryPoint: others.length === 0 ? only : undefined };
  }

  #name({ label, entryPoint }: KernelRequest, found?: string): string {
    const base = label || found || entryPoint || "kernel";
    const taken = new Set([...this.choices].map(({ coverage }) => coverage.kernel));
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}#${n}`;
    return name;
  }
}

/** Whether a kernel binds what another one binds, runs on its grids, and has its names. */
function fits({ protection, interGroup, memory }: Kernel, result: ProtectResult, other: EntryPointSummary) {
  const boundBy = (
    { layout, renamed }: ProtectResult,
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
  return boundBy(protection, interGroup, memory) === boundBy(result, other.interGroup, other.memory);
}

function keyOf({ source, entryPoint, label, constants, room, lessMemory }: KernelRequest): string {
  return JSON.stringify([label, entryPoint, room, lessMemory, Object.entries(constants).sort(), source]);
}

/** A defect of the compiler must not take the program along. */
function protectOrLeave(protect: Protect, source: string, options: ProtectOptions): ProtectResult {
  try {
    return protect(source, options);
  } catch (error) {
    const diagnostics = [leftAlone.compilerFailed(messageOf(error))];
    const nothing = { renamed: {}, layout: null, entryPoints: [], checks: [], faultSites: [] };
    return { code: source, diagnostics, ...nothing };
  }
}

/** The entry point that is asked for, if it is clear which. */
function summaryOf(
  { entryPoints }: ProtectResult,
  { entryPoint }: KernelRequest,
): EntryPointSummary | undefined {
  if (entryPoint !== undefined) return entryPoints.find(({ name }) => name === entryPoint);
  return entryPoints.length === 1 ? entryPoints[0] : undefined;
}

/** How many storage buffers protection adds: the report, shadows, check words. */
function addedBuffers({ interGroup, memory }: EntryPointSummary): number {
  return 1 + (interGroup?.shadows.length ?? 0) + (memory?.checks ? 1 : 0);
}

/** `GPUSupportedLimits` has its values on the prototype, so they are picked by name. */
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
