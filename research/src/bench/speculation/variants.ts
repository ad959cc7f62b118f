import { harden } from "belay-gpu/internal/runtime/harden";
import type { Engine, ExecutionOptions } from "belay-speculate/internal/engine/call/call";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import type { EngineOutcome } from "belay-speculate/internal/engine/rounds/execution";
import { publishedEngine } from "../../published/published.ts";
import { canRunUnchecked, runUnchecked } from "./unchecked.ts";

interface VariantOptions {
  readonly options: ExecutionOptions;
  /** The kinds of calls: with arrays that move in each call, or stay on the GPU. */
  readonly kinds: readonly Kind[];
  /** Returns the device that executes the loops. */
  readonly harden?: (device: GPUDevice) => Promise<GPUDevice>;
}

export type Kind = "moved" | "resident";
export type Variant =
  | "default"
  | "no reuse"
  | "published"
  | "no localization"
  | "no copy optimization"
  | "no scheduling"
  | "unchecked"
  | "hardened";

/** The engines and options that execute the loops on the GPU. */
export const variants: Readonly<Record<Variant, VariantOptions>> = {
  default: { options: {}, kinds: ["resident", "moved"] },
  "no reuse": { options: { engine: withoutReuse }, kinds: ["resident"] },
  published: { options: { engine: publishedEngine() }, kinds: ["resident", "moved"] },
  "no localization": {
    options: { engine: publishedEngine({ localization: false }) },
    kinds: ["moved"],
  },
  "no copy optimization": {
    options: { engine: publishedEngine({ copyOptimization: false }) },
    kinds: ["moved"],
  },
  "no scheduling": { options: { engine: publishedEngine({ scheduling: false }) }, kinds: ["moved"] },
  unchecked: { options: { engine: unchecked }, kinds: ["resident"] },
  hardened: {
    options: { fallback: "never" },
    kinds: ["resident", "moved"],
    harden: async (device) => harden(device, { redundancy: "intra+lds", memory: "secded128" }),
  },
};

async function unchecked(...[workspace, execution]: Parameters<Engine>): Promise<EngineOutcome> {
  const { loop, count } = execution;
  if (!canRunUnchecked(loop)) throw new Error("iterations hand values on in variables");
  await runUnchecked(workspace, execution);
  return {
    executed: count,
    ended: false,
    rounds: 1,
    misspeculated: 0,
    onCpu: 0,
    plans: ["unchecked"],
    phases: null,
  };
}

/** Runs the default engine, but checks again the facts that earlier executions have proven. */
function withoutReuse(...[workspace, execution, { timings = false }]: Parameters<Engine>) {
  return runDefault(workspace, execution, { timings, reuse: false });
}
