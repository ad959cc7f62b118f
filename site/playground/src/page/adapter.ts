/** WebGPU on this machine, or the reason why it is missing. */
import { requestFullDevice } from "belay-gpu";

/** The adapter that the browser offers. */
export interface AdapterHere {
  readonly name: string;
  /** True if a processor emulates a GPU, so that times say nothing about one. */
  readonly isSoftware: boolean;
}

/** The reason why there is no adapter, as a sentence. */
export interface NoAdapter {
  readonly missing: string;
}

let found: Promise<AdapterHere | NoAdapter> | undefined;

/** Returns the adapter of this machine, or the reason why there is none. Looks once. */
export function adapterHere(): Promise<AdapterHere | NoAdapter> {
  found ??= look();
  return found;
}

async function look(): Promise<AdapterHere | NoAdapter> {
  if (!isSecureContext) return { missing: "WebGPU needs a secure page: https, or localhost." };
  if (!navigator.gpu) return { missing: "This browser has no WebGPU." };
  const adapter = await navigator.gpu.requestAdapter().catch(() => null);
  if (!adapter) return { missing: "The browser has WebGPU, but offers no adapter on this machine." };
  const { vendor, architecture, description } = adapter.info;
  const name = description || [vendor, architecture].filter(Boolean).join(" ") || "an unnamed GPU";
  const isSoftware =
    adapter.info.isFallbackAdapter || /swiftshader|llvmpipe|software/i.test(`${name} ${architecture}`);
  return { name, isSoftware };
}

/** Returns a new device with all limits of the adapter. */
export async function newDevice(): Promise<GPUDevice> {
  return requestFullDevice((await navigator.gpu.requestAdapter())!);
}

/** Describes the adapter in a few words. */
export function describeAdapter(adapter: AdapterHere | NoAdapter): string {
  return "missing" in adapter ? "no WebGPU: recorded runs" : adapter.name;
}
