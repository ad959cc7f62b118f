import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import { limitsOf, requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { type Qualification, qualify } from "belay-gpu/qualify";
import {
  type AdapterAttempt,
  type AdapterChoice,
  NoAdapterError,
  type OpenGpuOptions,
  openGpu,
} from "./adapter.ts";
import { probeSubgroupPairing, type SelfTestResult, selfTest } from "./adapterSelfTest.ts";

/** The data that `belay doctor` shows. It can be written as JSON. */
export interface AdapterDiagnosis {
  /** True if a device can be opened and computes correctly. */
  readonly ok: boolean;
  readonly platform: string;
  readonly node: string;
  readonly tried: readonly AdapterAttempt[];
  readonly choice?: AdapterChoice;
  readonly device?: {
    readonly vendor: string;
    readonly architecture: string;
    readonly subgroupSizes: readonly [min: number, max: number];
    /** True if replicas can exchange values through registers. */
    readonly subgroupPairing: boolean;
    readonly features: readonly string[];
    readonly limits: Readonly<Record<string, number>>;
  };
  readonly memory?: SelfTestResult;
  /** The built-in kernels of `qualify` on the device, and the time that they took. */
  readonly qualification?: Qualification & { readonly milliseconds: number };
  readonly problem?: { readonly code: string; readonly message: string; readonly help: string };
}

/**
 * Opens the adapter that every command would use, and tests it. Never throws. `doing` is called
 * with each step in words.
 */
export async function diagnoseAdapters(
  options: OpenGpuOptions = {},
  doing: (what: string) => void = () => {},
): Promise<AdapterDiagnosis> {
  const host = { platform: `${process.platform}-${process.arch}`, node: process.version };
  try {
    using opened = await openGpu(options);
    const { adapter, choice } = opened;
    const device = await requestFullDevice(adapter);
    doing("testing memory and arithmetic");
    const memory = await selfTest(device);
    const start = performance.now();
    const qualified = await qualify(device, {
      onProgress: (progress) => doing(`${progress.doing}: ${progress.done} of ${progress.total}`),
    });
    const qualification = { ...qualified, milliseconds: Math.round(performance.now() - start) };
    const subgroupPairing = await probeSubgroupPairing(device);
    device.destroy();
    const { vendor, architecture, subgroupMinSize, subgroupMaxSize } = adapter.info;
    return {
      ...host,
      ok: memory.ok && qualification.verdict === "usable",
      tried: choice.tried,
      choice,
      device: {
        vendor,
        architecture,
        subgroupSizes: [subgroupMinSize, subgroupMaxSize],
        subgroupPairing,
        features: [...adapter.features].sort(),
        limits: limitsOf(adapter.limits),
      },
      memory,
      qualification,
    };
  } catch (error) {
    const tried = error instanceof NoAdapterError ? error.tried : [];
    return { ...host, ok: false, tried, problem: problemOf(error) };
  }
}

function problemOf(error: unknown): NonNullable<AdapterDiagnosis["problem"]> {
  if (error instanceof NoAdapterError) return { code: error.code, message: error.message, help: error.help };
  return {
    code: codeOf("device-failed"),
    message: `the adapter was found, but its device failed: ${messageOf(error)}`,
    help: "update the GPU driver, or pass VK_ICD_FILENAMES to use another one",
  };
}
