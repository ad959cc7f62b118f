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
  lostArrays: (names: readonly string[], cause: unknown) =>
    new SpeculationError("BELAY540", `the device failed with what only it held of ${quoted(names)}`, { cause }),

  changedArrays: (names: readonly string[]) =>
    new SpeculationError("BELAY541", `${quoted(names)} got another length while the loop ran`),
};
