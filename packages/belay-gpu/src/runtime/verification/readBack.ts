import { refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { isMappedAndBound } from "../memory/protectedBuffers.ts";
import { Layer, rank } from "../webgpu/layer.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { BEYOND, type BufferRange } from "../webgpu/resources.ts";
import type { Journal } from "./journal.ts";
import type { PendingMapping } from "./reexecution.ts";
import type { Verifier } from "./verifier.ts";

/** A mapping the program waits for. */
interface Hold extends PendingMapping {
  /** The native mapping; begun anew when work that uses the buffer runs again. */
  mapping: Promise<undefined>;
  readonly mode: GPUMapModeFlags;
  /** The part that is mapped. */
  readonly range: BufferRange;
  cancelled: boolean;
}

/**
 * Holds mappable buffers back from `mapAsync` until all work that may use them is verified. Until then a buffer looks as
 * if its mapping were still pending. Rejects, unmapped again, when a fault may have reached the contents.
 */
export class ReadBack {
  readonly #verifier: Verifier;
  /** Whether tainted contents are refused; otherwise they are released, as the fault has been reported. */
  readonly #refuses: boolean;
  readonly #memory: MemoryProtection;
  readonly #holds = new WeakMap<GPUBuffer, Hold>();
  readonly #layer: Layer<GPUBuffer>;

  constructor({ policy }: RuntimeContext, memory: MemoryProtection, journal: Journal, verifier: Verifier) {
    this.#verifier = verifier;
    this.#memory = memory;
    this.#refuses = refusesFaults(policy);
    const holds = this.#holds;
    const cancel = (buffer: GPUBuffer) => this.#cancel(buffer);
    const release = (buffer: GPUBuffer, hold: Hold) => this.#release(buffer, hold);
    this.#layer = new Layer((native) => {
      const stateOf = (buffer: GPUBuffer): GPUBufferMapState => Reflect.get(native, "mapState", buffer);
      return {
        // The native mapping is begun at once, so that its own errors come as they would without Belay.
        mapAsync(mode, offset, size) {
          journal.using(this);
          const mapping = native.mapAsync.call(this, mode, offset, size);
          const isHeld = showsWork(this, mode) || journal.recoverable;
          if (holds.has(this) || stateOf(this) !== "pending") return mapping;
          if (!isHeld) return mapping.then(() => memory.arrived(this)).then(() => undefined);
          const hold: Hold = {
            mapping,
            mode,
            range: { buffer: this, offset: offset ?? 0, size: size ?? this.size - (offset ?? 0) },
            cancelled: false,
            suspend: () => native.unmap.call(this),
            resume: () => {
              hold.mapping = native.mapAsync.call(this, mode, offset, size);
              hold.mapping.catch(() => {});
            },
          };
          mapping.catch(() => {});
          holds.set(this, hold);
          verifier.mappings.add(hold);
          return release(this, hold);
        },
        getMappedRange(offset, size) {
          return native.getMappedRange.call(this, ...(holds.has(this) ? [BEYOND, 0] : [offset, size]));
        },
        unmap() {
          cancel(this);
          native.unmap.call(this);
        },
        destroy() {
          cancel(this);
          native.unmap.call(this);
          native.destroy.call(this);
        },
        get mapState() {
          return holds.has(this as never) ? "pending" : stateOf(this as never);
        },
      };
    }, rank.mapping);
  }

  /** Gates the mappings of a buffer with these usages from now on, if it can be mapped. */
  attach(buffer: GPUBuffer, usage: GPUBufferUsageFlags): void {
    if (usage & (flags.bufferMapRead | flags.bufferMapWrite)) this.#layer.cover(buffer, undefined);
  }

  async #release(buffer: GPUBuffer, hold: Hold): Promise<undefined> {
    const verifier = this.#verifier;
    const checking = verifier.verify();
    try {
      const { lost } = await checking;
      // Nothing unverified uses the buffer any more, so this mapping stays.
      verifier.mappings.delete(hold);
      await hold.mapping;
      throwIfCancelled(hold);
      // A mapping that only shows what the host wrote is how the program brings the data anew.
      const isRefusable = this.#refuses && showsWork(buffer, hold.mode);
      const error = lost ?? (isRefusable ? verifier.taintOf(hold.range) : undefined);
      if (error) throw error;
      await this.#memory.arrived(buffer);
      throwIfCancelled(hold);
    } catch (error) {
      if (!hold.cancelled) this.#layer.below(buffer).unmap.call(buffer);
      throw error;
    } finally {
      if (this.#holds.get(buffer) === hold) this.#holds.delete(buffer);
    }
  }

  #cancel(buffer: GPUBuffer): void {
    const hold = this.#holds.get(buffer);
    if (!hold) return;
    hold.cancelled = true;
    this.#verifier.mappings.delete(hold);
    this.#holds.delete(buffer);
  }
}

/**
 * Whether a mapping shows what work of the device wrote. A buffer for uploads shows only what the
 * host wrote.
 */
function showsWork({ usage }: GPUBuffer, mode: GPUMapModeFlags): boolean {
  return (mode & flags.mapRead) !== 0 || isMappedAndBound(usage);
}

function throwIfCancelled({ cancelled }: Hold): void {
  if (cancelled)
    throw new DOMException("the buffer was unmapped while its mapping was pending", "AbortError");
}
