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

/** The known facts about a resource that epochs write. */
class Known {
  /** Its current contents, if they need no copy: zeros, or those of a copy in advance. */
  contents: "zeros" | BufferRange | undefined;
  /** The number of the latest epoch that saved it, and how many epochs in a row did. */
  savedIn = 0;
  inARow = 0;

  constructor(contents?: "zeros") {
    this.contents = contents;
  }
}

/** The copies of buffers and textures from before epochs wrote them. */
export class Snapshots {
  readonly #device: GPUDevice;
  /** Keeps check words, which are saved with the contents of buffers. */
  readonly #checks: Pick<MemoryProtection, "checksOf" | "hostWrite">;
  readonly #memory: SnapshotMemory;
  /** The copies in advance. They equal their buffers as long as these are not written. */
  readonly #inAdvance = new Set<BufferRange>();
  /** The device's error about them; undefined once it is known that there is none. */
  #advanceFailed: Promise<GPUError | null> | undefined = undefined;
  /** The number of the open epoch, without those that saved nothing. */
  #epoch = 1;
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
    dataOn(resource).set(this, new Known("zeros"));
  }

  /** Records that a resource was written without a snapshot. */
  recordWrite(resource: GpuResource): void {
    const known = dataOf(resource)?.get(this) as Known | undefined;
    const contents = known && this.#take(known);
    if (typeof contents === "object") this.#memory.free(contents);
  }

  /** Returns the contents of a resource that is about to be written, if they need no copy. */
  #take(known: Known): "zeros" | BufferRange | undefined {
    const { contents } = known;
    known.contents = undefined;
    // Copies in advance may be discarded.
    return typeof contents !== "object" || this.#inAdvance.delete(contents) ? contents : undefined;
  }

  /** Returns the facts about a resource that is about to be saved. */
  #knownOf(resource: GpuResource): Known {
    const data = dataOn(resource);
    const known = (data.get(this) as Known | undefined) ?? new Known();
    data.set(this, known);
    return known;
  }

  /**
   * Saves the current contents of resources. Resolves to the error if the device rejects that.
   * Saves nothing and returns `"noRoom"` if the copies do not stay within the budget.
   */
  save(
    resources: readonly GpuResource[],
    into: Map<GpuResource, Contents>,
  ): Promise<GPUError | null> | "noRoom" | undefined {
    const copied: Copied[] = [];
    let bytes = 0;
    let earlier: Promise<GPUError | null> | undefined;
    for (const resource of resources) {
      const known = this.#knownOf(resource);
      known.inARow = known.savedIn === this.#epoch - 1 ? known.inARow + 1 : 1;
      known.savedIn = this.#epoch;
      const contents = this.#take(known);
      if (contents) {
        into.set(resource, contents);
        if (contents !== "zeros") earlier = this.#advanceFailed;
        continue;
      }
      const size = sizeOf(resource);
      const checks = isTexture(resource) ? undefined : this.#checks.checksOf(resource);
      copied.push({ resource, size, checks });
      bytes += size + (checks?.size ?? 0);
    }
    if (!this.#memory.hasRoomFor(bytes)) this.discardAdvance();
    if (!this.#memory.hasRoomFor(bytes)) return "noRoom";
    const failed = copied.length === 0 ? undefined : this.#copy(copied, into);
    if (!failed || !earlier) return failed ?? earlier;
    return Promise.all([failed, earlier]).then((errors) => errors.find(Boolean) ?? null);
  }

  /**
   * Copies buffers that an epoch saved, for the next epoch. It does so for those that two epochs in
   * a row have saved. The host then has nothing to do for them before the program's next commands.
   * Call it when all work of the epoch is submitted.
   */
  saveInAdvance(resources: Iterable<GpuResource>): void {
    this.discardAdvance();
    const copied: Copied[] = [];
    let bytes = 0;
    for (const resource of resources) {
      const known = this.#knownOf(resource);
      const isRepeated = known.savedIn === this.#epoch && known.inARow > 1;
      // Check words change without a write of the program.
      if (!isRepeated || isTexture(resource) || this.#checks.checksOf(resource)) continue;
      const size = sizeOf(resource);
      copied.push({ resource, size, checks: undefined });
      bytes += size;
    }
    this.#epoch++;
    // With half of the budget in use, epochs would be checked sooner.
    if (copied.length === 0 || !this.#memory.hasRoomFor(bytes, 0.5)) return;
    const copies = new Map<GpuResource, Contents>();
    const failed = this.#copy(copied, copies);
    this.#advanceFailed = failed;
    void failed.then((error) => {
      if (!error && this.#advanceFailed === failed) this.#advanceFailed = undefined;
    });
    for (const [resource, copy] of copies) {
      this.#knownOf(resource).contents = copy as BufferRange;
      this.#inAdvance.add(copy as BufferRange);
    }
  }

  /** Frees the copies in advance, as other contents may be the current ones. */
  discardAdvance(): void {
    for (const copy of this.#inAdvance) this.#memory.free(copy);
    this.#inAdvance.clear();
  }

  /** Copies resources. Resolves to the device's error, if there is one. */
  #copy(copied: readonly Copied[], into: Map<GpuResource, Contents>): Promise<GPUError | null> {
    const start = performance.now();
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
