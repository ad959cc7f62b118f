import type { Loop } from "../tree/ir.ts";
import { assembleKernel, type KernelMakers } from "./code/kernel.ts";
import { conflictKinds, declareControl, none, slotBits, states } from "./control.ts";
import { engineParameters } from "./marks.ts";

/**
 * Kernels of one invocation that schedule the rounds on the GPU. Each reads what the checks found,
 * chooses the iterations to execute or commit now, and sets the start and length of the next round.
 * The host can therefore encode rounds in advance and read the state now and then. Windows are
 * never longer than `params.longest`, for which the host sizes the dispatches. Surplus invocations
 * end at once, which costs much less than an indirect dispatch.
 * - `scheduleInPlace`: executes the iterations before the first that depends on one of them. It
 *   leaves the decision to the host if the first is unknown, or if the loop would take too many
 *   rounds.
 * - `scheduleProven`: executes windows that `scheduleInPlace` found earlier for the same addresses.
 * - `scheduleReserved`: executes the iterations that hold their elements; the others wait for the
 *   next round.
 * - `scheduleLogged`: commits the iterations before the first that misspeculated.
 * - `scheduleMultiVersion`: commits the iterations up to the first that may still change. It comes
 *   first in a round, so that `base` counts the committed iterations whenever the host reads it.
 */
export function schedulingKernels(loop: Loop): KernelMakers<keyof typeof decisions> {
  const kernel = (name: keyof typeof decisions) => () =>
    assembleKernel({
      name,
      loop,
      parameters: engineParameters(loop),
      declarations: [declareControl(loop.carried.length)],
      resources: [
        { name: "control", access: "write", type: "Control" },
        { name: "windows", access: name === "scheduleProven" ? "read" : "write", type: "array<u32>" },
      ],
      functions: [shared, decisions[name], entry(name, loop.carried.length > 0)],
    });
  return {
    scheduleInPlace: kernel("scheduleInPlace"),
    scheduleProven: kernel("scheduleProven"),
    scheduleReserved: kernel("scheduleReserved"),
    scheduleLogged: kernel("scheduleLogged"),
    scheduleMultiVersion: kernel("scheduleMultiVersion"),
  };
}

/**
 * The largest number of windows for which a loop is executed in place if that depends on their
 * lengths. More launches are not worth it.
 */
export const mostWindows = 64;

/** The shortest window after conflicts. A GPU executes about as many iterations at once. */
export const shortestWindow = 1024;

const shared = `
const NONE = 0x${none.toString(16)}u;

/** The number of iterations before the first bail-out, up to the one that ends the loop. */
fn before_end() -> u32 {
  return min(control.cut, select(control.end + 1u, NONE, control.end == NONE));
}

/** The number of iterations of the window that can be completed. */
fn limit() -> u32 { return min(control.window, before_end()); }

/** Moves the window past its completed iterations and sets its length. */
fn advance(done: u32, length: u32) {
  let ended = control.end != NONE && done == control.end + 1u;
  control.base += done;
  control.listed = 0u;
  control.fresh = 0u;
  if (ended) { control.state = ${states.ended}u; }
  else if (control.base == params.count) { control.state = ${states.finished}u; }
  else if (done == 0u) { control.state = ${states.bailedOut}u; }
  let wanted = select(params.window, length, params.window == 0u);
  control.window = min(min(wanted, params.longest), params.count - control.base);
  control.slots = control.window;
  control.cut = NONE;
  control.end = NONE;
  control.conflicts = 0u;
}

fn twice(length: u32) -> u32 { return min(length, NONE / 2u) * 2u; }`.trim();

const decisions = {
  scheduleInPlace: `
fn decide() {
  let done = limit();
  let conflicts = control.conflicts;
  let reached = control.base + done;
  // A loop whose windows double needs few of them.
  let isSlow = control.rounds > 2u * (32u - countLeadingZeros(reached));
  let isShort = isSlow && reached / control.rounds < params.count / ${mostWindows}u;
  if ((conflicts & ${conflictKinds.unclear}u) != 0u || (conflicts != 0u && isShort)) {
    control.state = ${states.conflicting}u;
    return;
  }
  control.executing = done;
  if (control.rounds <= ${mostWindows}u) { windows[control.rounds - 1u] = done; }
  // Dependences often come at regular distances.
  advance(done, select(twice(control.window), max(done, control.window / 2u), conflicts != 0u));
}`.trim(),

  scheduleProven: `
fn decide() {
  control.executing = windows[control.rounds - 1u];
  advance(control.executing, windows[min(control.rounds, ${mostWindows - 1}u)]);
}`.trim(),

  // A round takes as many new iterations as earlier ones made room for. Waiting iterations are
  // checked again in each round, so most iterations should not wait.
  scheduleReserved: `
fn decide() {
  control.executing = control.held;
  var length = control.window;
  if (control.held >= control.slots / 4u * 3u) { length = twice(length); }
  else if (control.held < control.slots / 4u) { length = max(length / 2u, ${shortestWindow}u); }
  length = min(select(params.window, length, params.window == 0u), params.longest);
  let last = min(min(params.count - control.base, ${2 ** slotBits}u), before_end());
  let seen = min(last, control.fresh + control.slots - control.listed);
  if (control.waiting > 0u || seen < last) {
    control.window = length;
    control.listed = control.waiting;
    control.list = 1u - control.list;
    control.fresh = seen;
    control.slots = control.waiting + min(last - seen, length - min(length, control.waiting));
  } else {
    advance(last, length);
  }
  control.held = 0u;
  control.waiting = 0u;
}`.trim(),

  // After a misspeculation the window is twice as long as the committed part. Without
  // misspeculations it grows fast.
  scheduleLogged: `
fn decide() {
  let done = limit();
  let clean = done == control.window;
  control.executing = done;
  control.ordered = control.conflicts;
  var length = control.window;
  if (!clean) { length = max(twice(done), ${shortestWindow}u); }
  else { length = twice(twice(length)); }
  // The search for last stores uses marks of its own epoch.
  control.epoch += 1u;
  advance(done, length);
}`.trim(),

  // Each round validates a part of the window. A large part asks for a longer window. After a small
  // part, most iterations were executed too often.
  scheduleMultiVersion: `
fn decide() {
  if (control.slots == 0u) {
    control.slots = control.window;
    control.overlap = 0u;
    control.valid_limit = NONE;
    control.progress = control.window / 8u;
    return;
  }
  let seen = control.slots;
  let cut = control.cut;
  let first_changed = select(control.changed + 1u, NONE, control.changed == NONE);
  let done = min(min(seen, before_end()), min(first_changed, control.valid_limit));
  control.executing = done;
  control.progress = control.progress / 2u + done;
  var length = control.window;
  if (control.progress > length / 4u) { length = twice(length); }
  else if (control.progress < length / 32u) { length = max(length / 2u, ${shortestWindow}u); }
  control.overlap = seen - done;
  control.valid_limit = select(cut - done + 1u, NONE, cut == NONE);
  control.changed = NONE;
  advance(done, length);
}`.trim(),
};

function entry(name: string, carries: boolean): string {
  return `@compute @workgroup_size(1)
fn ${name}() {
  control.executing = 0u;${carries ? "\n  control.carried_before = control.carried;" : ""}
  if (control.state == ${states.running}u) {
    control.rounds += 1u;
    control.evaluated += control.slots;
    if (control.evaluated < control.slots) { control.evaluated_high += 1u; }
    control.executed_id = control.execution_id;
    control.executing_base = control.base;
    control.executing_epoch = control.epoch;
    decide();
    control.epoch += 1u;
  }
  // Rounds that are still encoded do nothing.
  if (control.state != ${states.running}u) { control.slots = 0u; }
}`;
}
