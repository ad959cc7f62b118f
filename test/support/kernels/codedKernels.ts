/**
 * A host of kernels that check their memory. It provides check words, their table, and padded
 * buffers.
 */

import { type CompilerResult, reportWords, tableRow } from "belay-gpu/internal/compiler/contract";
import { type MemoryCode, schemeOf } from "belay-gpu/internal/ecc/scheme";
import { type Armed, type Host, type KernelInput, type KernelOutput, runKernel } from "./kernelRunner.ts";

/** The bits that flip in memory, in a data word or in a check word of a binding. */
export interface Flip {
  readonly binding: number;
  readonly word: number;
  readonly mask: number;
  readonly inChecks?: true;
}

export interface CodedInput extends KernelInput {
  /** The contents of the uniform buffers of group 0, by binding. */
  readonly uniforms?: Readonly<Record<number, Uint32Array<ArrayBuffer>>>;
}

export interface CodedOutput extends KernelOutput {
  readonly corrected: number;
  readonly uncorrectable: number;
  readonly suspect: number;
  /** The bindings with check words that do not fit the data. */
  readonly unfit: number[];
  /**
   * The coded buffers after a scrub, and the number of granules that it cannot correct, by binding.
   */
  readonly scrubbed: Readonly<Record<number, Scrubbed>>;
}

interface Scrubbed {
  readonly words: Uint32Array;
  readonly uncorrectable: number;
}

/**
 * Runs a result of `protect` with codes for memory. The returned buffers have the sizes of the
 * input.
 */
export async function runCoded(
  device: GPUDevice,
  result: CompilerResult,
  input: CodedInput,
  flips: readonly Flip[] = [],
  { armed = {}, host = {} }: { armed?: Armed; host?: Host } = {},
): Promise<CodedOutput> {
  const entryPoint = result.entryPoints.find(({ name }) => !input.entryPoint || name === input.entryPoint)!;
  const { checks, bindings = [] } = entryPoint.memory ?? {};
  const contents: Record<number, Uint32Array<ArrayBuffer>> = { ...input.buffers, ...input.uniforms };
  const padded: Record<number, Uint32Array<ArrayBuffer>> = {};
  for (const [binding, words] of Object.entries(contents)) padded[+binding] = atLeast(words, 4);

  // Guard words, which no kernel may touch, surround the ranges of check words in the arena.
  const table = new Uint32Array((checks?.tableBytes ?? 0) / 4);
  const guard = 0xdeadbeef;
  let end = 3;
  const places = bindings.flatMap(({ of, index, scheme, mode }) => {
    const words = contents[of.binding]!;
    const granuleWords = schemeOf(scheme).granuleBytes / 4;
    padded[of.binding] = atLeast(words, granuleWords, 4);
    if (mode === "passVerified") return [];
    const base = end;
    const size = Math.ceil(words.length / granuleWords);
    end = base + size + 1;
    table.set([base, words.byteLength], tableRow.stride * index);
    return [{ binding: of.binding, scheme, base, size }];
  });
  const arena = new Uint32Array(end + 1).fill(guard);
  for (const place of places) encodeInto(arena, padded[place.binding]!, place);
  for (const { binding, word, mask, inChecks } of flips) {
    const place = places.find((each) => each.binding === binding)!;
    if (inChecks) arena[place.base + word]! ^= mask;
    else padded[binding]![word]! ^= mask;
  }

  const uniforms = Object.keys(input.uniforms ?? {}).map((binding) => ({
    group: 0,
    binding: +binding,
    words: padded[+binding]!,
    uniform: true,
  }));
  const storage = Object.fromEntries(
    Object.keys(input.buffers).map((binding) => [binding, padded[+binding]!]),
  );
  const added = checks
    ? [
        { ...checks.arena, words: arena },
        { ...checks.table, words: table, uniform: true },
      ]
    : [];
  const output = await runKernel(device, result, { ...input, buffers: storage }, armed, {
    ...host,
    bound: [...added, ...uniforms],
  });
  const arenaAfter = checks ? output.bound[0]! : arena;
  const expected = arena.slice();
  const after = { ...padded, ...output.buffers };
  for (const place of places) encodeInto(expected, after[place.binding]!, place);
  const isUnfit = ({ base, size }: Place) =>
    expected.subarray(base, base + size).some((word, i) => word !== arenaAfter[base + i]);
  const guards = arenaAfter.filter((_, i) => !places.some(({ base, size }) => i >= base && i < base + size));
  if (guards.some((word) => word !== guard)) throw new Error("the kernel has changed check words of others");
  return {
    ...output,
    buffers: Object.fromEntries(
      Object.entries(output.buffers).map(([binding, words]) => [
        binding,
        words.subarray(0, contents[+binding]!.length),
      ]),
    ),
    corrected: output.report[reportWords.corrected] ?? 0,
    uncorrectable: output.report[reportWords.uncorrectable] ?? 0,
    suspect: output.report[reportWords.suspect] ?? 0,
    unfit: places.filter(isUnfit).map(({ binding }) => binding),
    scrubbed: Object.fromEntries(
      places.map(({ binding, scheme, base, size }) => {
        const words = after[binding]!.slice(0, (size * schemeOf(scheme).granuleBytes) / 4);
        const { uncorrectable } = schemeOf(scheme).verify(words, arenaAfter.slice(base, base + size));
        const own = words.subarray(0, contents[binding]!.length);
        return [binding, { words: own, uncorrectable: uncorrectable.length }];
      }),
    ),
  };
}

interface Place {
  readonly binding: number;
  readonly scheme: MemoryCode;
  readonly base: number;
  readonly size: number;
}

function encodeInto(arena: Uint32Array, data: Uint32Array, { scheme, base, size }: Place): void {
  const whole = data.slice(0, (size * schemeOf(scheme).granuleBytes) / 4);
  schemeOf(scheme).encode(whole, arena.subarray(base, base + size));
}

/** Returns the words, padded with zeros to a multiple of all of `multiples`. */
function atLeast(words: Uint32Array<ArrayBuffer>, ...multiples: number[]): Uint32Array<ArrayBuffer> {
  const unit = Math.max(...multiples);
  const padded = new Uint32Array(Math.ceil(words.length / unit) * unit);
  padded.set(words);
  return padded;
}
