import type { Journal } from "./journal.ts";
import { flags, original, overlay } from "./nativeObjects.ts";
import type { PendingMapping } from "./reexecution.ts";
import type { Verifier } from "./verifier.ts";

/** A mapping the program waits for. */
interface Hold extends PendingMapping {
  /** The native mapping; begun anew when work that uses the buffer runs again. */
  mapping: Promise<undefined>;
  cancelled: boolean;
}

interface HoldBackOptions {
  /** Whether tainted contents are refused; otherwise they are released, the fault having been reported. */
  readonly refuse: boolean;
  /** Verifies what arrived on the host. */
  readonly arrived: (buffer: GPUBuffer) => Promise<void>;
}

/**
 * Holds a mappable buffer back from `mapAsync` until all work that may use it is verified. Until then the buffer looks as
 * if its mapping were still pending. Rejects, unmapped again, when a fault may have reached the contents.
 */
export function holdBack(
  buffer: GPUBuffer,
  verifier: Verifier,
  journal: Journal,
  { refuse, arrived }: HoldBackOptions,
): void {
  const mapAsync = original(buffer, "mapAsync");
  const getMappedRange = original(buffer, "getMappedRange");
  const unmap = original(buffer, "unmap");
  const destroy = original(buffer, "destroy");
  const nativePrototype: GPUBuffer = Object.getPrototypeOf(buffer);
  const nativeState = (): GPUBufferMapState => Reflect.get(nativePrototype, "mapState", buffer);
  let held: Hold | undefined;

  const release = async (hold: Hold): Promise<undefined> => {
    const checking = verifier.verify();
    try {
      const { lost } = await checking;
      // Nothing unverified uses the buffer any more, so this mapping stays.
      verifier.mappings.delete(hold);
      await hold.mapping;
      throwIfCancelled(hold);
      const error = lost ?? (refuse ? verifier.taintOf(buffer) : undefined);
      if (error) throw error;
      await arrived(buffer);
      throwIfCancelled(hold);
    } catch (error) {
      if (!hold.cancelled) unmap();
      throw error;
    } finally {
      if (held === hold) held = undefined;
    }
  };
  const cancel = () => {
    if (!held) return;
    held.cancelled = true;
    verifier.mappings.delete(held);
    held = undefined;
  };

  overlay(buffer, {
    // The native mapping is begun at once, so that its own errors come as they would without Belay.
    mapAsync: (mode, offset, size) => {
      journal.using(buffer);
      const mapping = mapAsync(mode, offset, size);
      const holds = (mode & flags.mapRead) !== 0 || journal.recoverable;
      if (held || nativeState() !== "pending") return mapping;
      if (!holds) return mapping.then(() => arrived(buffer)).then(() => undefined);
      const hold: Hold = {
        mapping,
        cancelled: false,
        suspend: unmap,
        resume: () => {
          hold.mapping = mapAsync(mode, offset, size);
          hold.mapping.catch(() => {});
        },
      };
      mapping.catch(() => {});
      held = hold;
      verifier.mappings.add(hold);
      return release(hold);
    },
    getMappedRange: (offset, size) => {
      if (held) throw new DOMException("the buffer's mapping is still pending", "OperationError");
      return getMappedRange(offset, size);
    },
    unmap: () => {
      cancel();
      unmap();
    },
    destroy: () => {
      cancel();
      unmap();
      destroy();
    },
    get mapState() {
      return held ? "pending" : nativeState();
    },
  });
}

function throwIfCancelled({ cancelled }: Hold): void {
  if (cancelled)
    throw new DOMException("the buffer was unmapped while its mapping was pending", "AbortError");
}
