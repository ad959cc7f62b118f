import { none } from "../loops/kernels/control.ts";
import { clearContributions } from "./contributions.ts";
import type { Part, Range } from "./execution.ts";
import { readWaiting } from "./readWaiting.ts";
import type { ControlState } from "./rounds.ts";
import type { Workspace } from "./workspace.ts";

/** How far an execution came whose window was given up. */
export interface Interrupted {
  /** Iterations that are done, but for those that wait. */
  readonly done: number;
  readonly waiting: readonly Range[];
  /** Whether the loop ended itself. */
  readonly ended: boolean;
}

/** Gives the rest of a window of at most `capacity` iterations up, of which some are done and others wait. */
export async function interrupt(
  workspace: Workspace,
  execution: Part,
  state: ControlState,
  { lists, contributions }: Readonly<Record<string, GPUBuffer>>,
  capacity: number,
): Promise<Interrupted> {
  const done = state.base + state.fresh;
  const ended = state.end !== none && state.fresh === state.end + 1;
  if (state.listed === 0) return { done, waiting: [], ended };
  const list = { buffer: lists!, offset: 4 * state.list * capacity, bytes: 4 * state.listed };
  const waiting = await readWaiting(workspace, list, state.base);
  for (const { from, to } of waiting) clearContributions(workspace, execution, contributions!, from, to);
  return { done, waiting, ended };
}
