import type {
  BindingAccess,
  BindingScheme,
  InterGroup,
  MemorySummary,
  Protect,
  ProtectResult,
} from "../compiler/contract.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { type KernelCoverage, leftAlone, locate } from "./coverage.ts";
import { noStrike, type ObservedWords } from "./injector.ts";
import { makeSilently } from "./nativeObjects.ts";
import type { LayoutRoom } from "./pipelineLayouts.ts";
import { policyFor, type ResolvedPolicy } from "./policy.ts";
import { addedBuffers, Protections, summaryOf } from "./protections.ts";
import type { ReportArena, ReportSlot } from "./reportArena.ts";

/** A protected kernel. Pipelines made alike, such as by a program run twice, share one. */
export interface Kernel {
  /** Its pipeline's label, else its entry point; `#2` and so on tell kernels of the same name apart. */
  readonly name: string;
  readonly entryPoint: string;
  /** The program's own source, which every position refers to. */
  readonly source: string;
  readonly protection: ProtectResult;
  /** The native module with the protected code. */
  readonly module: GPUShaderModule;
  readonly slot: ReportSlot;
  /** What it takes to dispatch it, where a replica is a workgroup. */
  readonly interGroup: InterGroup | undefined;
  /** What it does about the memory that it uses. */
  readonly memory: MemorySummary | undefined;
  /** Dispatches submitted. */
  dispatches: number;
  /** Disagreements read so far, and findings that are none. */
  detections: number;
  unverified: number;
  /** What its report says about the armed fault. */
  observed: ObservedWords;
  /** Why the device refused the protected code or its buffers, if it did; known when `proving` settles. */
  refused?: string;
  proving?: Promise<void>;
}

/** Lets the checks of a kernel's work wait for something that is going to be known of it. */
export function prove(kernel: Kernel, known: Promise<void>): void {
  kernel.proving = Promise.all([kernel.proving, known]).then(() => {});
}

/**
 * `"none"`: it checks nothing, as a buffer without check words is bound. Else what it adds up of some buffers, where that of
 * all their accesses is of no use.
 */
export type LessMemory = "none" | readonly BindingScheme[];

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

/** How a pipeline is made: from the protected kernel, or from the program's own when there is none. */
export interface KernelChoice {
  readonly coverage: KernelCoverage;
  readonly kernel?: Kernel;
  /** What the entry point does with its resources, as far as the compiler knows. */
  readonly bindings?: readonly BindingAccess[];
  /** Whether anything less than full coverage is an error. */
  readonly strict: boolean;
}

/** The kernels of a device: protects each source once, names them, and knows how far they are covered. */
export class Kernels {
  readonly #device: GPUDevice;
  readonly #policy: ResolvedPolicy;
  readonly #arena: ReportArena;
  readonly #protections: Protections;
  readonly #choices = new Map<string, KernelChoice>();
  /** Pipelines with each choice, less those that the device did not make. */
  readonly #pipelines = new Map<string, number>();
  /** Settles when the device has said of every pipeline so far whether it is made. */
  #told: Promise<unknown> = Promise.resolve();
  readonly #onKernel: (kernel: Kernel) => void;

  constructor(
    device: GPUDevice,
    policy: ResolvedPolicy,
    protect: Protect,
    arena: ReportArena,
    onKernel: (kernel: Kernel) => void,
  ) {
    this.#device = device;
    this.#policy = policy;
    this.#protections = new Protections(device, policy, protect);
    this.#arena = arena;
    this.#onKernel = onKernel;
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
    if (choice.kernel) this.#onKernel(choice.kernel);
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
    const name = this.#choices.get(key)?.coverage.kernel ?? this.#name(request);
    const choice: KernelChoice = {
      coverage: {
        kernel: name,
        entryPoint: request.entryPoint ?? "",
        redundancy: "none",
        diagnostics: locate(request.source, [reason]),
      },
      strict: policyFor(this.#policy, request).strict,
    };
    this.#choices.set(key, choice);
    return choice;
  }

  #count(key: string, more: number): void {
    this.#pipelines.set(key, (this.#pipelines.get(key) ?? 0) + more);
  }

  #make(request: KernelRequest): KernelChoice {
    const { source } = request;
    const policy = policyFor(this.#policy, this.#named(request));
    const [protection, ...gaps] = this.#protections.within(request, policy);
    const { result } = protection;
    const summary = summaryOf(result, request);
    const failed = result.diagnostics.some(({ severity }) => severity === "error");
    // Without redundancy, a report buffer is for injecting faults, and for what a kernel finds in memory.
    const isWanted = summary && (summary.redundancy !== "none" || policy.redundancy === "none");
    const added = summary ? addedBuffers(summary) : 0;
    const free = request.room?.storageBuffers ?? added;
    const isPlanned = !failed && result.layout && isWanted && summary.usesReport;
    const usable = isPlanned && added <= free;
    const name = this.#name(request, summary?.name);
    const concerns = ({ entryPoints }: Diagnostic) =>
      !entryPoints || !summary || entryPoints.includes(summary.name);
    const reasons = [...result.diagnostics.filter(concerns), ...gaps];
    if (reasons.length === 0 && !summary) reasons.push(leftAlone.unknownEntryPoint());
    if (!failed && policy.redundancy === "none") reasons.push(leftAlone.notRequested());
    else if (isPlanned && !usable) reasons.push(leftAlone.layoutIsFull(added, free));
    else if (!usable && summary && summary.redundancy !== "none") reasons.push(leftAlone.nothingToCompare());
    const coverage: KernelCoverage = {
      kernel: name,
      entryPoint: summary?.name ?? request.entryPoint ?? "",
      redundancy: usable ? summary.redundancy : "none",
      ...(usable && result.chosen && { chosen: result.chosen }),
      diagnostics: locate(source, reasons),
    };
    const choice = { coverage, strict: policy.strict, ...(summary && { bindings: summary.bindings }) };
    if (!usable || !result.layout) return choice;
    protection.module ??= makeSilently(this.#device, () =>
      this.#device.createShaderModule({ label: name, code: result.code }),
    ).made;
    const kernel: Kernel = {
      name,
      entryPoint: summary.name,
      source,
      protection: result,
      module: protection.module,
      slot: this.#arena.allocate(result.layout),
      interGroup: summary.interGroup,
      memory: summary.memory,
      dispatches: 0,
      detections: 0,
      unverified: 0,
      observed: noStrike,
    };
    return { ...choice, kernel };
  }

  /** The request with the entry point named, if exceptions from the policy depend on that. */
  #named(request: KernelRequest): KernelRequest {
    if (request.entryPoint !== undefined || Object.keys(this.#policy.kernels).length === 0) return request;
    return { ...request, entryPoint: this.#protections.onlyEntryPoint(request.source) };
  }

  #name({ label, entryPoint }: KernelRequest, found?: string): string {
    const base = label || found || entryPoint || "kernel";
    const taken = new Set([...this.choices].map(({ coverage }) => coverage.kernel));
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}#${n}`;
    return name;
  }
}

function keyOf({ source, entryPoint, label, constants, room, lessMemory }: KernelRequest): string {
  return JSON.stringify([label, entryPoint, room, lessMemory, Object.entries(constants).sort(), source]);
}
