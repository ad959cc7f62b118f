import type {
  BindingPoint,
  BindingScheme,
  InterGroup,
  MemoryBindings,
  MemorySummary,
  ProtectResult,
} from "../../compiler/contract.ts";
import type { ReportSlot } from "../context/reportArena.ts";

/**
 * `"none"`: it checks nothing, as a buffer without check words is bound. Else what it adds up of some buffers, where that of
 * all their accesses is of no use.
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
  /** Its pipeline's label, else its entry point; `#2` and so on tell kernels of the same name apart. */
  readonly name: string;
  readonly entryPoint: string;
  /** The program's own source, which every position refers to. */
  readonly source: string;
  readonly protection: ProtectResult;
  /** The native module with the protected code. */
  readonly module: GPUShaderModule;
  /** The device's error about the module, if it has one: a pipeline's error names no reason then. */
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
  /** Why the device refused the protected code or its buffers, if it did; known when `proving` settles. */
  refused?: string;
  proving?: Promise<void>;
}

/** Lets the checks of a kernel's work wait for something that is going to be known of it. */
export function prove(kernel: Kernel, known: Promise<void>): void {
  kernel.proving = Promise.all([kernel.proving, known]).then(() => {});
}
