import { explainAbort } from "../../diagnostics/explainAbort.ts";
import { refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { isMappedAndBound } from "../memory/protectedBuffers.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { Overlay, rank } from "../webgpu/overlay.ts";
import { type BufferRange, type GpuResource, isTexture, OFFSET_BEYOND_BUFFERS } from "../webgpu/resources.ts";
import type { Journal } from "./journal.ts";
import type { PendingMapping } from "./reexecution.ts";
import type { Verifier } from "./verifier.ts";

const mappable = flags.bufferMapRead | flags.bufferMapWrite;

/** The resources of dispatches with the same bind groups. */
interface BoundResources {
  readonly touched: ReadonlySet<GpuResource>;
  /** True once it is known that none of them can be mapped any more. */
  isUnmappable: boolean;
}

/** A mapping for which the program waits. */
interface GatedMapping extends PendingMapping {
  /** The native mapping. It is requested anew when work that uses the buffer is executed again. */
  mapping: Promise<undefined>;
  readonly mode: GPUMapModeFlags;
  /** The range that is mapped. */
  readonly range: BufferRange;
  cancelled: boolean;
}

/**
 * Gates `mapAsync` until all work that may use the buffer is verified. The mapping looks pending
 * until then. If a fault may have reached the contents, it rejects and the buffer is unmapped
 * again.
 */
export class MappingGate {
  readonly #device: GPUDevice;
  readonly #verifier: Verifier;
  /**
   * True if tainted contents are refused. Otherwise they are released, as the fault was reported.
   */
  readonly #refuses: boolean;
  readonly #memory: MemoryProtection;
  readonly #gated = new WeakMap<GPUBuffer, GatedMapping>();
  /** The buffers that are unmapped, and that `mapAsync` does not accept. */
  readonly #unmappable = new WeakSet<GpuResource>();
  /** The mappings that the program waits for longer than the device does. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #overlay: Overlay<GPUBuffer>;

  constructor(
    { device, policy }: RuntimeContext,
    memory: MemoryProtection,
    journal: Journal,
    verifier: Verifier,
  ) {
    this.#device = device;
    this.#verifier = verifier;
    this.#memory = memory;
    this.#refuses = refusesFaults(policy);
    const gated = this.#gated;
    const track = (mapping: Promise<undefined>) => this.#track(mapping);
    const cancel = (buffer: GPUBuffer) => this.#cancel(buffer);
    const release = (buffer: GPUBuffer, pending: GatedMapping) => this.#release(buffer, pending);
    const verified = async (buffer: GPUBuffer, mapping: Promise<undefined>): Promise<undefined> => {
      await mapping;
      await memory.verifyMapping(buffer);
    };
    this.#overlay = new Overlay((native) => {
      const stateOf = (buffer: GPUBuffer): GPUBufferMapState => Reflect.get(native, "mapState", buffer);
      return {
        // The native mapping is requested at once, so that its errors come at the same time as
        // without Belay.
        mapAsync(mode, offset, size) {
          const mapping = native.mapAsync.call(journal.destroyedTwin(this) ?? this, mode, offset, size);
          const isHeld = showsWork(this, mode) || journal.recoverable;
          if (gated.has(this) || stateOf(this) !== "pending") return mapping;
          if (!isHeld) return track(verified(this, mapping));
          let isSuspended = false;
          const request = (requested: Promise<undefined>) => {
            pending.mapping = requested;
            // A mapping that the device rejects leaves the buffer to the next one.
            requested.catch(() => {
              const isLatest = gated.get(this) === pending && pending.mapping === requested;
              if (isLatest && !isSuspended) cancel(this);
            });
          };
          const pending: GatedMapping = {
            mapping,
            mode,
            range: { buffer: this, offset: offset ?? 0, size: size ?? this.size - (offset ?? 0) },
            cancelled: false,
            suspend: () => {
              isSuspended = true;
              native.unmap.call(this);
            },
            resume: () => {
              isSuspended = false;
              request(native.mapAsync.call(this, mode, offset, size));
            },
          };
          request(mapping);
          gated.set(this, pending);
          verifier.mappings.add(pending);
          return track(release(this, pending));
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

  /**
   * Gates the mappings of a buffer with these usages from now on. Does nothing if the buffer cannot
   * be mapped.
   */
  attach(buffer: GPUBuffer, usage: GPUBufferUsageFlags): void {
    if (usage & mappable) this.#overlay.attach(buffer, undefined);
  }

  /** Returns whether a resource is a mapped buffer. */
  isMapped(resource: GpuResource): boolean {
    return this.#canBeMapped(resource) && resource.mapState !== "unmapped";
  }

  /** Returns whether no resource of dispatches is a buffer that is mapped, or ever can be. */
  areUnmappable(use: BoundResources): boolean {
    if (use.isUnmappable) return true;
    for (const resource of use.touched) if (this.#canBeMapped(resource)) return false;
    use.isUnmappable = true;
    return true;
  }

  /** Returns whether a resource is a buffer that is mapped, or ever can be. */
  #canBeMapped(resource: GpuResource): resource is GPUBuffer {
    if (this.#unmappable.has(resource) || isTexture(resource)) return false;
    if (resource.mapState !== "unmapped" || (resource.usage & mappable) !== 0) return true;
    this.#unmappable.add(resource);
    return false;
  }

  /**
   * Resolves when all mappings requested so far have settled. WebGPU settles them before a later
   * wait for submitted work.
   * Source: WebGPU, 23.4 "Promise Ordering".
   */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #track(mapping: Promise<undefined>): Promise<undefined> {
    let settle!: () => void;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#underWay.add(settled);
    try {
      return await mapping;
    } catch (error) {
      throw await explainAbort(this.#device, error, "before the buffer was mapped");
    } finally {
      this.#underWay.delete(settled);
      settle();
    }
  }

  async #release(buffer: GPUBuffer, pending: GatedMapping): Promise<undefined> {
    const verifier = this.#verifier;
    const checking = verifier.verify();
    try {
      const { lost } = await checking;
      // No unverified work uses the buffer any more, so this mapping is final.
      verifier.mappings.delete(pending);
      await pending.mapping;
      throwIfCancelled(pending);
      // A mapping that shows only data of the host is never refused, as the program uses it to
      // provide the data again.
      const isRefusable = this.#refuses && showsWork(buffer, pending.mode);
      const error = lost ?? (isRefusable ? verifier.taintOf(pending.range) : undefined);
      if (error) throw error;
      await this.#memory.verifyMapping(buffer);
      throwIfCancelled(pending);
    } catch (error) {
      if (!pending.cancelled) this.#overlay.below(buffer).unmap.call(buffer);
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
 * Returns whether a mapping shows results of the device. A buffer for uploads shows only data of
 * the host.
 */
function showsWork({ usage }: GPUBuffer, mode: GPUMapModeFlags): boolean {
  return (mode & flags.mapRead) !== 0 || isMappedAndBound(usage);
}

function throwIfCancelled({ cancelled }: GatedMapping): void {
  if (cancelled)
    throw new DOMException("the buffer was unmapped while its mapping was pending", "AbortError");
}
