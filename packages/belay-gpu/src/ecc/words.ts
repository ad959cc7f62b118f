/** The words of a granule, as WGSL. */

/** Returns the type of a granule of `words` words. */
export function wordsType(words: number): string {
  if (words === 1) return "u32";
  return words <= 4 ? `vec${words}<u32>` : `array<vec4<u32>, ${words / 4}>`;
}

/** Returns one word of a value of this type. */
export function component(value: string, words: number, position: number): string {
  if (words === 1) return value;
  const part = "xyzw"[position % 4]!;
  return words <= 4 ? `${value}.${part}` : `${value}[${position >>> 2}].${part}`;
}

/** Returns all words of a value of this type. */
export function components(value: string, words: number): string[] {
  return Array.from({ length: words }, (_, position) => component(value, words, position));
}

/** Returns a value of this type composed of words. */
export function construct(words: number, each: readonly string[]): string {
  if (words === 1) return each[0]!;
  if (words <= 4) return `${wordsType(words)}(${each.join(", ")})`;
  const quads = each.flatMap((_, i) =>
    i % 4 === 0 ? [`vec4<u32>(${each.slice(i, i + 4).join(", ")})`] : [],
  );
  return `${wordsType(words)}(${quads.join(", ")})`;
}
