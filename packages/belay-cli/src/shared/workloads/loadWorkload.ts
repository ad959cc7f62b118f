import { resolve } from "node:path";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { createJiti } from "jiti";
import { refuseNonFile } from "../files/input.ts";
import { CommandFailure } from "../terminal/failure.ts";

/**
 * Imports the workload that a TypeScript or JavaScript module exports as its default. Rejects with
 * a `CommandFailure` if there is none.
 */
export async function loadWorkload(path: string): Promise<Workload> {
  await refuseNonFile(path);
  const module = await importModule(path);
  if (typeof module.default !== "function") {
    throw new CommandFailure("no-workload", `${path} has no workload as its default export`, {
      help: "export default async (device: GPUDevice) => ({ name: typedArray })",
    });
  }
  return module.default as Workload;
}

/** Imports a module by jiti, which accepts all of TypeScript and resolves as bundlers do. */
async function importModule(path: string): Promise<{ default?: unknown }> {
  const jiti = createJiti(import.meta.url, { fsCache: false });
  try {
    return await jiti.import(resolve(path));
  } catch (error) {
    throw new CommandFailure("module-not-loaded", `cannot load ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
