/** The parts that made-up results of programs share: the machine, and times with their spread. */

/** The time and the place of a made-up measurement. */
export const machine = {
  date: "2000-01-01",
  node: "v20",
  platform: "linux x64",
  adapter: { kind: "hardware", description: "a GPU", reason: "", tried: [] },
} as const;

/** Returns a median with bounds around it. */
export const times = (median: number) => ({ median, lower: 0.9 * median, upper: 1.2 * median });
