/** The host's passes over whole buffers with WebAssembly's vectors, one block at a time. */
import type { Columns, HostPasses } from "../linearCode.ts";
import { type Code, control, i32, local, moduleOf, v128 } from "./assembler.ts";

/** Straight-line code that computes the check words of several granules at once. */
export interface VectorKernel {
  /** The number of granules, a multiple of four. */
  readonly granules: number;
  /** Returns the check words, four in a vector. */
  checks(block: DataBlock): readonly Code[];
}

/** The data of which this code computes check words. */
export interface DataBlock {
  /** Returns vector `index` of the data. */
  load(index: number): Code;
  /** Returns a value that is computed once and used several times. */
  keep(value: Code): Code;
}

/**
 * The most bytes of data in a block. Data and check words share the module's one page of memory.
 */
const blockBytes = 32 * 1024;
/**
 * The number of granules for which vectors do not pay. As many are tried one by one after an error,
 * because further errors are often near.
 */
const few = 64;

/**
 * Returns passes by vectors. If the engine has none, or the security policy of a page forbids them,
 * `scalar` runs instead.
 */
export function vectorPasses({ words }: Columns, kernel: VectorKernel, scalar: HostPasses): HostPasses {
  let made: Functions | null | undefined;
  const functions = () => {
    if (made === undefined) made = instantiate(words, kernel);
    return made;
  };
  const blockGranules = blockBytes / 4 / words;
  return {
    encode(data, checks) {
      const vectors = checks.length > few ? functions() : null;
      if (!vectors) return scalar.encode(data, checks);
      for (let first = 0; first < checks.length; first += blockGranules) {
        const end = Math.min(first + blockGranules, checks.length);
        vectors.data.set(data.subarray(first * words, end * words));
        vectors.encode(4 * words * (end - first));
        checks.set(vectors.checks.subarray(0, end - first), first);
      }
    },
    mismatch(data, checks, from, end) {
      const near = Math.min(from + few, end);
      const found = scalar.mismatch(data, checks, from, near);
      const vectors = found < near || near === end ? null : functions();
      if (!vectors) return found < near ? found : scalar.mismatch(data, checks, near, end);
      for (let first = near; first < end; first += blockGranules) {
        const last = Math.min(first + blockGranules, end);
        vectors.data.set(data.subarray(first * words, last * words));
        vectors.checks.set(checks.subarray(first, last));
        const before = vectors.mismatch(4 * words * (last - first)) / 4;
        const at = scalar.mismatch(data, checks, Math.min(first + before, last), last);
        if (at < last) return at;
      }
      return end;
    },
  };
}

/** The functions of a module. Both take the number of data bytes in the block. */
interface Functions {
  readonly data: Uint32Array;
  readonly checks: Uint32Array;
  encode(bytes: number): number;
  /**
   * Returns four times the number of granules before the first group with an error, or before the
   * end.
   */
  mismatch(bytes: number): number;
}

function instantiate(words: number, kernel: VectorKernel): Functions | null {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(textOf(words, kernel)));
    const { buffer } = exports.memory as WebAssembly.Memory;
    return {
      ...(exports as unknown as Pick<Functions, "encode" | "mismatch">),
      data: new Uint32Array(buffer, 0, blockBytes / 4),
      checks: new Uint32Array(buffer, blockBytes),
    };
  } catch {
    return null;
  }
}

/**
 * Returns the module. A block may be followed by data of an earlier one, which is read with its
 * last granules and ignored.
 */
function textOf(words: number, { granules, checks }: VectorKernel): Uint8Array<ArrayBuffer> {
  const [bytes, from, to, firstVector] = [0, 1, 2, 3];
  const overBlock = (each: (checks: readonly Code[]) => Code) => {
    let vectors = 0;
    const body: number[] = [];
    const made = checks({
      load: (index) => v128.load(local.get(from), 16 * index),
      keep(value) {
        const register = firstVector + vectors++;
        body.push(...local.set(register, value));
        return local.get(register);
      },
    });
    body.push(
      ...each(made),
      ...local.set(from, i32.add(local.get(from), i32.constant(4 * words * granules))),
      ...local.set(to, i32.add(local.get(to), i32.constant(4 * granules))),
    );
    const loop = control.doWhile(body, i32.lessThan(local.get(from), local.get(bytes)));
    return { words: 2, vectors, code: [...loop, ...local.get(to)] };
  };
  return moduleOf({
    encode: overBlock((made) =>
      made.flatMap((check, i) => v128.store(local.get(to), blockBytes + 16 * i, check)),
    ),
    mismatch: overBlock((made) => {
      const wrong = made.map((check, i) => v128.xor(check, v128.load(local.get(to), blockBytes + 16 * i)));
      return control.returnIf(v128.isAnyBitSet(wrong.reduce(v128.or)), local.get(to));
    }),
  });
}
