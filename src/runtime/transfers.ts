import type { CommandRecord } from "./commandRecord.ts";
import type { DeclaredUsages } from "./declaredUsages.ts";
import type { Textures } from "./resources.ts";
import { type Anything, copyDescriptor } from "./steps.ts";

type Extent = GPUExtent3D | GPUExtent3DStrict;

/** The methods of a command encoder that move data between buffers and textures. */
export function transferMethods(
  native: GPUCommandEncoder,
  recordOf: (encoder: GPUCommandEncoder) => CommandRecord,
  textures: Textures,
  usages: DeclaredUsages,
): Partial<GPUCommandEncoder> & ThisType<GPUCommandEncoder> {
  const copyBufferToBuffer = native.copyBufferToBuffer as Anything;
  return {
    copyBufferToBuffer(from: GPUBuffer, ...rest: unknown[]): undefined {
      const isShort = typeof rest[0] === "object";
      const to = (isShort ? rest[0] : rest[1]) as GPUBuffer;
      const size = (isShort ? rest[1] : rest[3]) as number | undefined;
      const declared = rest.map((each) => (each === to ? usages.target(to) : each));
      copyBufferToBuffer.call(this, usages.source(from), ...declared);
      const record = recordOf(this);
      record.steps.push((again) => (again.copyBufferToBuffer as Anything)(from, ...rest));
      record.transfer(from, to, (size ?? from.size) >= to.size);
    },
    clearBuffer(buffer, offset, size) {
      native.clearBuffer.call(this, usages.target(buffer), offset, size);
      const record = recordOf(this);
      record.steps.push((again) => again.clearBuffer(buffer, offset, size));
      record.transfer(undefined, buffer, !offset && (size ?? buffer.size) >= buffer.size);
    },
    resolveQuerySet(querySet, first, count, buffer, offset) {
      native.resolveQuerySet.call(this, querySet, first, count, buffer, offset);
      const record = recordOf(this);
      record.steps.push((again) => again.resolveQuerySet(querySet, first, count, buffer, offset));
      record.transfer(undefined, buffer, false);
    },
    copyBufferToTexture(from, to, size) {
      const declared = { ...to, texture: usages.target(to.texture) };
      native.copyBufferToTexture.call(this, { ...from, buffer: usages.source(from.buffer) }, declared, size);
      const [fromCopy, toCopy, sizeCopy] = copyDescriptor([from, to, size] as const);
      const record = recordOf(this);
      record.steps.push((again) => again.copyBufferToTexture(fromCopy, textures.again(toCopy), sizeCopy));
      record.transfer(from.buffer, to.texture, coversTexture(to, size));
    },
    copyTextureToBuffer(from, to, size) {
      const declared = { ...to, buffer: usages.target(to.buffer) };
      native.copyTextureToBuffer.call(
        this,
        { ...from, texture: usages.source(from.texture) },
        declared,
        size,
      );
      const [fromCopy, toCopy, sizeCopy] = copyDescriptor([from, to, size] as const);
      const record = recordOf(this);
      record.steps.push((again) => again.copyTextureToBuffer(textures.again(fromCopy), toCopy, sizeCopy));
      record.transfer(from.texture, to.buffer, false);
    },
    copyTextureToTexture(from, to, size) {
      const declared = { ...to, texture: usages.target(to.texture) };
      native.copyTextureToTexture.call(
        this,
        { ...from, texture: usages.source(from.texture) },
        declared,
        size,
      );
      const [fromCopy, toCopy, sizeCopy] = copyDescriptor([from, to, size] as const);
      const record = recordOf(this);
      record.steps.push((again) =>
        again.copyTextureToTexture(textures.again(fromCopy), textures.again(toCopy), sizeCopy),
      );
      record.transfer(from.texture, to.texture, coversTexture(to, size));
    },
  };
}

/** Whether a copy of this size fills all of a texture. */
export function coversTexture({ texture, ...to }: GPUTexelCopyTextureInfo, size: Extent): boolean {
  const { width, height = 1, depthOrArrayLayers = 1 } = isIterable(size) ? extentOf(size) : size;
  return (
    texture.mipLevelCount === 1 &&
    (to.aspect ?? "all") === "all" &&
    width >= texture.width &&
    height >= texture.height &&
    depthOrArrayLayers >= texture.depthOrArrayLayers
  );
}

function extentOf(size: Iterable<number>): GPUExtent3DDict {
  const [width = 0, height = 1, depthOrArrayLayers = 1] = size;
  return { width, height, depthOrArrayLayers };
}

function isIterable(size: Extent): size is Iterable<number> {
  return Symbol.iterator in size;
}
