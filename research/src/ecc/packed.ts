/**
 * A code word made of several code words of a smaller code that share one check word, as published
 * for 32-bit checks of 16 bytes.
 */

import { correctedStruct, fromAll } from "belay-gpu/internal/ecc/correction";
import { columnsOf, type LinearCode } from "belay-gpu/internal/ecc/linearCode";
import { component, components, construct, wordsType } from "belay-gpu/internal/ecc/words";
import { tablePasses } from "./byteTables.ts";

/**
 * Returns a code whose granule is `times` granules of `inner`. It corrects errors in each of them.
 */
export function packed(inner: LinearCode, times: 2 | 4): LinearCode {
  const { checkBits: bits } = inner;
  const words = times * inner.words;
  const columns = columnsOf(words, times * bits, (position, bit) => {
    const field = Math.floor(position / inner.words);
    return (inner.columns[32 * (position % inner.words) + bit]! << (field * bits)) >>> 0;
  });
  return {
    ...columns,
    host: tablePasses(columns),
    correction: {
      corrects: inner.correction.corrects,
      locate(syndrome) {
        const places: number[] = [];
        for (let field = 0; field < times; field++) {
          const part = (syndrome >>> (field * bits)) & ((1 << bits) - 1);
          if (part === 0) continue;
          const found = inner.correction.locate(part);
          if (found === undefined) return undefined;
          for (const place of found) {
            const isData = place < inner.columns.length;
            places.push(
              isData
                ? field * inner.columns.length + place
                : columns.columns.length + field * bits + place - inner.columns.length,
            );
          }
        }
        for (let bit = times * bits; bit < 32; bit++)
          if ((syndrome >>> bit) & 1) places.push(columns.columns.length + bit);
        return places;
      },
      wgsl: (prefix) => correctText(prefix, inner, times),
      wgslOfParts: (prefix) => fromAll(prefix, words),
    },
    wgsl: (
      prefix,
    ) => `${inner.wgsl(`${prefix}inner_`)}${inner.correction.wgsl(`${prefix}inner_`)}fn ${prefix}encode(data: ${wordsType(words)}) -> u32 {
  return ${fieldsOf(inner, times)
    .map((data, field) => `(${prefix}inner_encode(${data}) << ${field * bits}u)`)
    .join(" | ")};
}
fn ${prefix}contribution(position: u32, word: u32) -> u32 {
  return ${prefix}inner_contribution(position % ${inner.words}u, word) << (${bits}u * (position / ${inner.words}u));
}
${words > 4 ? quadText(prefix) : ""}`,
  };
}

function quadText(prefix: string): string {
  const each = components("data", 4).map((word, i) => `${prefix}contribution(4u * place + ${i}u, ${word})`);
  return `fn ${prefix}quad(place: u32, data: vec4<u32>) -> u32 {
  return ${each.join(" ^ ")};
}
`;
}

/** Returns the data of each code word. */
function fieldsOf(inner: LinearCode, times: number): string[] {
  return Array.from({ length: times }, (_, field) => {
    const first = component("data", times * inner.words, field * inner.words);
    return inner.words === 1 ? first : first.replace(/x$/, "xy").replace(/z$/, "zw");
  });
}

/**
 * Returns code that corrects all fields or none, as the host does. It leaves a granule that it
 * can't correct as it was found. It ignores bits of the check word that no field uses.
 */
function correctText(prefix: string, inner: LinearCode, times: number): string {
  const words = times * inner.words;
  const { checkBits: bits } = inner;
  const fields = fieldsOf(inner, times);
  const parts = fields.map(
    (data, field) =>
      `  let part${field} = ${prefix}inner_correct(${data}, (syndrome >> ${field * bits}u) & ${(1 << bits) - 1}u);\n`,
  );
  const results = fields.flatMap((_, field) => components(`part${field}.data`, inner.words));
  const given = components("data", words);
  const chosen = results.map((result, i) => `select(${result}, ${given[i]}, status == 2u)`);
  const unused = times * bits < 32 ? `select(0u, 1u, (syndrome >> ${times * bits}u) != 0u)` : "0u";
  const status = fields.reduce((worst, _, field) => `max(${worst}, part${field}.status)`, unused);
  return `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
${parts.join("")}  let status = ${status};
  return ${prefix}Corrected(${construct(words, chosen)}, status);
}
`;
}
