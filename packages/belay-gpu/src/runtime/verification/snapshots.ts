import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { type GpuResource, isTexture, textureLike } from "../webgpu/resources.ts";

/**
 * The contents of a resource before an epoch wrote it. They are a copy, zeros as in a new resource,
 * or `"replaced"` if the epoch begins by overwriting the whole resource.
 */
export type Contents = GpuResource | "zeros" | "replaced";

/** The costs of snapshots so far. */
export interface SnapshotReport {
  /** The number of copies. */
  readonly taken: number;
  /** The bytes that were copied. */
  readonly bytes: number;
  /** The GPU memory of copies now, and at most so far, in bytes. */
  readonly held: number;
  readonly peak: number;
  /** The time that the host spent on snapshots. */
  readonly milliseconds: number;
}

/** The most copies that wait for reuse. Further ones are freed. */
const KEPT_COPIES = 16;

/** The copies of buffers and textures from before epochs wrote them. */
export class Snapshots {
  readonly #device: GPUDevice;
  /** The resources that have contained only zeros so far. */
  readonly #pristine = new WeakSet<GpuResource>();
  readonly #idle: GPUBuffer[] = [];
  #taken = 0;
  #bytes = 0;
  #held = 0;
  #peak = 0;
  #milliseconds = 0;
  /** Tells the location of a buffer's check words, which are saved with its contents. */
  readonly #memory: Pick<MemoryProtection, "checksOf">;

  constructor(device: GPUDevice, memory: Pick<MemoryProtection, "checksOf">) {
    this.#device = device;
    this.#memory = memory;
  }

  get report(): SnapshotReport {
    return {
      taken: this.#taken,
      bytes: this.#bytes,
      held: this.#held,
      peak: this.#peak,
      milliseconds: this.#milliseconds,
    };
  }

  /** Records that a resource was created and contains only zeros. */
  recordCreation(resource: GpuResource): void {
    this.#pristine.add(resource);
  }

  /** Records that a resource was written without a snapshot. */
  recordWrite(resource: GpuResource): void {
    this.#pristine.delete(resource);
  }

  /** Saves the current contents of resources. Resolves to the error if the device rejects that. */
  save(
    resources: readonly GpuResource[],
    into: Map<GpuResource, Contents>,
  ): Promise<GPUError | null> | undefined {
    const start = performance.now();
    const copied: GpuResource[] = [];
    for (const resource of resources) {
      if (this.#pristine.delete(resource)) into.set(resource, "zeros");
      else copied.push(resource);
    }
    if (copied.length === 0) return undefined;
    const { failed } = makeSilently(this.#device, () => {
      const encoder = this.#device.createCommandEncoder({ label: "belay: save" });
      for (const resource of copied) {
        const copy = this.#copyOf(resource);
        into.set(resource, copy);
        this.#encodeSave(encoder, resource, copy);
        this.#taken++;
        this.#bytes += sizeOf(resource);
      }
      this.#device.queue.submit([encoder.finish()]);
    });
    this.#milliseconds += performance.now() - start;
    return failed;
  }

  /** Restores the contents of resources. The first entry of a resource counts. */
  restore(past: Iterable<readonly [GpuResource, Contents]>): void {
    const encoder = this.#device.createCommandEncoder({ label: "belay: restore" });
    const restored = new Set<GpuResource>();
    const fresh: GpuResource[] = [];
    for (const [resource, contents] of past) {
      if (restored.has(resource)) continue;
      restored.add(resource);
      if (contents === "replaced") continue;
      if (contents !== "zeros") {
        this.#encodeRestore(encoder, contents, resource);
      } else if (isTexture(resource)) {
        const zeros = this.#textureLike(resource);
        fresh.push(zeros);
        encodeTextureCopy(encoder, zeros, resource);
      } else {
        encoder.clearBuffer(resource, 0, wholeWords(resource));
        const checks = this.#memory.checksOf(resource);
        if (checks) encoder.clearBuffer(checks.buffer, checks.offset, checks.size);
      }
    }
    this.#device.queue.submit([encoder.finish()]);
    for (const resource of fresh) resource.destroy();
  }

  /** Releases snapshots. */
  release(past: Iterable<Contents>): void {
    for (const contents of past) {
      if (typeof contents === "string") continue;
      if (isTexture(contents)) this.#free(contents);
      else this.#idle.push(contents);
    }
    while (this.#idle.length > KEPT_COPIES) this.#free(this.#idle.shift()!);
  }

  #copyOf(resource: GpuResource): GpuResource {
    if (isTexture(resource)) return this.#count(this.#textureLike(resource));
    const size = wholeWords(resource) + (this.#memory.checksOf(resource)?.size ?? 0);
    const idle = this.#idle.findIndex((copy) => copy.size === size);
    if (idle >= 0) return this.#idle.splice(idle, 1)[0]!;
    const usage = flags.bufferCopySrc | flags.bufferCopyDst;
    return this.#count(this.#device.createBuffer({ label: "belay: snapshot", size, usage }));
  }

  /** In a copy, the check words follow the data. */
  #encodeSave(encoder: GPUCommandEncoder, resource: GpuResource, copy: GpuResource): void {
    if (isTexture(resource)) {
      encodeTextureCopy(encoder, resource, copy as GPUTexture);
      return;
    }
    const [data, checks] = [wholeWords(resource), this.#memory.checksOf(resource)];
    encoder.copyBufferToBuffer(resource, 0, copy as GPUBuffer, 0, data);
    if (checks)
      encoder.copyBufferToBuffer(checks.buffer, checks.offset, copy as GPUBuffer, data, checks.size);
  }

  #encodeRestore(encoder: GPUCommandEncoder, copy: GpuResource, resource: GpuResource): void {
    if (isTexture(resource)) {
      encodeTextureCopy(encoder, copy as GPUTexture, resource);
      return;
    }
    const [data, checks] = [wholeWords(resource), this.#memory.checksOf(resource)];
    encoder.copyBufferToBuffer(copy as GPUBuffer, 0, resource, 0, data);
    if (checks)
      encoder.copyBufferToBuffer(copy as GPUBuffer, data, checks.buffer, checks.offset, checks.size);
  }

  #textureLike(texture: GPUTexture): GPUTexture {
    const attachment = texture.sampleCount > 1 ? flags.renderAttachment : 0;
    const usage = flags.textureCopySrc | flags.textureCopyDst | attachment;
    return this.#device.createTexture({ label: "belay: snapshot", ...textureLike(texture, usage) });
  }

  #count<T extends GpuResource>(copy: T): T {
    this.#held += sizeOf(copy);
    this.#peak = Math.max(this.#peak, this.#held);
    return copy;
  }

  #free(copy: GpuResource): void {
    this.#held -= sizeOf(copy);
    copy.destroy();
  }
}

function encodeTextureCopy(encoder: GPUCommandEncoder, from: GPUTexture, to: GPUTexture): void {
  for (let mipLevel = 0; mipLevel < from.mipLevelCount; mipLevel++) {
    const level = (size: number) => Math.max(1, size >> mipLevel);
    const { width, height, depthOrArrayLayers } = from;
    const depth = from.dimension === "3d" ? level(depthOrArrayLayers) : depthOrArrayLayers;
    const size = [level(width), level(height), depth];
    encoder.copyTextureToTexture({ texture: from, mipLevel }, { texture: to, mipLevel }, size);
  }
}

/**
 * Returns the size of a buffer in whole words, in bytes. Copies move whole words, and neither
 * shaders nor copies can write after the last one.
 */
function wholeWords(buffer: GPUBuffer): number {
  return buffer.size - (buffer.size % 4);
}

/**
 * Returns the size of a resource in bytes. Each texel counts as four bytes, as WebGPU does not tell
 * its size.
 */
function sizeOf(resource: GpuResource): number {
  if (!isTexture(resource)) return wholeWords(resource);
  const { width, height, depthOrArrayLayers, sampleCount } = resource;
  return 4 * width * height * depthOrArrayLayers * sampleCount;
}
