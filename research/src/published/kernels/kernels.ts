import { emitBody } from "belay-speculate/internal/loops/kernels/code/body";
import { assembleKernel, type LoopKernel } from "belay-speculate/internal/loops/kernels/code/kernel";
import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import { parametersOf } from "belay-speculate/internal/loops/kernels/code/parameters";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { compute, computing } from "./computation.ts";
import { addedParameters, stateWords, writtenArrays } from "./layout.ts";
import {
  bookkeeping,
  cascade,
  check,
  commit,
  forget,
  markLater,
  marks,
  settle,
  stampAccesses,
} from "./phases.ts";
import { recover, recovering } from "./recovery.ts";

export type PublishedKernels = Readonly<
  Record<"compute" | "check" | "forget" | "settle" | "recover" | "cascade" | "commit", LoopKernel>
>;

/**
 * Returns the kernels of the published engine for a loop. They share the buffers of `layout.ts`.
 */
export function emitPublished(loop: Loop): PublishedKernels {
  const parameters = parametersOf(loop, addedParameters(loop));
  const kernel = (name: string, ...functions: string[]) =>
    assembleKernel({
      name: `published_${name}`,
      loop,
      parameters,
      resources: [
        { name: "state", access: "write", type: "array<atomic<u32>>" },
        { name: "tables", access: "write", type: "array<atomic<u32>>" },
        { name: "log_words", access: "write", type: "array<u32>" },
        { name: "contributions", access: "write", type: "array<u32>" },
      ],
      declarations: [bookkeeping.trim()],
      functions: functions.map((text) => text.trim()).filter((text) => text !== ""),
    });
  return {
    compute: kernel("compute", marks, stampAccesses, emitBody(loop, computing), compute(loop)),
    check: kernel("check", marks, check),
    forget: kernel("forget", forget),
    settle: kernel("settle", marks, settle),
    recover: kernel("recover", marks, pokeKey(loop), markLater, emitBody(loop, recovering), recover(loop)),
    cascade: kernel("cascade", marks, markLater, cascade),
    commit: kernel("commit", marks, pokeKey(loop), commit),
  };
}

/** Returns `fn poke_key(key, bits)`, which changes the element of a key in any array. */
function pokeKey(loop: Loop): string {
  const arrays = writtenArrays(loop).map(({ name, role }) => ({
    role,
    first: `params.key_${wgslName(name)}`,
    poke: `poke_${wgslName(name)}(key - params.key_${wgslName(name)}, bits)`,
  }));
  const carried = {
    first: "params.key_carried",
    poke: `atomicStore(&state[${stateWords.length}u + key - params.key_carried], bits)`,
  };
  const inOrder = [
    ...arrays.filter(({ role }) => role === "tracked"),
    ...(loop.carried.length > 0 ? [carried] : []),
    ...arrays.filter(({ role }) => role === "owned"),
  ];
  const cases = inOrder.reverse().map(({ first, poke }) => `  if (key >= ${first}) { ${poke}; return; }`);
  return ["fn poke_key(key: u32, bits: u32) {", ...cases, "}"].join("\n");
}
