import type { FloatType, LoopExpression, NumberType } from "../../tree/ir.ts";
import type { HostValue } from "./values.ts";

export interface Input {
  readonly name: string;
  readonly type: NumberType;
  /** JavaScript that computes the input at the place of the loop. */
  readonly code: string;
  /** The JavaScript of the number without its conversion. */
  readonly scalar: string;
}

/** The values that the host computes before a loop runs, each once per type. */
export class Inputs {
  /** The inputs by type and code. */
  readonly #made = new Map<string, Input>();

  [Symbol.iterator](): Iterator<Input> {
    return this.#made.values();
  }

  /**
   * Returns the input that holds a host value. Integers and booleans become i32. A kernel rounds
   * f32 inputs, and the host does so before if `isRounded`.
   */
  of(value: HostValue, type: "i32" | FloatType, isRounded = false): LoopExpression {
    const code =
      value.type === "boolean"
        ? `(${value.code} ? 1 : 0)`
        : isRounded
          ? `Math.fround(${value.code})`
          : value.code;
    const key = `${type} ${code}`;
    const existing = this.#made.get(key);
    if (existing) return { kind: "input", type, name: existing.name };

    const taken = new Set([...this].map(({ name }) => name));
    const plain = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(value.code)
      ? value.code
      : `$input${taken.size}`;
    const name = taken.has(plain) ? `${plain}$${taken.size}` : plain;
    this.#made.set(key, { name, type, code, scalar: value.code });
    return { kind: "input", type, name };
  }
}
