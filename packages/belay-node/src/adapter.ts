import { delimiter, dirname } from "node:path";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { findChromiumSwiftShader, unpackSwiftShader } from "./adapterSwiftShader.ts";
import { mapVulkanLoader, withSwiftShader } from "./adapterVulkan.ts";
import { createGpu, releaseGpu } from "./gpu.ts";

/**
 * Where an adapter comes from, in the order tried: a GPU; a software adapter the machine is set up
 * with; one the user names in `VK_ICD_FILENAMES`; SwiftShader of an installed Chromium-based
 * program; SwiftShader of the npm package `@sparticuz/chromium`.
 */
export type AdapterKind = "hardware" | "system" | "VK_ICD_FILENAMES" | "chromium" | "package";

/** One place that was looked at, and what came of it. */
export interface AdapterAttempt {
  readonly kind: AdapterKind;
  readonly outcome: string;
}

/** The adapter that was opened, and why. */
export interface AdapterChoice {
  readonly kind: AdapterKind;
  /** The adapter in words: vendor, device and driver. */
  readonly description: string;
  /** Why this one and none before it. */
  readonly reason: string;
  readonly tried: readonly AdapterAttempt[];
}

/** Which adapters to look for, and how to open them. */
export interface OpenGpuOptions {
  /** Accept only these kinds; every kind unless given. */
  readonly kinds?: readonly AdapterKind[];
  /** Flags for Dawn, such as `enable-dawn-features=…`, besides those Belay needs. */
  readonly dawnFlags?: readonly string[];
  /** Where the packaged SwiftShader is unpacked; a folder in the user's cache unless given. */
  readonly cacheFolder?: string;
}

/** WebGPU, open until it is closed. */
export interface OpenedGpu extends Disposable {
  readonly gpu: GPU;
  /**
   * Good for one device, as WebGPU has it; `gpu.requestAdapter()` gives the same one for the next.
   */
  readonly adapter: GPUAdapter;
  readonly choice: AdapterChoice;
  /**
   * Lets go of WebGPU. Destroy devices first: nothing made from the adapter may be used afterwards.
   */
  close(): void;
}

/** No WebGPU adapter could be opened; lists each place tried and what to do. */
export class NoAdapterError extends Error {
  readonly code = "BELAY301";
  readonly tried: readonly AdapterAttempt[];
  readonly help =
    "install a GPU driver, point VK_ICD_FILENAMES to a Vulkan driver, or install a Chromium-based browser";

  constructor(tried: readonly AdapterAttempt[]) {
    const lines = tried.map(({ kind, outcome }) => `  ${kind}: ${outcome}`);
    super(["no WebGPU adapter can be opened", ...lines].join("\n"));
    this.name = "NoAdapterError";
    this.tried = tried;
  }
}

/** Timestamps are rounded to 65 µs without this, which is longer than many kernels run. */
const DAWN_FLAGS = ["disable-dawn-features=timestamp_quantization"];

/**
 * Opens WebGPU in Node.js: a GPU where there is one, else the best software adapter that can be
 * found, down to one that comes with the installation and needs neither a GPU, a Vulkan loader nor
 * root.
 *
 * Call it on the main thread: a worker's `process.env` does not reach the Vulkan loader.
 *
 * Rejects with a `NoAdapterError` when there is none.
 */
export async function openGpu(options: OpenGpuOptions = {}): Promise<OpenedGpu> {
  const accepts = (kind: AdapterKind) => options.kinds?.includes(kind) ?? true;
  const flags = [...DAWN_FLAGS, ...(options.dawnFlags ?? [])];
  const tried: AdapterAttempt[] = [];

  for await (const found of searchAdapters(flags, options)) {
    tried.push({ kind: found.kind, outcome: found.outcome });
    if (!found.opened) continue;
    const { gpu, adapter } = found.opened;
    if (!accepts(found.kind)) {
      releaseGpu(gpu);
      continue;
    }
    const close = () => releaseGpu(gpu);
    const choice = { kind: found.kind, description: found.outcome, reason: explain(tried), tried };
    return { gpu, adapter, choice, close, [Symbol.dispose]: close };
  }
  throw new NoAdapterError(tried);
}

interface Found extends AdapterAttempt {
  readonly opened?: { readonly gpu: GPU; readonly adapter: GPUAdapter };
}

/**
 * Yields each place an adapter may come from, best first, so that a later one costs nothing unless
 * needed.
 */
async function* searchAdapters(flags: readonly string[], options: OpenGpuOptions): AsyncGenerator<Found> {
  yield* searchMachine(flags);
  if (process.platform !== "linux") return;

  const folders = findChromiumSwiftShader();
  if (folders.length === 0) yield { kind: "chromium", outcome: "no Chromium-based program with SwiftShader" };
  for (const folder of folders) yield openSwiftShader("chromium", folder, flags);

  if (process.arch !== "x64") {
    yield { kind: "package", outcome: `@sparticuz/chromium holds no driver for ${process.arch}` };
    return;
  }
  try {
    yield await openSwiftShader("package", await unpackSwiftShader(options.cacheFolder), flags);
  } catch (error) {
    yield { kind: "package", outcome: firstLineOf(error) };
  }
}

/** What the machine and the user's environment offer as they are. */
async function* searchMachine(flags: readonly string[]): AsyncGenerator<Found> {
  const driver = (process.env.VK_DRIVER_FILES ?? process.env.VK_ICD_FILENAMES)?.split(delimiter)[0];
  // Asked first because Dawn writes a warning to stderr when the loader is missing.
  if (process.platform === "linux" && !mapVulkanLoader(driver && dirname(driver))) {
    yield { kind: "hardware", outcome: "no Vulkan loader (libvulkan.so.1) on this machine" };
    return;
  }
  const found = await open("hardware", flags, driver ? `no adapter through ${driver}` : "no adapter");
  if (found.opened?.adapter.info.isFallbackAdapter) {
    yield { kind: "hardware", outcome: "no GPU" };
    yield { ...found, kind: driver ? "VK_ICD_FILENAMES" : "system" };
  } else {
    yield found;
  }
}

async function openSwiftShader(kind: AdapterKind, folder: string, flags: readonly string[]): Promise<Found> {
  if (!mapVulkanLoader(folder)) return { kind, outcome: `no Vulkan loader for the driver in ${folder}` };
  return withSwiftShader(folder, () => open(kind, flags, `no adapter through the driver in ${folder}`));
}

async function open(kind: AdapterKind, flags: readonly string[], nothing: string): Promise<Found> {
  try {
    const gpu = await createGpu(flags);
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter) return { kind, outcome: describe(adapter), opened: { gpu, adapter } };
    releaseGpu(gpu);
    return { kind, outcome: nothing };
  } catch (error) {
    return { kind, outcome: firstLineOf(error) };
  }
}

const firstLineOf = (error: unknown) => messageOf(error).split("\n", 1)[0]!;

/**
 * Such as `nvidia-h200 (NVIDIA: 580.159.04)`: the device, the vendor where the device does not name
 * it, and the driver.
 */
function describe({ info }: GPUAdapter): string {
  const device = (info.device || info.architecture).replace(/-+$/, "");
  const vendor = device.startsWith(info.vendor) ? "" : info.vendor;
  const driver = info.description && `(${info.description})`;
  return [vendor, device, driver].filter(Boolean).join(" ") || "an adapter without a name";
}

function explain(tried: readonly AdapterAttempt[]): string {
  const before = tried.slice(0, -1).map(({ kind, outcome }) => `${kind}: ${outcome}`);
  return before.join("; ") || "a GPU is preferred to any software adapter";
}
