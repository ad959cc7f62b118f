/** Pieces of WGSL that codes share. */

/** The type of the words of a granule. */
export function wordsType(words: number): string {
  if (words === 1) return "u32";
  return words <= 4 ? `vec${words}<u32>` : `array<vec4<u32>, ${words / 4}>`;
}

/** One word of a value of that type. */
export function component(value: string, words: number, position: number): string {
  if (words === 1) return value;
  const part = "xyzw"[position % 4]!;
  return words <= 4 ? `${value}.${part}` : `${value}[${position >>> 2}].${part}`;
}

/** `Corrected` and `correct` of a code that only detects. */
export function correctNothing(prefix: string, words: number): string {
  const type = wordsType(words);
  return `struct ${prefix}Corrected { data: ${type}, status: u32 }
fn ${prefix}correct(data: ${type}, syndrome: u32) -> ${prefix}Corrected {
  return ${prefix}Corrected(data, select(0u, 2u, syndrome != 0u));
}
`;
}

/** `Corrected` and `correct` of a code that corrects one bit: the bit whose contribution is the syndrome is the wrong one. */
export function correctSingle(prefix: string, words: number): string {
  const type = wordsType(words);
  const attempts = Array.from({ length: words }, (_, position) => {
    const target = component("fixed", words, position);
    return `    if (${prefix}contribution(${position}u, bit) == syndrome) {
      ${target} ^= bit;
      return ${prefix}Corrected(fixed, 1u);
    }
`;
  });
  return `struct ${prefix}Corrected { data: ${type}, status: u32 }
fn ${prefix}correct(data: ${type}, syndrome: u32) -> ${prefix}Corrected {
  if (countOneBits(syndrome) < 2u) {
    return ${prefix}Corrected(data, countOneBits(syndrome));
  }
  var fixed = data;
  for (var bit = 1u; bit != 0u; bit <<= 1u) {
${attempts.join("")}  }
  return ${prefix}Corrected(data, 2u);
}
`;
}
