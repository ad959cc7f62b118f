/** The audit of one device: the sample, the copies of its buffers, and the counts. */

import type { KernelSource } from "../compiler/filledBytes.ts";
import { mapToRead } from "../diagnostics/explainAbort.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { subgroupSizes } from "../qualify/inputs.ts";
import type {
  Audit,
  AuditableCommands,
  AuditableEffect,
  AuditReport,
  Submitted,
} from "../runtime/context/auditing.ts";
import type { Disagreement } from "../runtime/context/disagreement.ts";
import type { DispatchCall } from "../runtime/context/dispatchCall.ts";
import type { Events } from "../runtime/context/events.ts";
import { SnapshotMemory } from "../runtime/verification/snapshotMemory.ts";
import { flags, makeSilently } from "../runtime/webgpu/nativeObjects.ts";
import { type BufferRange, type ResourceRange, resourceOf } from "../runtime/webgpu/resources.ts";
import {
  AuditedDispatch,
  type AuditedKernel,
  auditedKernel,
  type BindingCopy,
  type PageRequest,
} from "./auditedKernel.ts";
import { type CopiedTexture, copiedTexture, encodeTextureCopy, placeIn, roomFor } from "./copiedTexture.ts";

/** The most GPU memory for copies of sampled dispatches, in bytes. */
const mostCopiedBytes = 2 ** 28;
/** The most workgroups of one dispatch that are sampled. */
const mostOfDispatch = 64;
/** The most kernels that are kept by their texts. */
const keptKernels = 64;
/** The time of a workgroup that is expected before one was judged, in milliseconds. */
const firstExpected = 10;
/** The most milliseconds that a budget saves up while a program is idle. */
const mostSaved = 100;
/** The time after which the execution of a workgroup pauses, in milliseconds. */
const slice = 8;
/** The most iterations of loops, and calls of functions, between two pauses: some milliseconds. */
const iterationsOfStep = 2 ** 16;
/** The interval at which a workgroup that waits looks at the budget, in milliseconds. */
const budgetInterval = 100;
/** The bytes that are copied in a millisecond, as the budget counts them: few GPUs copy less. */
const copiedInMillisecond = 2 ** 24;
/** The most milliseconds for which no sample is drawn, as the budget pays for none. */
const mostRest = 1000;
/** The number of submissions that are counted together. */
const mostUncounted = 64;
/** The number of disagreements that are kept for the report. */
const keptDisagreements = 1000;

/** The settings of an audit. */
interface Settings {
  readonly rate: number;
  readonly budget: number;
  readonly seed: number | undefined;
}

/** Sampled workgroups of one dispatch. */
interface Sample {
  readonly call: DispatchCall;
  readonly workgroups: readonly (readonly [number, number, number])[];
  /** The milliseconds that each of them was expected to take when it was drawn. */
  readonly expected: number;
  readonly copies: readonly BindingCopy[];
}

/** The samples of one submission, and the ranges that hold their copies. */
interface SampledWork {
  readonly samples: readonly Sample[];
  readonly held: readonly BufferRange[];
  readonly accepted: Promise<boolean>;
  /** Resolves to the error of the copies, if there is one. */
  readonly failed: Promise<GPUError | null>;
}

/** The sample of a submission. */
interface Drawn {
  readonly samples: readonly Sample[];
  /** The copies to make before and after the submission. */
  readonly before: readonly Copy[];
  readonly after: readonly Copy[];
  /** The reasons why drawn workgroups are not judged, with their numbers. */
  readonly undecided: readonly (readonly [reason: string, workgroups: number])[];
  /** The number of drawn workgroups without time or memory for them. */
  readonly skipped: number;
}

/** A submission that is not counted yet. */
interface UncountedSubmission {
  readonly accepted: Promise<boolean>;
  readonly commands: AuditableCommands;
  /** Absent if the budget paid for no sample, so that none was drawn. */
  readonly drawn?: Drawn;
}

/** A copy that is to be made. */
interface Copy {
  readonly from: BufferRange | CopiedTexture;
  readonly to: BufferRange;
}

export class DeviceAudit implements Audit {
  readonly #device: GPUDevice;
  readonly #events: Events;
  readonly #settings: Settings;
  readonly #random: () => number;
  readonly #memory: SnapshotMemory;
  /** The time from which on the budget counts. */
  #start = performance.now();
  /** Kernels as the executor has them, or the reasons why it has not. */
  readonly #kernels = new WeakMap<KernelSource, AuditedKernel | string>();
  /** The latest of them by their texts, the last one at the end. */
  readonly #recent = new Map<string, AuditedKernel | string>();
  /** The samples that wait for the check of their work, by epoch. */
  readonly #unchecked = new Map<object, SampledWork[]>();
  #judging: Promise<void> = Promise.resolve();
  #uncounted: UncountedSubmission[] = [];
  /** The time until which the budget pays for no sample. */
  #restsUntil = 0;
  #counting: Promise<void> = Promise.resolve();
  #dispatches = 0;
  #agreed = 0;
  #skipped = 0;
  #disagreed = 0;
  #milliseconds = 0;
  /** The milliseconds that the workgroup took so far that is being judged. */
  #taken = 0;
  /** Resolves once the workgroup that is being judged waits for the budget. */
  #waiting!: Promise<void>;
  #beginWaiting!: () => void;
  /** The bytes of all copies. */
  #copied = 0;
  /** The milliseconds that the drawn workgroups are expected to take that are not judged yet. */
  #promised = 0;
  /** The milliseconds that the next workgroup of a kernel is expected to take. */
  readonly #expected = new WeakMap<KernelSource, number>();
  readonly #reasons = new Map<string, number>();
  readonly #disagreements: Disagreement[] = [];

  constructor(device: GPUDevice, events: Events, settings: Settings) {
    this.#device = device;
    this.#events = events;
    this.#settings = settings;
    this.#random = settings.seed === undefined ? Math.random : randomFrom(settings.seed);
    this.#memory = new SnapshotMemory(device, mostCopiedBytes);
    this.#endWaiting();
  }

  get report(): AuditReport {
    const undecided = [...this.#reasons.values()].reduce((sum, count) => sum + count, 0);
    return {
      dispatches: this.#dispatches,
      workgroups: this.#agreed + undecided + this.#disagreed,
      agreed: this.#agreed,
      undecided,
      reasons: Object.fromEntries(this.#reasons),
      disagreed: this.#disagreed,
      skipped: this.#skipped,
      bound: upperBound(this.#disagreed, this.#agreed + this.#disagreed),
      milliseconds: this.#milliseconds,
      disagreements: [...this.#disagreements],
    };
  }

  around(commands: AuditableCommands, submit: () => Submitted): void {
    if (performance.now() < this.#restsUntil) {
      this.#countLater({ accepted: submit().accepted, commands });
      return;
    }
    const drawn = this.#timed(() => this.#draw(commands, this.#left()));
    const { samples, before, after } = drawn;
    if (samples.length === 0) {
      this.#countLater({ accepted: submit().accepted, commands, drawn });
      return;
    }
    const held = [...before, ...after].map(({ to }) => to);
    const failures = [this.#timed(() => this.#copy(before))];
    let submitted: Submitted;
    try {
      submitted = submit();
    } catch (error) {
      this.#drop({ samples, held });
      throw error;
    }
    const { accepted, epoch } = submitted;
    failures.push(this.#timed(() => this.#copy(after)));
    this.#countLater({ accepted, commands, drawn });
    const failed = Promise.all(failures).then((errors) => errors.find(Boolean) ?? null);
    const work = { samples, held, accepted, failed };
    if (!epoch) this.#enqueue(work);
    else this.#unchecked.set(epoch, [...(this.#unchecked.get(epoch) ?? []), work]);
  }

  settle(epochs: readonly object[], isClean: boolean): void {
    for (const epoch of epochs) {
      for (const work of this.#unchecked.get(epoch) ?? []) {
        if (isClean) this.#enqueue(work);
        else this.#abandon(work, "a check found a fault in its work");
      }
      this.#unchecked.delete(epoch);
    }
  }

  async finished(): Promise<void> {
    await this.#countAll();
    await Promise.race([this.#judging, this.#waiting]);
  }

  /** Counts a submission once it is known whether the device accepted it. */
  #countLater(submission: UncountedSubmission): void {
    this.#uncounted.push(submission);
    if (this.#uncounted.length >= mostUncounted) void this.#countAll();
  }

  #countAll(): Promise<void> {
    const submissions = this.#uncounted;
    this.#uncounted = [];
    this.#counting = this.#counting.then(async () => {
      for (const { accepted, commands, drawn } of submissions) {
        if (!(await accepted)) continue;
        const { skipped, undecided } = drawn ?? this.#timed(() => this.#draw(commands, -Infinity));
        this.#dispatches += commands.dispatches;
        this.#skipped += skipped;
        for (const [reason, workgroups] of undecided) this.#undecided(reason, workgroups);
      }
    });
    return this.#counting;
  }

  /**
   * Draws workgroups of a submission, and the copies that they need, for which some milliseconds
   * pay.
   */
  #draw(commands: AuditableCommands, milliseconds: number): Drawn {
    const { effects, unknownDispatches, hasUnknownEffects } = commands;
    let left = milliseconds;
    let lacking = Number.POSITIVE_INFINITY;
    const samples: Sample[] = [];
    const before: Copy[] = [];
    const after: Copy[] = [];
    const undecided: [string, number][] = [];
    let skipped = 0;
    for (let i = 0; i < unknownDispatches; i++)
      undecided.push(["its grid or its bind groups are unknown", this.#numberToDraw(1)]);
    for (let i = 0; i < effects.length; i++) {
      const call = effects[i]!.dispatch?.call;
      if (!call) continue;
      const [x, y, z] = call.grid as [number, number, number];
      const count = x * y * z;
      const wanted = this.#numberToDraw(count);
      if (wanted === 0) continue;
      const expected = this.#expectedOf(call.kernel);
      if (this.#affordable(left, expected) < 1) {
        lacking = Math.min(lacking, expected + this.#promised - left);
        skipped += wanted;
        continue;
      }
      const known = this.#kernels.get(call.kernel);
      const unjudged = typeof known === "string" ? known : undefined;
      const unknown = hasUnknownEffects ? "its submission has unknown commands" : undefined;
      const reason = unjudged ?? unknown ?? obstacleOf(commands, i);
      if (reason !== undefined) {
        undecided.push([reason, wanted]);
        continue;
      }
      const copyable = copyableOf(effects, i);
      const copied = copyable.map(
        ({ from, input, output }) => bytesFor(from) * (Number(input !== undefined) + Number(output)),
      );
      const bytes = copied.reduce((sum, each) => sum + each, 0);
      const afterCopies = left - bytes / copiedInMillisecond;
      const most = this.#memory.hasRoomFor(bytes)
        ? Math.min(wanted, this.#affordable(afterCopies, expected))
        : 0;
      skipped += wanted - most;
      if (most === 0) {
        lacking = Math.min(lacking, expected + this.#promised - afterCopies);
        continue;
      }
      left = afterCopies;
      this.#copied += bytes;
      this.#promised += most * expected;
      const copy = (from: Copy["from"], list: Copy[]) => {
        const { made } = makeSilently(this.#device, () => this.#memory.allocate(bytesFor(from)));
        list.push({ from, to: made });
        return "buffer" in from ? made : placeIn(made, from);
      };
      const workgroups = this.#drawn(count, most).map(
        (each) => [each % x, Math.floor(each / x) % y, Math.floor(each / (x * y))] as const,
      );
      const copies = copyable.map(({ of, from, input, output }) => ({
        ...of,
        from,
        ...(input && { input: copy(from, input === "before" ? before : after) }),
        ...(output && { output: copy(from, after) }),
      }));
      samples.push({ call, workgroups, expected, copies });
    }
    if (samples.length === 0 && lacking < Number.POSITIVE_INFINITY)
      this.#restsUntil = performance.now() + Math.min(lacking / this.#settings.budget, mostRest);
    return { samples, before, after, undecided, skipped };
  }

  /** Returns the number of workgroups of a dispatch that are sampled. */
  #numberToDraw(count: number): number {
    if (!(count > 0)) return 0;
    const expected = this.#settings.rate * count;
    const isOneMore = this.#random() < expected % 1;
    return Math.min(mostOfDispatch, Math.floor(expected) + Number(isOneMore));
  }

  /** Returns indices of different workgroups of a dispatch. */
  #drawn(count: number, wanted: number): number[] {
    const drawn = new Set<number>();
    while (drawn.size < wanted) drawn.add(Math.floor(this.#random() * count));
    return [...drawn];
  }

  /**
   * Returns the milliseconds that the budget has left, which are negative once it is overdrawn.
   * Forgets savings beyond `mostSaved`.
   */
  #left(): number {
    const { budget } = this.#settings;
    if (budget === 1) return Number.POSITIVE_INFINITY;
    const spent = this.#milliseconds + this.#copied / copiedInMillisecond;
    const saved = budget * (performance.now() - this.#start) - spent;
    if (saved > mostSaved) this.#start += (saved - mostSaved) / budget;
    return Math.min(saved, mostSaved);
  }

  /**
   * Returns the number of workgroups that some milliseconds pay for, beside those that wait. Each
   * is expected to take some milliseconds.
   */
  #affordable(left: number, expected: number): number {
    return Math.max(0, Math.floor((left - this.#promised) / expected));
  }

  #expectedOf(kernel: KernelSource): number {
    return this.#expected.get(kernel) ?? firstExpected;
  }

  /** Counts the time of a part of the audit. */
  #timed<T>(part: () => T): T {
    const start = performance.now();
    const result = part();
    this.#milliseconds += performance.now() - start;
    return result;
  }

  /** Submits copies. Resolves to their error, if there is one. */
  #copy(copies: readonly Copy[]): Promise<GPUError | null> {
    if (copies.length === 0) return Promise.resolve(null);
    return makeSilently(this.#device, () => {
      const encoder = this.#device.createCommandEncoder({ label: "belay: audit" });
      for (const { from, to } of copies) {
        if ("buffer" in from)
          encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, to.size);
        else encodeTextureCopy(encoder, from, placeIn(to, from));
      }
      this.#device.queue.submit([encoder.finish()]);
    }).failed;
  }

  #free(ranges: readonly BufferRange[]): void {
    if (ranges.length === 0) return;
    for (const range of ranges) this.#memory.free(range);
    this.#memory.destroyUnused();
  }

  #undecided(reason: string, workgroups: number): void {
    if (workgroups > 0) this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + workgroups);
  }

  #abandon({ samples, held }: SampledWork, reason: string): void {
    for (const { workgroups } of samples) this.#undecided(reason, workgroups.length);
    this.#drop({ samples, held });
  }

  /** Frees the copies of work whose workgroups are not judged. */
  #drop({ samples, held }: Pick<SampledWork, "samples" | "held">): void {
    for (const { workgroups, expected } of samples) this.#promised -= workgroups.length * expected;
    this.#free(held);
  }

  #enqueue(work: SampledWork): void {
    this.#judging = this.#judging.then(() => this.#judgeWork(work));
  }

  async #judgeWork(work: SampledWork): Promise<void> {
    const failed = await work.failed;
    if (!(await work.accepted)) return this.#drop(work);
    if (failed) return this.#abandon(work, `its resources cannot be copied: ${failed.message}`);
    for (const sample of work.samples) await this.#judge(sample);
    this.#free(work.held);
  }

  /** Judges the workgroups of a sample, each in a task of its own. */
  async #judge({ call, workgroups, expected, copies }: Sample): Promise<void> {
    let dispatch: AuditedDispatch | undefined;
    for (const workgroup of workgroups) {
      await new Promise((resolve) => setTimeout(resolve));
      this.#promised -= expected;
      // The budget paid for the workgroup when it was drawn, but not for what took longer than
      // expected since then.
      if (this.#left() < 0) {
        this.#skipped++;
        continue;
      }
      this.#taken = 0;
      try {
        dispatch ??= await this.#dispatchOf(call, copies);
        const { undecided, disagreement } = await dispatch.judge(workgroup);
        if (undecided !== undefined) this.#undecided(undecided, 1);
        else if (disagreement) this.#report(disagreement);
        else this.#agreed++;
      } catch (error) {
        this.#undecided(messageOf(error), 1);
      }
      const taken = Math.max(this.#taken, 0.9 * this.#expectedOf(call.kernel));
      // A longer workgroup begins with half of what can be saved, and waits for the rest.
      this.#expected.set(call.kernel, Math.min(taken, mostSaved / 2));
    }
  }

  /** Returns a dispatch whose workgroups can be judged. Throws the reason if they cannot. */
  async #dispatchOf(call: DispatchCall, copies: readonly BindingCopy[]): Promise<AuditedDispatch> {
    const kernel = await this.#kernelOf(call);
    if (typeof kernel === "string") throw new Error(kernel);
    return new AuditedDispatch(kernel, call, copies, {
      read: (requests) => this.#read(requests),
      inSlices: (steps) => this.#inSlices(steps),
      iterationsOfStep: this.#settings.budget === 1 ? Number.POSITIVE_INFINITY : iterationsOfStep,
      subgroupSizes: subgroupSizes(this.#device),
    });
  }

  async #kernelOf({ kernel: source, bound }: DispatchCall): Promise<AuditedKernel | string> {
    const key = JSON.stringify([source.label, source.entryPoint, source.constants, source.source]);
    // A program may create equal pipelines again and again.
    let known = this.#kernels.get(source) ?? this.#recent.get(key);
    if (known === undefined) {
      const hasTextures = bound.some(({ place }) => !("buffer" in place));
      const textures = hasTextures ? await import("./sampledTexture.ts") : undefined;
      known = await this.#inSlices(auditedKernel(source, textures));
    }
    this.#kernels.set(source, known);
    this.#recent.delete(key);
    this.#recent.set(key, known);
    for (const [oldest] of this.#recent) if (this.#recent.size > keptKernels) this.#recent.delete(oldest);
    return known;
  }

  /** Takes steps of judging a workgroup, in slices for which the budget pays. */
  async #inSlices<T>(steps: Generator<void, T>): Promise<T> {
    for (;;) {
      const before = this.#milliseconds;
      const end = this.#timed(() => {
        const start = performance.now();
        for (;;) {
          const step = steps.next();
          if (step.done) return step;
          if (performance.now() - start >= slice) return undefined;
        }
      });
      this.#taken += this.#milliseconds - before;
      if (end) return end.value;
      await this.#pause();
    }
  }

  /** Lets other tasks run, and waits until the budget is no longer overdrawn. */
  async #pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    if (this.#left() >= 0) return;
    this.#beginWaiting();
    while (this.#left() < 0) {
      await new Promise((resolve) => {
        const timer: unknown = setTimeout(resolve, budgetInterval);
        // A program in Node.js ends without the rest of the audit.
        (timer as { unref?: () => void }).unref?.();
      });
    }
    this.#endWaiting();
  }

  #endWaiting(): void {
    this.#waiting = new Promise((resolve) => {
      this.#beginWaiting = resolve;
    });
  }

  #report(disagreement: Disagreement): void {
    this.#disagreed++;
    this.#disagreements.push(disagreement);
    if (this.#disagreements.length > keptDisagreements) this.#disagreements.shift();
    this.#events.emit("disagreement", disagreement);
  }

  /** Reads pages of copies. Rejects if the device is lost. */
  async #read(requests: readonly PageRequest[]): Promise<Uint8Array[]> {
    if (requests.length === 0) return [];
    const size = requests.reduce((sum, [, page]) => sum + page.size, 0);
    const { made: staging } = this.#timed(() =>
      makeSilently(this.#device, () => {
        const usage = flags.bufferMapRead | flags.bufferCopyDst;
        const buffer = this.#device.createBuffer({ label: "belay: audit", size, usage });
        const encoder = this.#device.createCommandEncoder({ label: "belay: audit" });
        let at = 0;
        for (const [copy, page] of requests) {
          encoder.copyBufferToBuffer(copy.buffer, copy.offset + page.offset, buffer, at, page.size);
          at += page.size;
        }
        this.#device.queue.submit([encoder.finish()]);
        return buffer;
      }),
    );
    try {
      await makeSilently(this.#device, () => mapToRead(this.#device, staging)).made;
      const bytes = new Uint8Array(staging.getMappedRange().slice(0));
      let at = 0;
      return requests.map(([, page]) => {
        at += page.size;
        return bytes.subarray(at - page.size, at);
      });
    } finally {
      staging.destroy();
    }
  }
}

/** Returns the reason why the resources of a dispatch cannot be copied, if there is one. */
function obstacleOf({ effects, isRepeated }: AuditableCommands, i: number): string | undefined {
  const dispatch = effects[i]!.dispatch!;
  for (const { place, view, mode } of dispatch.call.bound) {
    if ("buffer" in place) {
      const { buffer, offset, size } = place;
      if (!(offset >= 0 && size >= 4 && offset + size <= buffer.size))
        return "a bound range is outside of its buffer";
    } else {
      const copied = copiedTexture(place, view);
      if (typeof copied === "string") return copied;
    }
    const isChangedLater =
      writes(effects.slice(i + 1), place) || (mode === "read_write" && isRepeated(dispatch));
    const isChangedEarlier = writes(effects.slice(0, i), place);
    if (
      mode === "read"
        ? isChangedEarlier && isChangedLater
        : isChangedLater || (mode === "read_write" && isChangedEarlier)
    )
      return "other commands of its submission change its buffers or textures";
  }
  return undefined;
}

/** Returns the resources of a dispatch without obstacle, with the times of their copies. */
function copyableOf(effects: readonly AuditableEffect[], i: number) {
  return effects[i]!.dispatch!.call.bound.map(({ of, place, view, mode }) => {
    const isChangedEarlier = mode === "read" && writes(effects.slice(0, i), place);
    const input = mode === "write" ? undefined : isChangedEarlier ? ("after" as const) : ("before" as const);
    // A uniform buffer may end within a word, of which no variable has a part.
    const from =
      "buffer" in place
        ? { ...place, size: place.size - (place.size % 4) }
        : (copiedTexture(place, view) as CopiedTexture);
    return { of, from, input, output: mode !== "read" };
  });
}

/** Returns the bytes that a copy takes. */
const bytesFor = (from: Copy["from"]): number => ("buffer" in from ? from.size : roomFor(from));

/** Returns true if one of some effects writes to a resource. */
function writes(effects: readonly AuditableEffect[], place: BufferRange | GPUTexture): boolean {
  return effects.some(({ written }) => {
    for (const each of written) if (overlaps(each, place)) return true;
    return false;
  });
}

function overlaps(one: ResourceRange, other: BufferRange | GPUTexture): boolean {
  if (resourceOf(one) !== resourceOf(other)) return false;
  if (!("buffer" in one) || !("buffer" in other)) return true;
  return one.offset < other.offset + other.size && other.offset < one.offset + one.size;
}

/** Returns a generator of numbers from 0 to below 1. */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The normal quantile of 95 %. */
const quantile = 1.6449;

/**
 * Returns the largest fraction that a sample supports at 95 %. It is exact if none of the sample is
 * wrong, and otherwise the score bound of Wilson (1927).
 */
export function upperBound(wrong: number, all: number): number {
  if (all === 0) return 1;
  if (wrong === 0) return 1 - 0.05 ** (1 / all);
  const [p, z] = [wrong / all, quantile ** 2 / all];
  return Math.min(1, (p + z / 2 + Math.sqrt(z * p * (1 - p) + z ** 2 / 4)) / (1 + z));
}
