/**
 * The operations of the second text: for each operation and type, WGSL that computes the same bits
 * in another way. `zero` is a zero that no compiler knows. A compiler that knew it could turn both
 * texts into the same instructions.
 */

/** The kinds of parameters: of the operation's type, or of another one. */
type Kind = "value" | "amount" | "condition" | "count";

/** Another way to compute an operation. */
export interface Rewriting {
  readonly parameters: Readonly<Record<string, Kind>>;
  /** Returns the statements for a scalar type, or undefined if the type keeps its own operation. */
  body(type: string): string | undefined;
}

const integer = (body: (type: "i32" | "u32") => string) => (type: string) =>
  type === "i32" || type === "u32" ? body(type) : undefined;

/** Returns the hidden zero in an integer type. */
const zeroAs = (type: string) => (type === "u32" ? "zero" : `${type}(zero)`);

const two = { a: "value", b: "value" } as const;
const amount = { a: "value", n: "amount" } as const;

/** Returns a rewriting of integers, and of floats as a fused operation with another operand. */
const sum = (
  integers: (type: string) => string,
  fused: (constant: (bits: string) => string) => string,
): Rewriting => ({
  parameters: two,
  body(type) {
    if (type === "i32" || type === "u32") return integers(type);
    if (type !== "f32" && type !== "f16") return undefined;
    const known = (bits: string) => `bitcast<f32>(${bits} | zero)`;
    return `return ${fused((bits) => (type === "f32" ? known(bits) : `f16(${known(bits)})`))};`;
  },
});

/** The power 2ⁿ, as WGSL: the float whose exponent is n. */
const powerOfTwo = "u32(bitcast<f32>(((n & 31u) + (127u | zero)) * 8388608u))";

/** The bits of the floats 1, -1 and -0. */
const [one, minusOne, minusZero] = ["0x3f800000u", "0xbf800000u", "0x80000000u"];

export const rewritings = {
  add: sum(
    (type) => `return a - (${zeroAs(type)} - b);`,
    (constant) => `fma(a, ${constant(one)}, b)`,
  ),
  subtract: sum(
    (type) => `return a + (~b + (1 + ${zeroAs(type)}));`,
    (constant) => `fma(b, ${constant(minusOne)}, a)`,
  ),
  // The sum of a product and -0 is the product, also if that is zero.
  multiply: sum(
    (type) => `return ${zeroAs(type)} - a * (${zeroAs(type)} - b);`,
    (constant) => `fma(a, b, ${constant(minusZero)})`,
  ),
  divide: {
    parameters: two,
    body: integer((type) =>
      type === "u32"
        ? "return (a - a % (b | zero)) / b;"
        : `let quotient = bitcast<i32>(bitcast<u32>(abs(a)) / bitcast<u32>(abs(b)));
           if ((a ^ b) < i32(zero)) { return -quotient; }
           return quotient;`,
    ),
  },
  remainder: {
    parameters: two,
    body: integer(
      (type) => `if (b == ${zeroAs(type)}) { return ${zeroAs(type)}; }
                 return a - a / b * b;`,
    ),
  },
  shiftLeft: {
    parameters: amount,
    body: integer((type) => `return a * bitcast<${type}>(${powerOfTwo});`),
  },
  // `extractBits` with such an offset is wrong on an NVIDIA H200. The quotient of i32 rounds down.
  shiftRight: {
    parameters: amount,
    body: integer((type) =>
      type === "u32"
        ? `return a / ${powerOfTwo};`
        : `let sign = i32(zero) - i32(a < 0);
           return bitcast<i32>(bitcast<u32>(a ^ sign) / ${powerOfTwo}) ^ sign;`,
    ),
  },
  and: { parameters: two, body: integer((type) => `return ~(~a | (~b ^ ${zeroAs(type)}));`) },
  or: { parameters: two, body: integer((type) => `return ~(~a & (~b ^ ${zeroAs(type)}));`) },
  xor: { parameters: two, body: integer((type) => `return ((a | b) ^ ${zeroAs(type)}) - (a & b);`) },
  negate: { parameters: { a: "value" }, body: integer((type) => `return ~a + (1 + ${zeroAs(type)});`) },
  complement: { parameters: { a: "value" }, body: integer((type) => `return (${zeroAs(type)} - 1) - a;`) },
  min: {
    parameters: two,
    body: integer((type) => `if (b < (a ^ ${zeroAs(type)})) { return b; } return a;`),
  },
  max: {
    parameters: two,
    body: integer((type) => `if (b > (a ^ ${zeroAs(type)})) { return b; } return a;`),
  },
  clamp: {
    parameters: { a: "value", low: "value", high: "value" },
    body: integer(
      (type) => `var result = a ^ ${zeroAs(type)};
                 if (low > result) { result = low; }
                 if (result > high) { result = high; }
                 return result;`,
    ),
  },
  select: {
    parameters: { a: "value", b: "value", condition: "condition" },
    body(type) {
      if (type !== "i32" && type !== "u32" && type !== "f32") return undefined;
      return `let other = bitcast<u32>(a);
              return bitcast<${type}>(other ^ ((other ^ bitcast<u32>(b)) & (zero - u32(condition))));`;
    },
  },
  // A field of no bits is zero. Shifts take their amount modulo 32.
  extractBits: {
    parameters: { a: "value", first: "count", bits: "count" },
    body: integer(
      (type) => `let count = min(bits, 32u - min(first, 32u));
                 if (count == zero) { return ${zeroAs(type)}; }
                 return (a << (32u - first - count)) >> (32u - count);`,
    ),
  },
  insertBits: {
    parameters: { a: "value", b: "value", first: "count", bits: "count" },
    body: integer(
      (type) => `let count = min(bits, 32u - min(first, 32u));
                 if (count == zero) { return a; }
                 let mask = ${type}((0xffffffffu >> (32u - count)) << first);
                 return (a & ~mask) | ((b << first) & mask);`,
    ),
  },
} as const satisfies Readonly<Record<string, Rewriting>>;

/** The name of a rewriting. */
export type RewritingName = keyof typeof rewritings;

/** The rewritings of operators. */
export const ofOperators: Readonly<Record<string, RewritingName>> = {
  "+": "add",
  "-": "subtract",
  "*": "multiply",
  "/": "divide",
  "%": "remainder",
  "<<": "shiftLeft",
  ">>": "shiftRight",
  "&": "and",
  "|": "or",
  "^": "xor",
};

/** Returns the function of a rewriting for a scalar type, as WGSL. */
export function functionOf(
  name: string,
  { parameters, body }: Rewriting,
  type: string,
  zero: string,
): string | undefined {
  const text = body(type);
  if (text === undefined) return undefined;
  const types: Readonly<Record<Kind, string>> = {
    value: type,
    amount: "u32",
    condition: "bool",
    count: "u32",
  };
  const declared = Object.entries(parameters).map(([parameter, kind]) => `${parameter}: ${types[kind]}`);
  return `fn ${name}(${declared.join(", ")}, ${zero}: u32) -> ${type} { ${text.replace(/\bzero\b/g, zero)} }`;
}

/** Returns the function of a rewriting for vectors: one call for each component, as WGSL. */
export function functionOfVectors(
  name: string,
  { parameters }: Rewriting,
  { size, element }: { readonly size: number; readonly element: string },
  ofElements: string,
  zero: string,
): string {
  const types: Readonly<Record<Kind, string>> = {
    value: `vec${size}<${element}>`,
    amount: `vec${size}<u32>`,
    condition: `vec${size}<bool>`,
    count: "u32",
  };
  const entries = Object.entries(parameters);
  const declared = entries.map(([parameter, kind]) => `${parameter}: ${types[kind]}`).join(", ");
  const components = Array.from({ length: size }, (_, i) => {
    const args = entries.map(([parameter, kind]) => (kind === "count" ? parameter : `${parameter}[${i}]`));
    return `${ofElements}(${args.join(", ")}, ${zero})`;
  });
  return `fn ${name}(${declared}, ${zero}: u32) -> ${types.value} { return ${types.value}(${components.join(", ")}); }`;
}
