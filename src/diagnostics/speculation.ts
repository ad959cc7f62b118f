/** What can go wrong while a speculated loop runs and cannot be made good by running it in order. */
export class SpeculationError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SpeculationError";
    this.code = code;
  }
}

const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

export const speculationError = {
  /** `names` are of the arrays whose contents are lost; none when it is not known how the program calls them. */
  lostArrays(names: readonly string[], cause: unknown): SpeculationError {
    const what = names.length > 0 ? quoted(names) : "an array";
    return new SpeculationError("BELAY540", `the device failed with what only it had of ${what}`, { cause });
  },

  changedArrays(names: readonly string[]): SpeculationError {
    return new SpeculationError("BELAY541", `${quoted(names)} got another length while the loop ran`);
  },
};
