import { BelayError } from "belay-gpu";

/**
 * An error of a speculated loop that running the loop in order cannot repair.
 */
export class SpeculationError extends BelayError {
  override readonly name = "SpeculationError";
}

const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

export const speculationError = {
  /**
   * `names` are of the arrays whose contents are lost; none when it is not known how the program
   * calls them.
   */
  lostArrays(names: readonly string[], cause: unknown): SpeculationError {
    const what = names.length > 0 ? quoted(names) : "an array";
    return new SpeculationError(
      "resident-data-lost",
      `the device failed, and only it had the contents of ${what}`,
      {
        cause,
      },
    );
  },

  changedArrays(names: readonly string[]): SpeculationError {
    return new SpeculationError("array-changed", `${quoted(names)} changed in length while the loop ran`);
  },

  notTypedArray(value: unknown): SpeculationError {
    return new SpeculationError(
      "invalid-resident-array",
      `only typed arrays with elements of at most 32 bits stay on a device, and this is ${described(value)}`,
    );
  },

  notDevice(value: unknown): SpeculationError {
    return new SpeculationError(
      "invalid-device",
      `loops run on a GPUDevice, a hardened one, or null for the CPU, and this is ${described(value)}`,
    );
  },

  /**
   * `names` are of the arrays that a loop, which is not in an async function, would find as they
   * were.
   */
  notOnHost(names: readonly string[]): SpeculationError {
    return new SpeculationError(
      "array-on-device",
      `this loop runs on the CPU, and only the device has the current contents of ${quoted(names)}: ` +
        "await `read()` first, or make the function async",
    );
  },
};

/** Returns a description of a value in words. */
function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value instanceof Promise) return "a promise: await it";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name = value.constructor?.name ?? "Object";
  return name === "Array" ? "a plain array: make it a typed array" : `of the class ${name}`;
}
