/**
 * The copies, clears and query results of a command encoder. Each is encoded, recorded with the
 * ranges that it reads and writes, and told to memory protection.
 */
import type { CommandGuard } from "../memory/memoryProtection.ts";
import type { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import type { Owners } from "../webgpu/owners.ts";
import { RecordedCopy } from "../webgpu/recordedCopy.ts";
import type { AnyMethod } from "../webgpu/replayStep.ts";
import { type BufferRange, endOf, type Textures } from "../webgpu/resources.ts";
import { extentOf, texelRange } from "../webgpu/texelRange.ts";
import type { CommandRecord } from "./commandRecord.ts";

type Extent = GPUExtent3D | GPUExtent3DStrict;

/** The arguments of `copyBufferToBuffer` after the first. Offsets can be left out together. */
type ShortCopy = [to: GPUBuffer, size?: number | undefined];
type LongCopy = [fromOffset: number, to: GPUBuffer, toOffset: number, size?: number | undefined];

interface TransferParts {
  readonly owners: Owners;
  readonly textures: Textures;
  readonly usages: DeclaredUsages;
  readonly memory: CommandGuard;
}

/** Returns the methods of a command encoder that move data between buffers and textures. */
export function transferMethods(
  native: GPUCommandEncoder,
  recordOf: (encoder: GPUCommandEncoder) => CommandRecord,
  { owners, textures, usages, memory }: TransferParts,
): Partial<GPUCommandEncoder> & ThisType<GPUCommandEncoder> {
  const copyBufferToBuffer = native.copyBufferToBuffer as AnyMethod;
  return {
    copyBufferToBuffer(from: GPUBuffer, ...rest: ShortCopy | LongCopy): undefined {
      const [fromOffset, to, toOffset, asked] = isShort(rest) ? [0, rest[0], 0, rest[1]] : rest;
      const source = rangeIn(owners.accept(from), fromOffset, asked);
      const target = rangeIn(owners.accept(to), toOffset, source.size);
      const record = recordOf(this);
      memory.transfer(this, native, record, { source, target, result: "copy" }, (buffers) => {
        const copied = { ...source, buffer: usages.source(buffers.source, endOf(source)) };
        const filled = { ...target, buffer: usages.target(buffers.target, endOf(target)) };
        const size = explicit(source, asked);
        copyBufferToBuffer.call(this, copied.buffer, fromOffset, filled.buffer, toOffset, size);
        record.steps.push(new RecordedCopy(copied, filled));
      });
      record.transfer(source, target, true);
    },
    clearBuffer(buffer, offset, asked) {
      const record = recordOf(this);
      const target = rangeIn(owners.accept(buffer), offset, asked);
      memory.transfer(this, native, record, { target, result: "zeros" }, (buffers) => {
        // The device rejects the command while a pass is open, and names its arguments.
        const size = record.isInPass ? asked : explicit(target, asked);
        const cleared = usages.target(buffers.target, endOf(target));
        native.clearBuffer.call(this, cleared, offset, size);
        record.steps.push((again) => again.clearBuffer(cleared, offset, size));
      });
      record.transfer(undefined, target, true);
    },
    resolveQuerySet(given, first, count, to, offset) {
      const record = recordOf(this);
      const [querySet, buffer] = [owners.accept(given), owners.accept(to)];
      const target = rangeIn(buffer, offset, 8 * count);
      memory.transfer(this, native, record, { target }, () => {
        const used = usages.used(buffer, flags.bufferQueryResolve, endOf(target));
        native.resolveQuerySet.call(this, querySet, first, count, used, offset);
        record.steps.push((again) => again.resolveQuerySet(querySet, first, count, used, offset));
      });
      record.transfer(undefined, target, true);
    },
    copyBufferToTexture(givenFrom, givenTo, size) {
      const record = recordOf(this);
      const [from, to] = [owners.acceptIn(givenFrom, "buffer"), owners.acceptIn(givenTo, "texture")];
      const declared = { ...to, texture: usages.target(to.texture) };
      const source = texelRange(from, to, size).range;
      memory.transfer(this, native, record, { source }, (buffers) => {
        const buffer = usages.source(buffers.source, endOf(source));
        native.copyBufferToTexture.call(this, { ...from, buffer }, declared, size);
        record.steps.push((again) =>
          again.copyBufferToTexture({ ...from, buffer }, textures.forReplay(declared), size),
        );
      });
      record.transfer(source, to.texture, coversTexture(to, size));
    },
    copyTextureToBuffer(givenFrom, givenTo, size) {
      const record = recordOf(this);
      const [from, to] = [owners.acceptIn(givenFrom, "texture"), owners.acceptIn(givenTo, "buffer")];
      const declared = { ...from, texture: usages.source(from.texture) };
      const { range, isFilled } = texelRange(to, from, size);
      memory.transfer(this, native, record, { target: range, leavesGaps: !isFilled }, ({ target }) => {
        const buffer = usages.target(target, endOf(range));
        native.copyTextureToBuffer.call(this, declared, { ...to, buffer }, size);
        record.steps.push((again) =>
          again.copyTextureToBuffer(textures.forReplay(declared), { ...to, buffer }, size),
        );
      });
      record.transfer(from.texture, range, isFilled);
    },
    copyTextureToTexture(givenFrom, givenTo, size) {
      const [from, to] = [owners.acceptIn(givenFrom, "texture"), owners.acceptIn(givenTo, "texture")];
      const source = { ...from, texture: usages.source(from.texture) };
      const target = { ...to, texture: usages.target(to.texture) };
      native.copyTextureToTexture.call(this, source, target, size);
      const record = recordOf(this);
      record.steps.push((again) =>
        again.copyTextureToTexture(textures.forReplay(source), textures.forReplay(target), size),
      );
      record.transfer(from.texture, to.texture, coversTexture(to, size));
    },
  };
}

/** Returns whether a copy of this size overwrites a whole texture. */
export function coversTexture({ texture, ...to }: GPUTexelCopyTextureInfo, size: Extent): boolean {
  const { width, height, depthOrArrayLayers } = extentOf(size);
  return (
    texture.mipLevelCount === 1 &&
    (to.aspect ?? "all") === "all" &&
    width >= texture.width &&
    height >= texture.height &&
    depthOrArrayLayers >= texture.depthOrArrayLayers
  );
}

function isShort(rest: ShortCopy | LongCopy): rest is ShortCopy {
  return typeof rest[0] === "object";
}

/**
 * Returns the range of a command's offset and size. The default size reaches to the end of the
 * buffer.
 */
function rangeIn(buffer: GPUBuffer, offset = 0, size = buffer.size - offset): BufferRange {
  return { buffer, offset, size };
}

/**
 * Returns an explicit size to pass on, as the device's buffer may be larger than the program's. An
 * invalid size stays as it is.
 */
function explicit({ size }: BufferRange, asked: number | undefined): number | undefined {
  return size >= 0 ? size : asked;
}
