import type { Audit } from "../context/auditing.ts";
import { refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { auditableCommands } from "../recording/auditableCommands.ts";
import type { CommandRecord } from "../recording/commandRecord.ts";
import type { Commands } from "../recording/commands.ts";
import type { DispatchUse } from "../recording/dispatchUse.ts";
import { coversTexture } from "../recording/transfers.ts";
import { flags, isIterable, proxyOf } from "../webgpu/nativeObjects.ts";
import { type BufferRange, type GpuResource, hasWholeWords } from "../webgpu/resources.ts";
import type { Journal } from "./journal.ts";
import type { MappingGate } from "./mappingGate.ts";
import type { Verifier } from "./verifier.ts";

/**
 * The number of events after which an epoch is checked even if the program waits for nothing. It is
 * checked earlier if its snapshots are large.
 */
const MAX_OPEN_EVENTS = 256;
/**
 * The most such checks at a time. A program that is faster than its checks gets longer epochs, not
 * more snapshots.
 */
const MAX_CHECKS_UNDER_WAY = 2;

/** The parts of the runtime that the queue uses. */
interface QueueParts {
  readonly context: RuntimeContext;
  readonly memory: MemoryProtection;
  readonly commands: Commands;
  readonly journal: Journal;
  readonly verifier: Verifier;
  readonly mappings: MappingGate;
  readonly audit: Audit | undefined;
}

/**
 * Returns the queue of a hardened device, which records submitted commands and writes in the
 * journal.
 */
export function hardenedQueue({
  context,
  memory,
  commands,
  journal,
  verifier,
  mappings,
  audit,
}: QueueParts): {
  readonly queue: GPUQueue;
  readonly framesShown: () => number;
} {
  const { device, owners, policy, scopes, textures, usages } = context;
  const native = device.queue;
  const refuses = refusesFaults(policy);
  const recordOf = (each: GPUCommandBuffer) => commands.recordOf(each);
  const isInvalid = (each: object) => owners.isInvalid(each);
  const isUnusable = (each: GpuResource) => mappings.isMapped(each) || isInvalid(each);
  const areUsable = (use: DispatchUse) => !owners.hasInvalid && mappings.areUnmappable(use);
  const touchesUnusable = (record: CommandRecord | undefined) => record?.touchesSome(isUnusable, areUsable);
  const isShown = (each: GpuResource) => textures.isShown(each);
  const targetOf = <T extends GpuResource>(resource: T, end?: number): T =>
    journal.destroyedTwin(resource) ?? usages.target(resource, end);
  let framesShown = 0;
  /** The latest wait of the program for submitted work. */
  let lastWait: Promise<unknown> = Promise.resolve();
  const queue = proxyOf(native, {
    submit: (commandBuffers: Iterable<GPUCommandBuffer>): undefined => {
      // The device rejects other arguments in its own words.
      if (!isIterable(commandBuffers)) return native.submit(commandBuffers);
      const submitted = owners.acceptAll(commandBuffers);
      const records = submitted.map(recordOf);
      const uses = journal.usesOfDestroyed(records);
      // The device rejects such commands, so there is nothing to record.
      if (uses.length > 0 || submitted.some(isInvalid) || records.some(touchesUnusable)) {
        native.submit([...submitted, ...uses]);
        return;
      }
      for (const record of records) {
        if (!record || !textures.hasShown || !some(record.written, isShown)) continue;
        framesShown++;
        for (const resource of refuses ? record.read : []) {
          const tainted = verifier.taintOf(resource);
          if (tainted) throw tainted;
        }
      }
      const submit = () =>
        journal.submit(submitted, records, (commands) =>
          native.submit(memory.withUpdates(commands, records)),
        );
      if (audit) audit.around(auditableCommands(records), submit);
      else submit();
      const isLong = journal.openEvents >= MAX_OPEN_EVENTS || journal.isNearBudget;
      if (isLong && journal.closedEpochs < MAX_CHECKS_UNDER_WAY) void verifier.verify();
    },
    writeBuffer: (...args: Parameters<GPUQueue["writeBuffer"]>): undefined => {
      const [given, offset, data, start, size] = args;
      const buffer = owners.accept(given);
      const bytes = bytesOf(data, start, size);
      const range = { buffer, offset, size: bytes?.length ?? 0 };
      const target = targetOf(buffer, offset + range.size);
      const isTaken = bytes && !mappings.isMapped(buffer) && target === buffer && isWritable(range);
      const guarded = isTaken ? memory.hostWrite(range) : undefined;
      const write = guarded ?? ((data: Uint8Array<ArrayBuffer>) => native.writeBuffer(target, offset, data));
      if (isTaken) journal.recordBufferWrite(range, bytes, write);
      // Dawn aborts the process if it gets shared memory in Node.js.
      const own = bytes && isShared(bytes) ? bytes.slice() : (bytes as Uint8Array<ArrayBuffer> | undefined);
      if (guarded && own) guarded(own);
      else if (own && own !== bytes) native.writeBuffer(target, offset, own);
      else native.writeBuffer(target, offset, data, start, size);
    },
    writeTexture: (...args: Parameters<GPUQueue["writeTexture"]>): undefined => {
      const [given, data, layout, size] = args;
      const to = owners.acceptIn(given, "texture");
      const declared = { ...to, texture: targetOf(to.texture) };
      const write = () => native.writeTexture(declared, data, layout, size);
      journal.writeTexture(to.texture, coversTexture(to, size), write, () => {
        const view = ArrayBuffer.isView(data)
          ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
          : new Uint8Array(data);
        const bytes = view.slice();
        return () => native.writeTexture(declared, bytes, layout, size);
      });
    },
    copyExternalImageToTexture: (...args: Parameters<GPUQueue["copyExternalImageToTexture"]>): undefined => {
      const [source, given, size] = args;
      const to = owners.acceptIn(given, "texture");
      const declared = { ...to, texture: targetOf(to.texture) };
      journal.writeTexture(to.texture, coversTexture(to, size), () =>
        native.copyExternalImageToTexture(source, declared, size),
      );
    },
    onSubmittedWorkDone: async (): Promise<undefined> => {
      const checking = verifier.verify();
      // The program hears of these first, as on a plain device: of earlier waits and mappings, of
      // errors, and of rejected commands.
      const earlier = [lastWait, mappings.settled(), scopes.reported];
      const wait = async () => {
        await native.onSubmittedWorkDone();
        await journal.counted;
        await checking;
        await Promise.allSettled(earlier);
      };
      lastWait = wait();
      return lastWait as Promise<undefined>;
    },
  });
  return { queue, framesShown: () => framesShown };
}

function some<T>(items: Iterable<T>, isTrue: (item: T) => boolean): boolean {
  for (const item of items) if (isTrue(item)) return true;
  return false;
}

/**
 * Returns whether the host can write a range of an unmapped buffer, by the rules of `writeBuffer`.
 */
function isWritable(range: BufferRange): boolean {
  return (range.buffer.usage & flags.bufferCopyDst) !== 0 && hasWholeWords(range);
}

function isShared({ buffer }: Uint8Array): boolean {
  return !(buffer instanceof ArrayBuffer);
}

/**
 * Returns the part of `data` that `writeBuffer` writes. `start` and `size` count elements of a
 * typed array, or else bytes. Undefined if WebGPU throws an error for them.
 */
function bytesOf(data: GPUAllowSharedBufferSource, start = 0, size?: number): Uint8Array | undefined {
  const unit = ArrayBuffer.isView(data) && "BYTES_PER_ELEMENT" in data ? Number(data.BYTES_PER_ELEMENT) : 1;
  const [buffer, offset] = ArrayBuffer.isView(data) ? [data.buffer, data.byteOffset] : [data, 0];
  const length = size === undefined ? data.byteLength - start * unit : size * unit;
  const fits = start >= 0 && length >= 0 && start * unit + length <= data.byteLength && length % 4 === 0;
  return fits ? new Uint8Array(buffer, offset + start * unit, length) : undefined;
}
