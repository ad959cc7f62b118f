import { refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { isMappedAndBound } from "../memory/protectedBuffers.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { Overlay, rank } from "../webgpu/overlay.ts";
import { type BufferRange, OFFSET_BEYOND_BUFFERS } from "../webgpu/resources.ts";
import type { Journal } from "./journal.ts";
import type { PendingMapping } from "./reexecution.ts";
import type { Verifier } from "./verifier.ts";

/** A mapping the program waits for. */
interface GatedMapping extends PendingMapping {
  /** The native mapping; begun anew when work that uses the buffer runs again. */
  mapping: Promise<undefined>;
  readonly mode: GPUMapModeFlags;
  /** The part that is mapped. */
  readonly range: BufferRange;
  cancelled: boolean;
}

/**
 * Gates `mapAsync` until all work that may use the buffer is verified. Until then the mapping looks
 * pending. It rejects, and the buffer is unmapped again, when a fault may have reached the
 * contents.
 */
export class MappingGate {
  readonly #verifier: Verifier;
  /**
   * Whether tainted contents are refused; otherwise they are released, as the fault has been
   * reported.
   */
  readonly #refuses: boolean;
  readonly #memory: MemoryProtection;
  readonly #gated = new WeakMap<GPUBuffer, GatedMapping>();
  readonly #layer: Overlay<GPUBuffer>;

  constructor({ policy }: RuntimeContext, memory: MemoryProtection, journal: Journal, verifier: Verifier) {
    this.#verifier = verifier;
    this.#memory = memory;
    this.#refuses = refusesFaults(policy);
    const gated = this.#gated;
    const cancel = (buffer: GPUBuffer) => this.#cancel(buffer);
    const release = (buffer: GPUBuffer, pending: GatedMapping) => this.#release(buffer, pending);
    this.#layer = new Overlay((native) => {
      const stateOf = (buffer: GPUBuffer): GPUBufferMapState => Reflect.get(native, "mapState", buffer);
      return {
        // The native mapping is begun at once, so that its own errors come as they would without
        // Belay.
        mapAsync(mode, offset, size) {
          journal.using(this);
          const mapping = native.mapAsync.call(this, mode, offset, size);
          const isHeld = showsWork(this, mode) || journal.recoverable;
          if (gated.has(this) || stateOf(this) !== "pending") return mapping;
          if (!isHeld) return mapping.then(() => memory.verifyMapping(this)).then(() => undefined);
          const pending: GatedMapping = {
            mapping,
            mode,
            range: { buffer: this, offset: offset ?? 0, size: size ?? this.size - (offset ?? 0) },
            cancelled: false,
            suspend: () => native.unmap.call(this),
            resume: () => {
              pending.mapping = native.mapAsync.call(this, mode, offset, size);
              pending.mapping.catch(() => {});
            },
          };
          mapping.catch(() => {});
          gated.set(this, pending);
          verifier.mappings.add(pending);
          return release(this, pending);
        },
        getMappedRange(offset, size) {
          return native.getMappedRange.call(
            this,
            ...(gated.has(this) ? [OFFSET_BEYOND_BUFFERS, 0] : [offset, size]),
          );
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
          return gated.has(this as never) ? "pending" : stateOf(this as never);
        },
      };
    }, rank.mapping);
  }

  /** Gates the mappings of a buffer with these usages from now on, if it can be mapped. */
  attach(buffer: GPUBuffer, usage: GPUBufferUsageFlags): void {
    if (usage & (flags.bufferMapRead | flags.bufferMapWrite)) this.#layer.attach(buffer, undefined);
  }

  async #release(buffer: GPUBuffer, pending: GatedMapping): Promise<undefined> {
    const verifier = this.#verifier;
    const checking = verifier.verify();
    try {
      const { lost } = await checking;
      // Nothing unverified uses the buffer any more, so this mapping stays.
      verifier.mappings.delete(pending);
      await pending.mapping;
      throwIfCancelled(pending);
      // A mapping that only shows what the host wrote is how the program brings the data anew.
      const isRefusable = this.#refuses && showsWork(buffer, pending.mode);
      const error = lost ?? (isRefusable ? verifier.taintOf(pending.range) : undefined);
      if (error) throw error;
      await this.#memory.verifyMapping(buffer);
      throwIfCancelled(pending);
    } catch (error) {
      if (!pending.cancelled) this.#layer.below(buffer).unmap.call(buffer);
      throw error;
    } finally {
      if (this.#gated.get(buffer) === pending) this.#gated.delete(buffer);
    }
  }

  #cancel(buffer: GPUBuffer): void {
    const pending = this.#gated.get(buffer);
    if (!pending) return;
    pending.cancelled = true;
    this.#verifier.mappings.delete(pending);
    this.#gated.delete(buffer);
  }
}

/**
 * Whether a mapping shows what work of the device wrote. A buffer for uploads shows only what the
 * host wrote.
 */
function showsWork({ usage }: GPUBuffer, mode: GPUMapModeFlags): boolean {
  return (mode & flags.mapRead) !== 0 || isMappedAndBound(usage);
}

function throwIfCancelled({ cancelled }: GatedMapping): void {
  if (cancelled)
    throw new DOMException("the buffer was unmapped while its mapping was pending", "AbortError");
}
