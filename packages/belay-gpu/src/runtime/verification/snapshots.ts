import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { dataOf, dataOn } from "../webgpu/attachedData.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { type BufferRange, type GpuResource, isTexture, textureLike } from "../webgpu/resources.ts";
import { SnapshotMemory } from "./snapshotMemory.ts";

/**
 * The contents of a resource before an epoch wrote it. They are a copy on the GPU, bytes that the
 * host has written, or zeros as in a new resource. They are `"replaced"` if the epoch begins by
 * overwriting the whole resource.
 */
export type Contents = BufferRange | GPUTexture | Uint8Array<ArrayBuffer> | "zeros" | "replaced";

/** The costs of snapshots so far. */
export interface SnapshotReport {
  /** The number of copies. */
  readonly taken: number;
  /** The bytes that were copied. */
  readonly bytes: number;
  /** The GPU memory for copies now, in bytes. It stays for later copies. */
  readonly held: number;
  /** The most that `held` has been. */
  readonly peak: number;
  /** The time that the host spent on snapshots. */
  readonly milliseconds: number;
}

/** A resource to copy, with its size in bytes and the check words of a buffer. */
interface Copied {
  readonly resource: GpuResource;
  readonly size: number;
  readonly checks: BufferRange | undefined;
}

/** The copies of buffers and textures from before epochs wrote them. */
export class Snapshots {
  readonly #device: GPUDevice;
  /** Keeps check words, which are saved with the contents of buffers. */
  readonly #checks: Pick<MemoryProtection, "checksOf" | "hostWrite">;
  readonly #memory: SnapshotMemory;
  #taken = 0;
  #bytes = 0;
  #milliseconds = 0;

  /** The snapshots together take at most `budget` bytes of GPU memory at a time. */
  constructor(device: GPUDevice, checks: Pick<MemoryProtection, "checksOf" | "hostWrite">, budget: number) {
    this.#device = device;
    this.#checks = checks;
    this.#memory = new SnapshotMemory(device, budget);
  }

  get report(): SnapshotReport {
    return {
      taken: this.#taken,
      bytes: this.#bytes,
      held: this.#memory.held,
      peak: this.#memory.peak,
      milliseconds: this.#milliseconds,
    };
  }

  /** The bytes of all copies now. */
  get used(): number {
    return this.#memory.used;
  }

  /** Records that a resource was created and contains only zeros. */
  recordCreation(resource: GpuResource): void {
    dataOn(resource).set(this, true);
  }

  /** Records that a resource was written without a snapshot. */
  recordWrite(resource: GpuResource): void {
    dataOf(resource)?.delete(this);
  }

  /** Returns whether a resource has contained only zeros so far. */
  #isPristine(resource: GpuResource): boolean {
    return dataOf(resource)?.get(this) === true;
  }

  /**
   * Saves the current contents of resources. Resolves to the error if the device rejects that.
   * Saves nothing and returns `"noRoom"` if the copies do not stay within the budget.
   */
  save(
    resources: readonly GpuResource[],
    into: Map<GpuResource, Contents>,
  ): Promise<GPUError | null> | "noRoom" | undefined {
    const start = performance.now();
    const pristine: GpuResource[] = [];
    const copied: Copied[] = [];
    let bytes = 0;
    for (const resource of resources) {
      if (this.#isPristine(resource)) {
        pristine.push(resource);
      } else {
        const size = sizeOf(resource);
        const checks = isTexture(resource) ? undefined : this.#checks.checksOf(resource);
        copied.push({ resource, size, checks });
        bytes += size + (checks?.size ?? 0);
      }
      this.recordWrite(resource);
    }
    if (!this.#memory.hasRoomFor(bytes)) return "noRoom";
    for (const resource of pristine) into.set(resource, "zeros");
    if (copied.length === 0) return undefined;
    const { failed } = makeSilently(this.#device, () => {
      const encoder = this.#device.createCommandEncoder({ label: "belay: save" });
      for (const each of copied) {
        const { resource } = each;
        into.set(
          resource,
          isTexture(resource)
            ? this.#copyTexture(encoder, resource)
            : this.#copyBuffer(encoder, resource, each),
        );
        this.#taken++;
        this.#bytes += each.size;
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
      if (isTexture(resource)) {
        const zeros = contents === "zeros" ? this.#textureLike(resource) : undefined;
        if (zeros) fresh.push(zeros);
        encodeTextureCopy(encoder, zeros ?? (contents as GPUTexture), resource);
      } else if (contents === "zeros") {
        encoder.clearBuffer(resource, 0, wholeWords(resource));
        const checks = this.#checks.checksOf(resource);
        if (checks) encoder.clearBuffer(checks.buffer, checks.offset, checks.size);
      } else if (contents instanceof Uint8Array) {
        const write = this.#checks.hostWrite({ buffer: resource, offset: 0, size: contents.length });
        if (write) write(contents);
        else this.#device.queue.writeBuffer(resource, 0, contents);
      } else {
        this.#restoreBuffer(encoder, contents as BufferRange, resource);
      }
    }
    this.#device.queue.submit([encoder.finish()]);
    for (const resource of fresh) resource.destroy();
  }

  /** Releases snapshots. */
  release(past: Iterable<Contents>): void {
    for (const contents of past) {
      if (typeof contents === "string" || contents instanceof Uint8Array) continue;
      if (isTexture(contents)) {
        this.#memory.removeTexture(sizeOf(contents));
        contents.destroy();
      } else {
        this.#memory.free(contents);
      }
    }
    this.#memory.destroyUnused();
  }

  #copyTexture(encoder: GPUCommandEncoder, texture: GPUTexture): GPUTexture {
    const copy = this.#textureLike(texture);
    this.#memory.addTexture(sizeOf(copy));
    encodeTextureCopy(encoder, texture, copy);
    return copy;
  }

  /** The check words of a buffer follow its data. */
  #copyBuffer(encoder: GPUCommandEncoder, buffer: GPUBuffer, { size, checks }: Copied): BufferRange {
    const copy = this.#memory.allocate(size + (checks?.size ?? 0));
    encoder.copyBufferToBuffer(buffer, 0, copy.buffer, copy.offset, size);
    if (checks)
      encoder.copyBufferToBuffer(checks.buffer, checks.offset, copy.buffer, copy.offset + size, checks.size);
    return copy;
  }

  #restoreBuffer(encoder: GPUCommandEncoder, copy: BufferRange, buffer: GPUBuffer): void {
    const [data, checks] = [wholeWords(buffer), this.#checks.checksOf(buffer)];
    encoder.copyBufferToBuffer(copy.buffer, copy.offset, buffer, 0, data);
    if (checks)
      encoder.copyBufferToBuffer(copy.buffer, copy.offset + data, checks.buffer, checks.offset, checks.size);
  }

  #textureLike(texture: GPUTexture): GPUTexture {
    const attachment = texture.sampleCount > 1 ? flags.renderAttachment : 0;
    const usage = flags.textureCopySrc | flags.textureCopyDst | attachment;
    return this.#device.createTexture({ label: "belay: snapshot", ...textureLike(texture, usage) });
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
