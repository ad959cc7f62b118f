/** The words of a granule in WGSL. */

/** Their type. */
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

/** All of them. */
export function components(value: string, words: number): string[] {
  return Array.from({ length: words }, (_, position) => component(value, words, position));
}
