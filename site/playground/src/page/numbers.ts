/** Returns a duration with three digits and its unit. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${(1000 * milliseconds).toPrecision(3)} µs`;
  return `${milliseconds < 100 ? milliseconds.toPrecision(3) : Math.round(milliseconds)} ms`;
}

/** Returns a number in a count of things: `1 bit`, `2 bits`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

const word = new DataView(new ArrayBuffer(4));

/** Returns a 32-bit word as the number that it stands for. */
export function wordAsText(bits: number, isFloat: boolean): string {
  word.setUint32(0, bits);
  return isFloat ? String(Number(word.getFloat32(0).toPrecision(6))) : String(bits >>> 0);
}

/** Returns a 32-bit word as a number. */
export function wordAsNumber(bits: number, isFloat: boolean): number {
  word.setUint32(0, bits);
  return isFloat ? word.getFloat32(0) : bits >>> 0;
}
