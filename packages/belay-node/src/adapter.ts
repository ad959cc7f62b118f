import { delimiter, dirname, join } from "node:path";
import { BelayError } from "belay-gpu";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { listOf, refuseUnknown, type Values } from "belay-gpu/internal/diagnostics/options";
import { findChromiumSwiftShader, unpackSwiftShader } from "./adapterSwiftShader.ts";
import { MANIFEST, mapVulkanLoader, reachesLoader, withSwiftShader } from "./adapterVulkan.ts";
import { createGpu, destroyDevices } from "./gpu.ts";

/**
 * The origin of an adapter, in the order in which they are tried.
 *
 * - A GPU: `"hardware"`.
 * - A software adapter that the machine is set up with: `"system"`.
 * - The driver that the environment variable names: `"VK_ICD_FILENAMES"`.
 * - SwiftShader of an installed Chromium-based program: `"chromium"`.
 * - SwiftShader of the npm package `@sparticuz/chromium`: `"package"`.
 */
export type AdapterKind = "hardware" | "system" | "VK_ICD_FILENAMES" | "chromium" | "package";

const adapterKinds: readonly AdapterKind[] = [
  "hardware",
  "system",
  "VK_ICD_FILENAMES",
  "chromium",
  "package",
];

/** One origin that was tried, and the result in words. */
export interface AdapterAttempt {
  /** The origin. */
  readonly kind: AdapterKind;
  /** The result, in words. */
  readonly outcome: string;
}

/** The adapter that was opened, and the reason for it. */
export interface AdapterChoice {
  /** The origin of the adapter. */
  readonly kind: AdapterKind;
  /** The vendor, the device and the driver of the adapter. */
  readonly description: string;
  /** The reason why earlier kinds were not used. */
  readonly reason: string;
  /** All origins that were tried, in order. */
  readonly tried: readonly AdapterAttempt[];
}

/** The options of {@link openGpu}. */
export interface OpenGpuOptions {
  /** The accepted kinds; all by default. */
  readonly kinds?: readonly AdapterKind[];
  /** Flags for Dawn, such as `enable-dawn-features=…`, in addition to those that Belay needs. */
  readonly dawnFlags?: readonly string[];
  /**
   * True to get the feature `shader-f16` from NVIDIA's Vulkan driver too. Dawn offers it there only
   * upon request, as the driver does not pass all conformance tests. False by default.
   */
  readonly nvidiaHalves?: boolean;
  /**
   * The folder to which the packaged SwiftShader is unpacked; by default a folder in the user's
   * cache.
   */
  readonly cacheFolder?: string;
}

const optionValues: { readonly [Name in keyof Required<OpenGpuOptions>]: Values } = {
  kinds: listOf(adapterKinds.join(", "), (kind) => adapterKinds.some((known) => known === kind)),
  dawnFlags: listOf("texts", (dawnFlag) => typeof dawnFlag === "string"),
  nvidiaHalves: { what: "true or false", has: (wanted) => typeof wanted === "boolean" },
  cacheFolder: { what: "a path", has: (path) => typeof path === "string" },
};

/** WebGPU in Node.js, Deno or Bun, until it is closed. */
export interface OpenedGpu extends Disposable {
  /** The entry point of WebGPU, like `navigator.gpu`. */
  readonly gpu: GPU;
  /**
   * An adapter for one device, as WebGPU specifies. `gpu.requestAdapter()` returns the same one for
   * the next device.
   */
  readonly adapter: GPUAdapter;
  /** The adapter that was opened, and the reason for it. */
  readonly choice: AdapterChoice;
  /** Destroys all devices of the adapter and of `gpu`. Reads that are under way reject. */
  close(): void;
}

/**
 * The error for a machine on which no WebGPU adapter can be opened. Its message lists each origin
 * that was tried.
 */
export class NoAdapterError extends BelayError {
  override readonly name = "NoAdapterError";
  /** A suggestion for the reader. */
  declare readonly help: string;
  /** The origins that were tried, in order. */
  readonly tried: readonly AdapterAttempt[];

  constructor(tried: readonly AdapterAttempt[]) {
    const lines = tried.map(({ kind, outcome }) => `  ${kind}: ${outcome}`);
    super("no-adapter", ["no WebGPU adapter can be opened", ...lines].join("\n"), {
      help: "install a GPU driver, point VK_ICD_FILENAMES to a Vulkan driver, or install a Chromium-based browser",
    });
    this.tried = tried;
  }
}

/** Dawn rounds timestamps to 65 µs without this flag. Many kernels run for less. */
const DAWN_FLAGS = ["disable-dawn-features=timestamp_quantization"];
const HALVES_FLAG = "enable-dawn-features=vulkan_enable_f16_on_nvidia";
/**
 * Kernels zero their workgroup memory in a loop with this flag. Without it the driver does, and
 * SwiftShader compiles a store for each word. That takes most of the time of a kernel's
 * compilation.
 */
export const SWIFTSHADER_FLAG = "disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension";

/**
 * Opens WebGPU in Node.js, Deno or Bun. Prefers a GPU, and otherwise takes the best software
 * adapter. The last choice comes with the installation and needs neither a GPU, nor a Vulkan
 * loader, nor root.
 *
 * Call it on the main thread, as a worker's `process.env` does not reach the Vulkan loader.
 *
 * Rejects with a `NoAdapterError` if there is no adapter, and with a `TypeError` for options and
 * values that do not exist.
 */
export async function openGpu(options: OpenGpuOptions = {}): Promise<OpenedGpu> {
  refuseUnknown(options, optionValues);
  const accepts = (kind: AdapterKind) => options.kinds?.includes(kind) ?? true;
  const { dawnFlags = [], nvidiaHalves = false } = options;
  const flags = [...DAWN_FLAGS, ...(nvidiaHalves ? [HALVES_FLAG] : []), ...dawnFlags];
  const tried: AdapterAttempt[] = [];

  for await (const found of searchAdapters(flags, options)) {
    tried.push({ kind: found.kind, outcome: found.outcome });
    if (!found.opened) continue;
    const { gpu, adapter } = found.opened;
    if (!accepts(found.kind)) continue;
    const close = () => destroyDevices(gpu);
    const choice = { kind: found.kind, description: found.outcome, reason: explain(tried), tried };
    return { gpu, adapter, choice, close, [Symbol.dispose]: close };
  }
  throw new NoAdapterError(tried);
}

/** Returns the flags, each name once: Dawn takes the last flag of a name, and lists of features. */
function mergeFlags(flags: readonly string[]): string[] {
  const values = new Map<string, string[]>();
  for (const flag of flags) {
    const [name, value] = flag.split("=", 2) as [string, string?];
    values.set(name, [...(values.get(name) ?? []), ...(value === undefined ? [] : [value])]);
  }
  return Array.from(values, ([name, list]) => (list.length > 0 ? `${name}=${list.join(",")}` : name));
}

interface Found extends AdapterAttempt {
  readonly opened?: { readonly gpu: GPU; readonly adapter: GPUAdapter };
}

/**
 * Yields the result of each origin, best first. Later origins are only tried if they are needed.
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

/** Yields the adapters of the machine and of the user's environment. */
async function* searchMachine(flags: readonly string[]): AsyncGenerator<Found> {
  const driver = (process.env.VK_DRIVER_FILES ?? process.env.VK_ICD_FILENAMES)?.split(delimiter)[0];
  // The loader is looked for first, as Dawn writes a warning to stderr if it is missing.
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
  if (!reachesLoader()) {
    const environment = `VK_ICD_FILENAMES=${join(folder, MANIFEST)} LD_LIBRARY_PATH=${folder}`;
    return { kind, outcome: `Bun cannot choose a driver while it runs: start it with ${environment}` };
  }
  if (!mapVulkanLoader(folder)) return { kind, outcome: `no Vulkan loader for the driver in ${folder}` };
  const nothing = `no adapter through the driver in ${folder}`;
  return withSwiftShader(folder, () => open(kind, [SWIFTSHADER_FLAG, ...flags], nothing));
}

async function open(kind: AdapterKind, flags: readonly string[], nothing: string): Promise<Found> {
  try {
    const gpu = await createGpu(mergeFlags(flags));
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter) return { kind, outcome: describe(adapter), opened: { gpu, adapter } };
    return { kind, outcome: nothing };
  } catch (error) {
    return { kind, outcome: firstLineOf(error) };
  }
}

const firstLineOf = (error: unknown) => messageOf(error).split("\n", 1)[0]!;

/**
 * Returns a description such as `nvidia-h200 (NVIDIA: 580.159.04)`: the device, the vendor unless
 * the device names it, and the driver.
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
