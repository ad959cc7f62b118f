/** Measured quantities in words; what was not measured is left empty. */

export const ratio = (value: number | null | undefined) => (value == null ? "" : `${value.toFixed(2)}x`);

export const milliseconds = (value: number | undefined) =>
  value === undefined ? "" : `${value.toFixed(3)} ms`;

/** `3.40 TB/s`: so many units per second. */
export const rate = (value: number, unit: string) =>
  value >= 1e12 ? `${(value / 1e12).toFixed(2)} T${unit}` : `${(value / 1e9).toFixed(1)} G${unit}`;

export const share = (value: number, of: number) => `${((100 * value) / of).toFixed(0)} %`;
