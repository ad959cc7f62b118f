import { constants, tmpdir } from "node:os";
import { join } from "node:path";

/** The file names a Chromium-based program ships its software Vulkan driver under. */
export const DRIVER = "libvk_swiftshader.so";
export const MANIFEST = "vk_swiftshader_icd.json";
export const LOADER = "libvulkan.so.1";

/** glibc's flag that keeps a library mapped after `dlclose`; Node.js does not name it. */
const RTLD_NODELETE = 0x1000;

/**
 * Whether the machine has a loader of its own: asked once, because one mapped later looks the same.
 */
let machineLoader: boolean | undefined;

/**
 * Maps a Vulkan loader into the process, the machine's own or else the one in `folder`, and says
 * whether there is one. Dawn finds it by its soname, so neither an installed loader nor
 * `LD_LIBRARY_PATH` is needed.
 */
export function mapVulkanLoader(folder?: string): boolean {
  machineLoader ??= mapLibrary(LOADER);
  return machineLoader || (folder !== undefined && mapLibrary(join(folder, LOADER)));
}

function mapLibrary(path: string): boolean {
  const { RTLD_NOW, RTLD_GLOBAL } = constants.dlopen;
  try {
    process.dlopen({ exports: {} }, path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  } catch (error) {
    // The library is no Node.js addon, so a successful load still ends in this complaint.
    return error instanceof Error && error.message.includes("did not self-register");
  }
  return true;
}

/**
 * Runs `open` while the Vulkan loader sees only the driver in `folder`. The environment is put back
 * afterwards: child processes make their own choice.
 */
export async function withSwiftShader<T>(folder: string, open: () => Promise<T>): Promise<T> {
  return withEnvironment(
    {
      VK_ICD_FILENAMES: join(folder, MANIFEST),
      // Newer loaders prefer this name, so a value that led nowhere must not hide the one above.
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
