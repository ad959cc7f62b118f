import { proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";
import { readBuffers } from "../../workloads/buffers.ts";

/** A device on which programs on 32-bit floats become programs on 16-bit floats. */
export interface Halved {
  readonly device: GPUDevice;
  /** Converts the inputs of all programs that were prepared. */
  convert(): Promise<void>;
}

/**
 * Returns a view of a device that replaces `f32` by `f16` in kernels. Buffers keep their sizes.
 * Each word that held a 32-bit float then holds the same number twice.
 */
export function asHalves(device: GPUDevice): Halved {
  const { MAP_READ, MAP_WRITE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  const created: GPUBuffer[] = [];
  let hasFloats = false;
  const halved = proxyOf(device, {
    createShaderModule(descriptor: GPUShaderModuleDescriptor) {
      const code = kernelOnHalves(descriptor.code);
      hasFloats ||= code !== descriptor.code;
      return device.createShaderModule({ ...descriptor, code });
    },
    createBuffer(descriptor: GPUBufferDescriptor) {
      if (descriptor.usage & (MAP_READ | MAP_WRITE)) return device.createBuffer(descriptor);
      const buffer = device.createBuffer({ ...descriptor, usage: descriptor.usage | COPY_SRC | COPY_DST });
      created.push(buffer);
      return buffer;
    },
  });
  return {
    device: halved,
    async convert() {
      if (!hasFloats) return;
      for (const buffer of created.splice(0)) {
        const words = new Uint32Array(await readBuffers(device, buffer));
        device.queue.writeBuffer(buffer, 0, words.map(twoHalves));
      }
    },
  };
}

/**
 * The functions of Sobel's filter that name the bits of 32-bit floats. These convert in their
 * place. Differences are divided by 16, as their squares would overflow.
 */
const conversions: Readonly<Record<string, string>> = {
  centered: "(numbers: vec4u) -> vec4f { return vec4f(vec4i(numbers) - 1020) / 16.0; }",
  strength: `(across: vec4u, down: vec4u) -> vec4u {
  let a = centered(across);
  let d = centered(down);
  return vec4u(min(sqrt(a * a + d * d) * 8.0, vec4f(255.0)));
}`,
};

/** Returns a kernel with `f16` in place of `f32`. Kernels without floats stay as they are. */
export function kernelOnHalves(code: string): string {
  if (!/\b(f32|vec[234]f|mat[234]x[234]f)\b/.test(code)) return code;
  const converting = code.replaceAll(
    /\bfn (centered|strength)\([\s\S]*?\n\}/g,
    (_, name: string) => `fn ${name}${conversions[name]}`,
  );
  const halves = converting
    .replaceAll(/\bf32\b/g, "f16")
    .replaceAll(/\b(vec[234]|mat[234]x[234])f\b/g, "$1h")
    .replaceAll(/(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?)f?(?![\w.])/g, "$1h");
  return `enable f16;\n${halves}`;
}

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

/** Returns a word with two halves of the float that a word holds. Other words stay. */
function twoHalves(bits: number): number {
  word[0] = bits;
  const size = Math.abs(float[0]!);
  // Whole numbers and indices are tiny as floats.
  if (!(size >= 2 ** -14 && size < 65_504)) return bits;
  const half = ((bits >>> 16) & 0x8000) | ((((bits >>> 23) & 255) - 112) << 10) | ((bits >>> 13) & 1023);
  return ((half << 16) | half) >>> 0;
}
