import { flags, original, shadow } from "./nativeObjects.ts";
import type { Verifier } from "./verifier.ts";

/**
 * Holds a buffer's contents back from `mapAsync` for reading until they are verified. Until then the buffer looks as
 * if its mapping were still pending. Rejects, unmapped again, when a fault may have reached the contents.
 *
 * `refuse`: whether tainted contents are refused (otherwise they are released, the fault having been reported).
 */
export function holdBack(buffer: GPUBuffer, verifier: Verifier, refuse: boolean): void {
  const mapAsync = original(buffer, "mapAsync");
  const getMappedRange = original(buffer, "getMappedRange");
  const unmap = original(buffer, "unmap");
  const destroy = original(buffer, "destroy");
  const nativePrototype: GPUBuffer = Object.getPrototypeOf(buffer);
  const nativeState = (): GPUBufferMapState => Reflect.get(nativePrototype, "mapState", buffer);
  let held: { cancelled: boolean } | undefined;

  const release = async (mapping: Promise<undefined>, hold: { cancelled: boolean }): Promise<undefined> => {
    const checking = verifier.verify();
    try {
      await mapping;
      const { lost } = await checking;
      if (hold.cancelled)
        throw new DOMException("the buffer was unmapped before its mapping was ready", "AbortError");
      const error = lost ?? (refuse ? verifier.taintOf(buffer) : undefined);
      if (error) {
        unmap();
        throw error;
      }
    } finally {
      if (held === hold) held = undefined;
    }
  };
  const cancel = () => {
    if (held) held.cancelled = true;
    held = undefined;
  };

  shadow(buffer, {
    // The native mapping is begun at once, so that its own errors come as they would without Belay.
    mapAsync: (mode, offset, size) => {
      const mapping = mapAsync(mode, offset, size);
      if (held || (mode & flags.mapRead) === 0 || nativeState() !== "pending") return mapping;
      held = { cancelled: false };
      return release(mapping, held);
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
      destroy();
    },
    get mapState() {
      return held ? "pending" : nativeState();
    },
  });
}
