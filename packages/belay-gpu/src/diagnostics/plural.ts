/** Returns a count with its noun: `1 program`, `2 programs`. */
export const plural = (count: number | string, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;
