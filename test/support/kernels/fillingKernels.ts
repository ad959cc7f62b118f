/** Random kernels that store one value to many elements of an array, often to all of them. */
import fc from "fast-check";

/** The texts that all kernels share. */
interface Shared {
  /** The stored value, of type u32. */
  readonly value: string;
  /** A condition that depends on contents. */
  readonly condition: string;
}

/**
 * Returns random statements, and random indices of type u32. They use the array `out`, the private
 * variable `at`, the function `put` and the uniform `u: array<vec4i, 4>`. They also use the
 * built-in values `id`, `wid`, `lid` and `index`.
 */
export function fillingKernels({ value, condition }: Shared) {
  const small = fc.integer({ min: 1, max: 9 });
  return fc.letrec<Record<"index" | "condition" | "statement" | "statements", string>>((tie) => ({
    index: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("id.x", "id.y", "wid.x", "lid.x", "index", "at", "u32(u[0].x)", "u32(u[0].y)"),
      small.map((n) => `${n}u`),
      fc
        .tuple(tie("index"), fc.constantFrom("+", "+", "-"), tie("index"))
        .map((each) => `(${each.join(" ")})`),
      fc.tuple(tie("index"), fc.constantFrom("*", "/", "%"), small).map((each) => `(${each.join(" ")}u)`),
      fc.tuple(fc.constantFrom("min", "max"), tie("index"), small).map(([f, a, n]) => `${f}(${a}, ${n}u)`),
    ),
    condition: fc.oneof(
      { depthSize: "small" },
      fc
        .tuple(tie("index"), fc.constantFrom("<", "<=", ">", ">=", "==", "!="), tie("index"))
        .map((each) => `(${each.join(" ")})`),
      fc.constant(condition),
      fc
        .tuple(tie("condition"), fc.constantFrom("&&", "||"), tie("condition"))
        .map((each) => `(${each.join(" ")})`),
    ),
    statement: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      tie("index").map((index) => `out[${index}] = ${value};`),
      tie("index").map((index) => `at = ${index};`),
      tie("index").map((index) => `put(${index});`),
      fc.constantFrom("at++;", "at += 2;", "at -= 1;"),
      tie("condition").map((condition) => `if ${condition} { return; }`),
      fc
        .tuple(tie("condition"), tie("statements"), tie("statements"))
        .map(([condition, yes, no]) => `if ${condition} { ${yes} } else { ${no} }`),
      fc
        .tuple(
          tie("index"),
          small,
          tie("condition"),
          tie("statements"),
          fc.constantFrom("break", "continue", ""),
        )
        .map(
          ([first, count, condition, body, exit]) =>
            `for (var k = ${first}; k < ${3 * count}u; k++) { ${exit && `if ${condition} { ${exit}; }`} out[k] = ${value}; ${body} }`,
        ),
    ),
    statements: fc.array(tie("statement"), { minLength: 1, maxLength: 4 }).map((each) => each.join(" ")),
  }));
}
