/** The textures of trials. Pages load this part for kernels with textures only. */
import { type BindingPoint, bindingPointOf } from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import type { ResolvedKernel } from "../reference/referenceKernel.ts";
import { type TexelFormat, texelFormat } from "../reference/texelFormats.ts";
import { bitsOf, storeBits } from "../reference/texelNumbers.ts";
import { type BoundTexture, TextureContents } from "../reference/textures.ts";
import type { TextureType } from "../wgsl/types.ts";
import type { OtherResources } from "./deviceRun.ts";
import type { WrongWord } from "./qualification.ts";

export { textureSupport } from "../reference/textureCalls.ts";

/** A texture of a trial, and the variable that it is bound to. */
export interface TrialTexture extends BindingPoint {
  readonly name: string;
  readonly format: GPUTextureFormat;
  readonly dimension: GPUTextureDimension;
  readonly viewDimension: GPUTextureViewDimension;
  readonly size: readonly [width: number, height: number, depth: number];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True if the kernel stores to the texture. */
  readonly isOutput: boolean;
  /** True if the texture is a storage texture. */
  readonly isStorage: boolean;
}

/** The formats of textures of which a kernel knows only the type of their texels. */
const sampledFormats: Readonly<Record<string, GPUTextureFormat>> = {
  f32: "rgba8unorm",
  i32: "rgba16sint",
  u32: "rgba16uint",
};

/** The most texels of a texture that is made. */
const mostTexels = 2 ** 20;

/**
 * Returns textures for a kernel, with as many texels as a grid has invocations. Returns undefined
 * if the kernel has textures that are not made: of depths, cubes, or with several samples.
 */
export function texturesFor(
  { program, declaration, size }: ResolvedKernel,
  workgroups: readonly [number, number, number],
): TrialTexture[] | undefined {
  const made: TrialTexture[] = [];
  for (const variable of variablesOf(program, reachableFrom(program, [declaration]))) {
    const type = program.declaredTypeOf(variable);
    const point = bindingPointOf(program, variable);
    if (!point || type.kind !== "texture") continue;
    const [, shape, isArray] = /^texture_(?:storage_)?([123]d)(_array)?$/.exec(type.name) ?? [];
    const format = formatOf(type);
    const layout = format && texelFormat(format);
    if (!shape || !layout) return undefined;
    const dimension = shape as GPUTextureDimension;
    const lengths = [0, 1, 2].map((i) => workgroups[i]! * size[i]!) as [number, number, number];
    if (dimension === "1d") lengths[1] = 1;
    if (dimension !== "3d") lengths[2] = isArray ? Math.max(lengths[2], 2) : 1;
    const texels = lengths.reduce((product, each) => product * each);
    if (texels > mostTexels) return undefined;
    made.push({
      ...point,
      name: variable.name,
      format,
      dimension,
      viewDimension: isArray ? "2d-array" : dimension,
      size: lengths,
      bytes: texelsOf(layout, texels),
      isOutput: type.format !== undefined && type.access !== "read",
      isStorage: type.format !== undefined,
    });
  }
  return made;
}

function formatOf({ format, sampled }: TextureType): GPUTextureFormat | undefined {
  return (format as GPUTextureFormat | undefined) ?? sampledFormats[sampled?.name ?? ""];
}

/** Returns texels with various numbers: floats between -4 and 4, and small integers. */
function texelsOf({ bytes: step, channels }: TexelFormat, texels: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(texels * step));
  for (let texel = 0; texel < texels; texel++) {
    for (const channel of channels) {
      const i = texel * 4 + channel.component;
      const number = channel.kind === "float" ? bitsOf(channel, ((i * 7) % 33) / 4 - 4) : (i * 37) % 97;
      storeBits(view, texel * step, channel, number);
    }
  }
  return new Uint8Array(view.buffer);
}

/** Returns the textures of a trial as the executor takes them. */
export function boundTextures(
  textures: readonly TrialTexture[],
): (BoundTexture & { readonly texture: TextureContents })[] {
  return textures.map(({ group, binding, format, dimension, size, bytes }) => {
    const texture = new TextureContents({ format, dimension, size }, [bytes]);
    return { group, binding, texture };
  });
}

/** Compares the textures that a kernel stores to. Returns the number of stored texels. */
export function compareTextures(
  textures: readonly TrialTexture[],
  expected: readonly TextureContents[],
  outputs: readonly Uint8Array[],
): { readonly words: number; readonly wrong?: WrongWord } {
  let words = 0;
  for (const [i, { isOutput, name, size }] of textures.entries()) {
    if (!isOutput) continue;
    const [contents, actual] = [expected[i]!, outputs[i]!];
    words += contents.stored.size;
    const texel = contents.wrongTexel(0, actual);
    if (texel < 0) continue;
    const view = new DataView(actual.buffer, actual.byteOffset, actual.byteLength);
    const at = (texel * actual.length) / size.reduce((product, each) => product * each);
    return { words, wrong: { ...contents.describeTexel(name, texel, view, at), wrong: 1 } };
  }
  return { words };
}

/** The textures of a trial on a device. */
export class DeviceTextures implements OtherResources {
  readonly #textures: readonly TrialTexture[];
  readonly #made: GPUTexture[] = [];
  readonly #copies: (GPUBuffer | undefined)[] = [];
  /** The texels of each output after the dispatch. */
  outputs: readonly Uint8Array[] = [];

  constructor(textures: readonly TrialTexture[]) {
    this.#textures = textures;
  }

  create(device: GPUDevice): (BindingPoint & { readonly resource: GPUBindingResource })[] {
    const { TEXTURE_BINDING, STORAGE_BINDING, COPY_SRC, COPY_DST } = GPUTextureUsage;
    return this.#textures.map(
      ({ group, binding, format, dimension, viewDimension, size, bytes, isStorage }) => {
        const usage = (isStorage ? STORAGE_BINDING : TEXTURE_BINDING) | COPY_SRC | COPY_DST;
        const texture = device.createTexture({ format, dimension, size: [...size], usage });
        this.#made.push(texture);
        const bytesPerRow = bytes.length / (size[1] * size[2]);
        device.queue.writeTexture({ texture }, bytes, { bytesPerRow, rowsPerImage: size[1] }, size);
        return { group, binding, resource: texture.createView({ dimension: viewDimension }) };
      },
    );
  }

  copy(device: GPUDevice, encoder: GPUCommandEncoder): void {
    for (const [i, { isOutput, bytes, size }] of this.#textures.entries()) {
      if (!isOutput) continue;
      const bytesPerRow = paddedRow(bytes.length / (size[1] * size[2]));
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      const buffer = device.createBuffer({ size: bytesPerRow * size[1] * size[2], usage });
      this.#copies[i] = buffer;
      const to = { buffer, bytesPerRow, rowsPerImage: size[1] };
      encoder.copyTextureToBuffer({ texture: this.#made[i]! }, to, size);
    }
  }

  async read(): Promise<void> {
    this.outputs = await Promise.all(
      this.#textures.map(async ({ bytes, size }, i) => {
        const copy = this.#copies[i];
        if (!copy) return new Uint8Array();
        await copy.mapAsync(GPUMapMode.READ);
        const padded = new Uint8Array(copy.getMappedRange());
        const row = bytes.length / (size[1] * size[2]);
        const texels = new Uint8Array(bytes.length);
        for (let i = 0; i * row < texels.length; i++)
          texels.set(padded.subarray(i * paddedRow(row), i * paddedRow(row) + row), i * row);
        return texels;
      }),
    );
  }

  destroy(): void {
    for (const each of [...this.#made, ...this.#copies]) each?.destroy();
  }
}

/** Returns the bytes of a row in a buffer, which WebGPU aligns. */
const paddedRow = (bytes: number): number => Math.ceil(bytes / 256) * 256;
