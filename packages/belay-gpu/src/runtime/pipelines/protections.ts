import type {
  EntryPointSummary,
  KernelLimits,
  Protect,
  ProtectOptions,
  ProtectResult,
} from "../../compiler/contract.ts";
import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { messageOf } from "../../diagnostics/messageOf.ts";
import { leftAlone } from "../context/coverage.ts";
import type { KernelPolicy, ResolvedPolicy } from "../context/policy.ts";
import type { makeSilently } from "../webgpu/nativeObjects.ts";
import type { KernelRequest } from "./kernel.ts";

/** A source as the compiler protects it, and the module that is made of that once it is needed. */
export interface Protection {
  readonly result: ProtectResult;
  module?: ReturnType<typeof makeSilently<GPUShaderModule>>;
}

/** What the compiler makes of a program's sources for one device, each once. */
export class Protections {
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

  /** The protection for a kernel; where it can't have all check words, its memory is verified around it instead. */
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
        // Strictness is a matter of each pipeline: a module may have entry points that no pipeline uses.
        ...{ redundancy, cover, check, channel, pairing, memory, injectFaults, strikeMachinery, constants },
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
export function summaryOf(
  { entryPoints }: ProtectResult,
  { entryPoint }: KernelRequest,
): EntryPointSummary | undefined {
  if (entryPoint !== undefined) return entryPoints.find(({ name }) => name === entryPoint);
  return entryPoints.length === 1 ? entryPoints[0] : undefined;
}

/** How many storage buffers protection adds: the report, shadows, check words. */
export function addedBuffers({ interGroup, memory }: EntryPointSummary): number {
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
