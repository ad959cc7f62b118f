import type { Loop } from "../../ir.ts";
import { combine, identityOf } from "../body.ts";
import { emitLiteral } from "../expressions.ts";
import { numberInGrid, placeInGrid, workgroupSize } from "../kernel.ts";
import { fromBits, toBits, wgslName } from "../names.ts";
import { stateWords } from "./layout.ts";

/** `fn fold_x(value)`: combines a value with the loop's reduction, while others do the same. */
export function folds(loop: Loop): string {
  return loop.reductions
    .map((reduction, n) => {
      const word = `state[${stateWords.length + loop.carried.length + n}u]`;
      const sum = combine(reduction, fromBits(reduction.type, "old"), "value");
      return `fn fold_${wgslName(reduction.name)}(value: ${reduction.type}) {
  var old = atomicLoad(&${word});
  loop {
    let swap = atomicCompareExchangeWeak(&${word}, old, ${toBits(reduction.type, sum)});
    if (swap.exchanged) { break; }
    old = swap.old_value;
  }
}`;
    })
    .join("\n\n");
}

/** The unmarked iterations before the stop write what they logged; each workgroup folds its part of the reductions. */
export function commit(loop: Loop): string {
  const parts = loop.reductions.map((reduction, n) => {
    const part = `part_${wgslName(reduction.name)}`;
    const logged = fromBits(reduction.type, `log[log_reduced(rank, ${n}u)]`);
    return {
      declaration: `var<workgroup> ${part}: array<${reduction.type}, ${workgroupSize}>;`,
      fold: `  ${part}[local] = ${emitLiteral(reduction.type, identityOf(reduction))};
  if (commits) { ${part}[local] = ${logged}; }
  workgroupBarrier();
  for (var half = ${workgroupSize / 2}u; half > 0u; half /= 2u) {
    if (local < half) { ${part}[local] = ${combine(reduction, `${part}[local]`, `${part}[local + half]`)}; }
    workgroupBarrier();
  }
  if (local == 0u) { fold_${wgslName(reduction.name)}(${part}[0]); }`,
    };
  });
  return `${parts.map(({ declaration }) => declaration).join("\n")}

@compute @workgroup_size(${workgroupSize}) fn commit(${placeInGrid}) {
  let rank = ${numberInGrid};
  var commits = false;
  if (rank < min(atomicLoad(&state[STATE_STOP]), params.size) && atomicLoad(&state[STATE_RECOVERED]) != 0u) {
    commits = !is_marked(rank);
  }
  if (commits) {
    let stores = log[log_stores(rank)];
    for (var n = 0u; n < stores; n++) {
      let slot = log_store(rank, n);
      poke_key(log[slot], log[log_value(slot)]);
    }
  }
${parts.map(({ fold }) => fold).join("\n")}
}`;
}
