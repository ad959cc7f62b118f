import { constants, tmpdir } from "node:os";
import { join } from "node:path";

/** The file names of the software Vulkan driver in Chromium-based programs. */
export const DRIVER = "libvk_swiftshader.so";
export const MANIFEST = "vk_swiftshader_icd.json";
export const LOADER = "libvulkan.so.1";

/** glibc's flag that keeps a library mapped after `dlclose`. Node.js has no name for it. */
const RTLD_NODELETE = 0x1000;

/**
 * True if the machine has its own loader. This is tested once, as a loader that is mapped later
 * looks the same.
 */
let machineLoader: boolean | undefined;

/**
 * Maps a Vulkan loader into the process: the machine's own, or else the one in `folder`. Returns
 * whether there is one. Dawn finds it by its soname, so neither an installed loader nor
 * `LD_LIBRARY_PATH` is needed.
 */
export function mapVulkanLoader(folder?: string): boolean {
  machineLoader ??= mapLibrary(LOADER);
  return machineLoader || (folder !== undefined && mapLibrary(join(folder, LOADER)));
}

/** Deno's own way to map a library, which keeps it mapped. Its `process.dlopen` does not. */
interface DenoLibraries {
  dlopen(path: string, symbols: object): unknown;
}

/** Maps a library and says whether it could. In Bun it is unmapped again. */
function mapLibrary(path: string): boolean {
  const { RTLD_NOW, RTLD_GLOBAL } = constants.dlopen;
  const { Deno: deno } = globalThis as { readonly Deno?: DenoLibraries };
  try {
    if (deno) deno.dlopen(path, {});
    else process.dlopen({ exports: {} }, path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  } catch (error) {
    if (!(error instanceof Error)) return false;
    // Deno names the permission that the program lacks.
    if (error.name === "NotCapable") throw error;
    // The library is no addon, so a successful load still ends in a complaint of Node.js or Bun.
    return /did not self-register|napi_register_module/.test(error.message);
  }
  return true;
}

/**
 * Tells whether the environment of the program reaches the Vulkan loader, which reads it to choose
 * a driver. Bun keeps changes of `process.env` to itself.
 */
export const reachesLoader = (): boolean => process.versions.bun === undefined;

/**
 * Calls `open` while the Vulkan loader sees only the driver in `folder`. Restores the environment
 * afterwards, as child processes choose their own driver.
 */
export async function withSwiftShader<T>(folder: string, open: () => Promise<T>): Promise<T> {
  return withEnvironment(
    {
      VK_ICD_FILENAMES: join(folder, MANIFEST),
      // Newer loaders prefer this variable, so it must not hide the variable above.
      VK_DRIVER_FILES: undefined,
      XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? tmpdir(),
    },
    open,
  );
}

async function withEnvironment<T>(
  values: Record<string, string | undefined>,
  run: () => Promise<T>,
): Promise<T> {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  const assign = ([name, value]: readonly [string, string | undefined]) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  Object.entries(values).forEach(assign);
  try {
    return await run();
  } finally {
    before.forEach(assign);
  }
}
