/**
 * Writes the built-in functions that compute values from values. Source: WGSL specification,
 * "Built-in Functions".
 */
import type { ScalarType, Type } from "../wgsl/types.ts";
import { f16Type, f32Type } from "../wgsl/types.ts";
import type { CodeWriter } from "./codeWriter.ts";
import type { FloatOperation } from "./nearest.ts";
import { emitBinary } from "./operators.ts";
import { isFloat, type Scalar, type ScalarsValue, scalarOf } from "./values.ts";

/** The functions of one float that the library has. */
const floatFunctions: ReadonlySet<string> = new Set<FloatOperation>([
  "floor",
  "ceil",
  "trunc",
  "round",
  "fract",
  "sqrt",
  "inverseSqrt",
  "exp",
  "exp2",
  "log",
  "log2",
  "sin",
  "cos",
  "atan",
  "tanh",
]);

/** The functions of several floats, and those of their signs, that the library has. */
const floatOperations: ReadonlySet<string> = new Set<FloatOperation>([
  "abs",
  "sign",
  "min",
  "max",
  "step",
  "atan2",
]);

/** The integer functions of the library, by name and type. The results are wrapped to the type. */
const integerFunctions: Readonly<Record<string, readonly [i32: string, u32: string]>> = {
  countLeadingZeros: ["Math.clz32", "Math.clz32"],
  countOneBits: ["countOneBits", "countOneBits"],
  countTrailingZeros: ["countTrailingZeros", "countTrailingZeros"],
  firstLeadingBit: ["firstLeadingBitI32", "firstLeadingBitU32"],
  firstTrailingBit: ["firstTrailingBit", "firstTrailingBit"],
  reverseBits: ["reverseBits", "reverseBits"],
  insertBits: ["insertBits", "insertBits"],
  extractBits: ["extractBitsI32", "extractBitsU32"],
  dot4U8Packed: ["dot4U8Packed", "dot4U8Packed"],
  dot4I8Packed: ["dot4I8Packed", "dot4I8Packed"],
};

/** Arithmetic on scalars of one float type. */
function floatScope(code: CodeWriter, type: ScalarType) {
  return {
    add: (a: Scalar, b: Scalar) => code.float(type, "add", a, b),
    sub: (a: Scalar, b: Scalar) => code.float(type, "sub", a, b),
    mul: (a: Scalar, b: Scalar) => code.float(type, "mul", a, b),
    div: (a: Scalar, b: Scalar) => code.float(type, "div", a, b),
    min: (a: Scalar, b: Scalar) => code.float(type, "min", a, b),
    max: (a: Scalar, b: Scalar) => code.float(type, "max", a, b),
    call: (name: FloatOperation, ...args: Scalar[]) => code.float(type, name, ...args),
    number: (value: number) => code.number(type, value),
    realNumber: (value: number) => code.realNumber(type, value),
  };
}
type FloatScope = ReturnType<typeof floatScope>;

/** Emits the cosine of an angle whose sine is given, or the sine of one whose cosine is given. */
const cofunction = (f: FloatScope, x: Scalar): Scalar => f.call("sqrt", f.sub(f.number(1), f.mul(x, x)));

/** The functions on floats that the specification derives from others, component by component. */
const derivedFunctions: Readonly<Record<string, (f: FloatScope, ...args: Scalar[]) => Scalar>> = {
  abs: (f, x) => f.call("abs", x!),
  sign: (f, x) => f.call("sign", x!),
  min: (f, a, b) => f.min(a!, b!),
  max: (f, a, b) => f.max(a!, b!),
  step: (f, edge, x) => f.call("step", edge!, x!),
  atan2: (f, y, x) => f.call("atan2", y!, x!),
  clamp: (f, x, low, high) => f.min(f.max(x!, low!), high!),
  saturate: (f, x) => f.min(f.max(x!, f.number(0)), f.number(1)),
  // Implementations approximate these two, or derive them from `atan2`.
  asin: (f, x) => f.call("hull", f.call("asin", x!), f.call("atan2", x!, cofunction(f, x!))),
  acos: (f, x) => f.call("hull", f.call("acos", x!), f.call("atan2", cofunction(f, x!), x!)),
  tan: (f, x) => f.div(f.call("sin", x!), f.call("cos", x!)),
  sinh: (f, x) => f.mul(f.sub(f.call("exp", x!), f.call("exp", f.call("neg", x!))), f.number(0.5)),
  cosh: (f, x) => f.mul(f.add(f.call("exp", x!), f.call("exp", f.call("neg", x!))), f.number(0.5)),
  asinh: (f, x) => f.call("log", f.add(x!, f.call("sqrt", f.add(f.mul(x!, x!), f.number(1))))),
  acosh: (f, x) => f.call("log", f.add(x!, f.call("sqrt", f.sub(f.mul(x!, x!), f.number(1))))),
  atanh: (f, x) => f.mul(f.call("log", f.div(f.add(f.number(1), x!), f.sub(f.number(1), x!))), f.number(0.5)),
  degrees: (f, x) => f.mul(x!, f.realNumber(180 / Math.PI)),
  radians: (f, x) => f.mul(x!, f.realNumber(Math.PI / 180)),
  pow: (f, x, y) => f.call("exp2", f.mul(y!, f.call("log2", x!))),
  fma: (f, a, b, c) => f.add(f.mul(a!, b!), c!),
  // Implementations use either of two equivalent forms.
  mix: (f, a, b, t) => {
    const weighted = f.add(f.mul(a!, f.sub(f.number(1), t!)), f.mul(b!, t!));
    return f.call("hull", weighted, f.add(a!, f.mul(f.sub(b!, a!), t!)));
  },
  smoothstep: (f, low, high, x) => {
    const ratio = f.div(f.sub(x!, low!), f.sub(high!, low!));
    const t = f.min(f.max(ratio, f.number(0)), f.number(1));
    return f.mul(f.mul(t, t), f.sub(f.number(3), f.mul(f.number(2), t)));
  },
};

/** Returns the scalars of a built-in function's result, or undefined for an unknown function. */
export function emitBuiltin(
  code: CodeWriter,
  name: string,
  args: readonly ScalarsValue[],
  type: Type,
): readonly Scalar[] | undefined {
  const [first] = args;
  if (!first) return undefined;
  const packed = emitPacking(code, name, first);
  if (packed) return packed;
  switch (name) {
    case "all":
      return [[code.temp(first.scalars.map(([x]) => code.decision(x!)).join(" & "))]];
    case "any":
      return [[code.temp(first.scalars.map(([x]) => code.decision(x!)).join(" | "))]];
    case "select":
      return emitSelect(code, args);
    case "transpose":
      return transposed(first);
    case "quantizeToF16":
      return first.scalars.map((x) => code.derived(f32Type, name, code.float(f16Type, "from", x), [x]));
    case "ldexp":
      return first.scalars.map((x, i) => code.float(scalarOf(type), "ldexp", x, args[1]!.scalars[i]!));
    case "dot":
      return [emitDot(code, first, args[1]!)];
  }
  if (!isFloat(scalarOf(first.type))) return emitIntegerFunction(code, name, args, scalarOf(type));
  return emitGeometry(code, name, args) ?? emitFloatFunction(code, name, args);
}

function emitFloatFunction(
  code: CodeWriter,
  name: string,
  args: readonly ScalarsValue[],
): readonly Scalar[] | undefined {
  const type = scalarOf(args[0]!.type);
  const derived = derivedFunctions[name];
  const f = floatScope(code, type);
  if (!derived && !floatFunctions.has(name)) return undefined;
  return args[0]!.scalars.map((x, i) => {
    if (!derived) return f.call(name as FloatOperation, x);
    const operands = args.map(({ scalars }) => scalars[scalars.length === 1 ? 0 : i]!);
    const value = derived(f, ...operands);
    return floatOperations.has(name) ? value : code.derived(type, name, value, operands);
  });
}

function emitIntegerFunction(
  code: CodeWriter,
  name: string,
  args: readonly ScalarsValue[],
  type: ScalarType,
): readonly Scalar[] | undefined {
  const signed = scalarOf(args[0]!.type).name !== "u32";
  const expression = (atoms: readonly string[]): string | undefined => {
    const [x, a, b] = atoms;
    switch (name) {
      case "abs":
        return signed ? `${x} < 0 ? -(${x}) : ${x}` : x;
      case "sign":
        return `Math.sign(${x})`;
      case "min":
      case "max":
        return `Math.${name}(${x}, ${a})`;
      case "clamp":
        return `Math.min(Math.max(${x}, ${a}), ${b})`;
    }
    const library = integerFunctions[name]?.[signed ? 0 : 1];
    if (!library) return undefined;
    return `${library.startsWith("Math.") ? library : code.library(library)}(${atoms.join(", ")})`;
  };
  const scalars: Scalar[] = [];
  for (const i of args[0]!.scalars.keys()) {
    const atoms = args.map(({ scalars }) => scalars[scalars.length === 1 ? 0 : i]![0]!);
    const text = expression(atoms);
    if (text === undefined) return undefined;
    const operation = integerFunctions[name]?.[signed ? 0 : 1] ?? name;
    scalars.push([code.integer(operation, atoms, `(${text}) ${type.name === "u32" ? ">>> 0" : "| 0"}`)]);
  }
  return scalars;
}

function emitSelect(code: CodeWriter, args: readonly ScalarsValue[]): Scalar[] {
  const [no, yes, condition] = args as [ScalarsValue, ScalarsValue, ScalarsValue];
  return no.scalars.map((each, i) => {
    const chosen = condition.scalars[condition.scalars.length === 1 ? 0 : i]![0];
    return each.map((atom, j) => {
      const other = yes.scalars[i]![j]!;
      return code.integer("select", [chosen!, atom, other], `${chosen} !== 0 ? ${other} : ${atom}`);
    });
  });
}

function transposed({ type, scalars }: ScalarsValue): Scalar[] {
  if (type.kind !== "matrix") throw new TypeError("only matrices are transposed");
  return Array.from({ length: scalars.length }, (_, i) => {
    const [column, row] = [Math.floor(i / type.columns), i % type.columns];
    return scalars[row * type.rows + column]!;
  });
}

function emitDot(code: CodeWriter, a: ScalarsValue, b: ScalarsValue): Scalar {
  const type = scalarOf(a.type);
  const scalarsOf = (value: ScalarsValue) =>
    value.scalars.map((each): ScalarsValue => ({ kind: "scalars", type, scalars: [each] }));
  const [left, right] = [scalarsOf(a), scalarsOf(b)];
  const products = left.map((each, i) => emitBinary(code, "*", each, right[i]!, type));
  return products.reduce((sum, each) => emitBinary(code, "+", sum, each, type)).scalars[0]!;
}

/** Emits the functions of vectors and square matrices of floats. */
function emitGeometry(
  code: CodeWriter,
  name: string,
  args: readonly ScalarsValue[],
): readonly Scalar[] | undefined {
  const [a, b, c] = args as [ScalarsValue, ScalarsValue, ScalarsValue];
  const type = scalarOf(a.type);
  const f = floatScope(code, type);
  const vector = (scalars: readonly Scalar[]): ScalarsValue => ({ kind: "scalars", type: a.type, scalars });
  const length = (of: ScalarsValue) => {
    const root = f.call("sqrt", emitDot(code, of, of));
    return of.scalars.length === 1 ? f.call("hull", f.call("abs", of.scalars[0]!), root) : root;
  };
  const difference = () => vector(a.scalars.map((x, i) => f.sub(x, b.scalars[i]!)));
  switch (name) {
    case "length":
      return [length(a)];
    case "distance":
      return [length(difference())];
    case "normalize": {
      const divisor = length(a);
      return a.scalars.map((x) => f.div(x, divisor));
    }
    case "cross": {
      const product = (i: number, j: number) => f.mul(a.scalars[i]!, b.scalars[j]!);
      return [
        f.sub(product(1, 2), product(2, 1)),
        f.sub(product(2, 0), product(0, 2)),
        f.sub(product(0, 1), product(1, 0)),
      ];
    }
    case "reflect": {
      const twice = f.mul(f.number(2), emitDot(code, b, a));
      return a.scalars.map((x, i) => f.sub(x, f.mul(twice, b.scalars[i]!)));
    }
    case "refract": {
      const eta = c.scalars[0]!;
      const cosine = emitDot(code, b, a);
      const rest = f.sub(f.number(1), f.mul(cosine, cosine));
      const k = f.sub(f.number(1), f.mul(f.mul(eta, eta), rest));
      const total = code.decision(code.floatTo(type, "lt", k, f.number(0))[0]!);
      // The root is taken of a number that is not negative, also where nothing is refracted.
      const factor = f.add(f.mul(eta, cosine), f.call("sqrt", f.max(k, f.number(0))));
      return a.scalars.map((x, i) => {
        const refracted = f.sub(f.mul(eta, x), f.mul(factor, b.scalars[i]!));
        return refracted.map((atom) => code.temp(`${total} !== 0 ? 0 : ${atom}`));
      });
    }
    case "faceForward": {
      const front = code.decision(code.floatTo(type, "lt", emitDot(code, b, c), f.number(0))[0]!);
      return a.scalars.map((x) => {
        const back = f.call("neg", x);
        return x.map((atom, i) => code.temp(`${front} !== 0 ? ${atom} : ${back[i]}`));
      });
    }
    case "determinant":
      return [determinant(f, a.scalars, Math.sqrt(a.scalars.length))];
    default:
      return undefined;
  }
}

/** Emits the determinant of a matrix, developed along its first column. */
function determinant(f: FloatScope, scalars: readonly Scalar[], size: number): Scalar {
  if (size === 1) return scalars[0]!;
  let sum: Scalar | undefined;
  for (let row = 0; row < size; row++) {
    const minor = scalars.filter((_, i) => i >= size && i % size !== row);
    const term = f.mul(scalars[row]!, determinant(f, minor, size - 1));
    if (!sum) sum = term;
    else sum = row % 2 === 1 ? f.sub(sum, term) : f.add(sum, term);
  }
  return sum!;
}

/** The functions that pack small integers: bits of each, whether they are clamped, signed. */
const integerPacking: Readonly<Record<string, { readonly clamp?: readonly [least: number, most: number] }>> =
  {
    pack4xI8: {},
    pack4xU8: {},
    pack4xI8Clamp: { clamp: [-128, 127] },
    pack4xU8Clamp: { clamp: [0, 255] },
  };
/** The functions that pack normalized numbers: the bits of each, and the factor. */
const normalized: Readonly<Record<string, { readonly bits: 8 | 16; readonly signed: boolean }>> = {
  "4x8snorm": { bits: 8, signed: true },
  "4x8unorm": { bits: 8, signed: false },
  "2x16snorm": { bits: 16, signed: true },
  "2x16unorm": { bits: 16, signed: false },
};

function emitPacking(code: CodeWriter, name: string, value: ScalarsValue): readonly Scalar[] | undefined {
  const f = floatScope(code, f32Type);
  const joined = (parts: readonly string[], bits: number): Scalar[] => {
    const mask = 2 ** bits - 1;
    const shifted = parts.map((part, i) => `((${part} & ${mask}) << ${bits * i})`);
    return [[code.temp(`(${shifted.join(" | ")}) >>> 0`)]];
  };
  const word = value.scalars[0]![0]!;
  const part = (i: number, bits: number, signed: boolean) =>
    code.integer(
      signed ? "extractBitsI32" : "extractBitsU32",
      [word, String(bits * i), String(bits)],
      signed
        ? `(${word} << ${32 - bits * (i + 1)}) >> ${32 - bits}`
        : `(${word} >>> ${bits * i}) & ${2 ** bits - 1}`,
    );
  const whole = integerPacking[name];
  if (whole) {
    const atoms = value.scalars.map(([x]) =>
      whole.clamp ? code.temp(`Math.min(Math.max(${x}, ${whole.clamp[0]}), ${whole.clamp[1]})`) : x!,
    );
    return joined(atoms, 8);
  }
  if (name === "unpack4xI8" || name === "unpack4xU8")
    return [0, 1, 2, 3].map((i) => [part(i, 8, name === "unpack4xI8")]);
  if (name === "pack2x16float")
    return joined(
      value.scalars.map((x) => code.floatTo(f16Type, "toBits", code.float(f16Type, "from", x))[0]!),
      16,
    );
  if (name === "unpack2x16float")
    return [0, 1].map((i) => code.float(f16Type, "fromBits", [part(i, 16, false)]));
  const format = normalized[name.replace(/^(un)?pack/, "")];
  if (!format) return undefined;
  const { bits, signed } = format;
  const factor = f.number(2 ** (signed ? bits - 1 : bits) - 1);
  const least = f.number(signed ? -1 : 0);
  if (name.startsWith("unpack")) {
    return Array.from({ length: 32 / bits }, (_, i) => {
      const x = f.div(code.float(f32Type, "fromInteger", [part(i, bits, signed)]), factor);
      return signed ? f.max(x, least) : x;
    });
  }
  const parts = value.scalars.map((x) => {
    const clamped = f.min(f.max(x, least), f.number(1));
    // A driver may round numbers halfway between two integers to either of them.
    const scaled = f.mul(factor, clamped);
    const up = f.call("floor", f.add(scaled, f.number(0.5)));
    const down = f.call("ceil", f.sub(scaled, f.number(0.5)));
    return code.floatTo(f32Type, "toI32", f.call("hull", up, down))[0]!;
  });
  return joined(parts, bits);
}

/** Emits the two parts of `frexp` or `modf`: the fractions, and the exponents or whole numbers. */
export function emitParts(
  code: CodeWriter,
  name: "frexp" | "modf",
  value: ScalarsValue,
): { readonly fract: readonly Scalar[]; readonly other: readonly Scalar[] } {
  const type = scalarOf(value.type);
  if (name === "modf") {
    const other = value.scalars.map((x) => code.float(type, "trunc", x));
    return { fract: value.scalars.map((x, i) => code.float(type, "sub", x, other[i]!)), other };
  }
  const exponentOf = code.library("exponentOf");
  const other = value.scalars.map((x): Scalar => [code.temp(`${exponentOf}(${x[0]}, ${x.at(-1)})`)]);
  const fract = value.scalars.map((x, i) => code.float(type, "ldexp", x, [`-(${other[i]![0]})`]));
  return { fract, other };
}
