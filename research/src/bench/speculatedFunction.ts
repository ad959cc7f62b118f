import { readFile } from "node:fs/promises";
import type { SpeculateCall, Speculated } from "belay-speculate/internal/engine/call/call";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { createJiti } from "jiti";

/** What a function with loops takes: arrays, which it may change, and numbers. */
export type Argument = Uint8Array | Uint16Array | Uint32Array | Float32Array | number;

/** What executes the loops of a function. */
export type Executor = (call: SpeculateCall) => Promise<Speculated>;

/** A function whose loops are executed by whoever is asked to. */
export type SpeculatedFunction = (execute: Executor, parameters: readonly Argument[]) => Promise<void>;

/**
 * Loads a function from a TypeScript or JavaScript file, its loops replaced as the plugin replaces
 * them. Rejects when none is.
 */
export async function loadSpeculated(path: string, name: string): Promise<SpeculatedFunction> {
  const { code, diagnostics } = replaceLoops(await readFile(path, "utf8"), path);
  const refused = diagnostics.find(({ severity }) => severity === "error");
  if (code === undefined || refused) {
    throw new Error(refused?.message ?? `${path} has no loops to speculate`);
  }
  let executor: Executor | undefined;
  const speculate: Executor = (call) => executor!(call);
  const virtualModules = { "belay-speculate": { speculate } };
  const jiti = createJiti(import.meta.url, { fsCache: false, virtualModules });
  const module = await jiti.evalModule(code, { filename: path, async: true });
  const run = (module as Record<string, (...parameters: readonly Argument[]) => Promise<void>>)[name]!;
  return async (execute, parameters) => {
    executor = execute;
    await run(...parameters);
  };
}
