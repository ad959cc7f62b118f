import { emitTrackedLoop, type Track } from "../../src/bench/threads/trackedLoop.ts";
import type { Loop } from "../../src/loops/ir.ts";
import type { LoopData, SequentialLoop } from "../../src/loops/sequential.ts";

type Execute = (
  arrays: Readonly<Record<string, LoopData>>,
  inputs: Readonly<Record<string, number>>,
  keys: Readonly<Record<string, number>>,
  track: Track,
  reduced: Record<string, number>,
  from: number,
  to: number,
) => boolean;

/** A loop in order, one iteration after the other, in JavaScript that is made from its tree. */
export function sequentialOf(loop: Loop): SequentialLoop {
  const source = emitTrackedLoop(loop);
  const execute = new Function(
    "arrays",
    "inputs",
    "keys",
    "track",
    "reduced",
    "from",
    "to",
    source,
  ) as Execute;
  const types = { i32: Int32Array, u32: Uint32Array, f32: Float32Array };
  return (arrays, inputs, carried, reductions, from, to) => {
    const all: Record<string, LoopData> = { ...arrays };
    for (const { name, type } of loop.carried) all[name] = types[type].of(carried[name]!);
    const tracked = [...loop.arrays.filter(({ role }) => role !== "read"), ...loop.carried].map(
      ({ name }) => name,
    );
    const keys: Record<string, number> = {};
    const values: Record<string, LoopData> = {};
    let count = 0;
    for (const name of tracked) {
      keys[name] = count;
      count += all[name]!.length;
      values[name] = all[name]!.slice();
    }
    const track: Track = {
      written: new Int32Array(count).fill(-1),
      round: 0,
      reads: new Int32Array(0),
      readCount: 0,
      writes: new Int32Array(0),
      writeCount: 0,
      values: values as unknown as Track["values"],
      fuel: 1e7,
    };
    let next = from;
    let ended = false;
    while (next < to && !ended) {
      ended = execute(all, inputs, keys, track, reductions, next, next + 1);
      next++;
    }
    for (const name of tracked) {
      for (let i = 0; i < all[name]!.length; i++) {
        if (track.written[keys[name]! + i] === 0) all[name]![i] = values[name]![i]!;
      }
    }
    for (const { name } of loop.carried) carried[name] = all[name]![0]!;
    return { next, ended };
  };
}
