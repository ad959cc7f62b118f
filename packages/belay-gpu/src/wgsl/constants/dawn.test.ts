/**
 * Every operator, const-function, constructor and conversion against Dawn: the same values and the
 * same errors.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { constructorText, expressionText } from "../../../../../test/support/wgsl/constantValues.ts";
import { type DawnValidator, startDawn } from "../../../../../test/support/wgsl/dawnValidator.ts";
import type { BinaryOperator, UnaryOperator } from "../ast.ts";
import { isAbstract, matrixType, sameType, scalarTypes, vectorType } from "../conversion.ts";
import { selectOverload } from "../resolve/overloads.ts";
import { signatureNames } from "../resolve/signatures.ts";
import type { ScalarName, ScalarType, Type } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { convert, type Folded, foldBinary, foldBuiltin, foldConstructor, foldUnary } from "./index.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const integers = [0, 1, -1, 2, 3, 5, 8, 16, 31, 32, 100, -7, 255, 65535, 2147483647, -2147483648];
const halves = [0, 1, -1, 0.5, -0.5, 2, 1.5, 2.5, -2.5, 0.25, 3, 10, 100, -3.75, 60000, 2 ** -14];
const floats = [...halves, 0.1, 1000, 1e-3, 1e10, 3e38];
const pools: Readonly<Record<ScalarName, readonly ScalarValue["value"][]>> = {
  bool: [false, true],
  i32: integers,
  u32: integers.map((x) => x >>> 0),
  "abstract-int": [...integers.map(BigInt), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 40n],
  f16: halves,
  f32: floats.map(Math.fround),
  "abstract-float": [...floats, 1e308, 1e200],
};

const scalars = Object.values(scalarTypes);
const sizes = [2, 3, 4];
const types: readonly Type[] = [
  ...scalars,
  ...sizes.flatMap((size) => scalars.map((element) => vectorType(size, element))),
  ...sizes.flatMap((columns) =>
    sizes.flatMap((rows) =>
      ["f32", "f16", "abstract-float"].map((name) =>
        matrixType(columns, rows, scalarTypes[name as ScalarName]),
      ),
    ),
  ),
];

/** Picks values at random, the same ones in each run. */
function picker(): (type: Type) => Value {
  let state = 1;
  const scalar = (type: ScalarType): ScalarValue => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const pool = pools[type.name];
    return { type, value: pool[Math.floor((state / 2 ** 32) * pool.length)]! };
  };
  const pick = (type: Type): Value => {
    if (type.kind === "scalar") return scalar(type);
    if (type.kind === "vector")
      return { type, elements: Array.from({ length: type.size }, () => scalar(type.element)) };
    if (type.kind !== "matrix") throw new Error(`no values of a ${type.kind}`);
    const column = vectorType(type.rows, type.element);
    return { type, elements: Array.from({ length: type.columns }, () => pick(column)) };
  };
  return pick;
}

/**
 * Statements that hold when `call` has `value`; a float may be off by `tolerance`, relative and
 * absolute.
 */
function assertions(call: string, value: Value, tolerance: number): string {
  const { type } = value;
  if ("elements" in value && type.kind !== "vector") {
    return value.elements
      .map((element, i) => {
        const part = type.kind === "struct" ? `.${type.members[i]!.name}` : `[${i}]`;
        return assertions(call + part, element, tolerance);
      })
      .join("\n");
  }
  const expected = expressionText(value);
  const element = type.kind === "vector" ? type.element : type;
  const isHalf = element === scalarTypes.f16;
  // Dawn truncates where binary16 arithmetic rounds; the specification allows both.
  const allowed = isHalf ? 0.01 : tolerance;
  const inexact =
    isHalf || (tolerance > 0 && (element === scalarTypes.f32 || element === scalarTypes["abstract-float"]));
  const one = `${constructorText(type).replace("abstract-float", "")}(${allowed})`;
  const condition = inexact
    ? `abs(${call} - ${expected}) <= ${one} * abs(${expected}) + ${one}`
    : `${call} == ${expected}`;
  return `const_assert ${type.kind === "vector" ? `all(${condition})` : condition};`;
}

/** The expressions on which Dawn and this evaluation differ. */
async function differences(
  cases: readonly { readonly call: string; readonly folded: Folded; readonly tolerance?: number }[],
): Promise<string[]> {
  const programs = cases.map(({ call, folded, tolerance = 0 }) =>
    folded.ok ? assertions(call, folded.value, tolerance) : `const refused = ${call};`,
  );
  const verdicts = await dawn.validateAll(programs.map((program) => `enable f16;\n${program}`));
  return cases.flatMap(({ folded }, i) => {
    const verdict = verdicts[i]!;
    if (verdict.ok === folded.ok) return [];
    return [
      `${programs[i]} (${folded.ok ? "" : folded.reason} / ${verdict.ok ? "accepted" : verdict.message})`,
    ];
  });
}

/**
 * The argument types on which an operator or a function has a const overload that converts none of
 * them.
 */
function argumentTypes(name: string): Type[][] {
  const pairs = types.flatMap((first) => types.map((second) => [first, second] as const));
  const candidates = [
    ...types.map((type) => [type]),
    ...pairs.map(([a, b]) => [a, b]),
    ...pairs.map(([a, b]) => [a, a, b]),
    ...pairs.map(([a, b]) => [a, b, b]),
    ...pairs.map(([a, b]) => [a, a, b, b]),
  ];
  return candidates.filter((candidate) => {
    const overload = selectOverload(name, candidate, true);
    return (
      overload?.signature.isConst && overload.parameters.every((type, i) => sameType(type, candidate[i]!))
    );
  });
}

const operators = [
  "-",
  "!",
  "~",
  "+",
  "*",
  "/",
  "%",
  "&",
  "|",
  "^",
  "<<",
  ">>",
  "==",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
];
/** Functions of which WGSL only bounds the error. */
const approximate =
  /^(a?(sin|cos|tan)h?|atan2|cross|degrees|determinant|distance|dot|exp2?|fma|fract|inverseSqrt|length|log2?|mix|normalize|pow|radians|reflect|refract|smoothstep|sqrt)$/;
/**
 * Functions for which Dawn differs within what the specification allows, on results that the
 * tolerance does not cover.
 */
const unlike = new Set(["ldexp", "pack2x16float", "pow", "quantizeToF16", "refract"]);

describe("Dawn agrees", () => {
  const pick = picker();

  it("on each operator, for each type", async () => {
    const cases = operators.flatMap((operator) =>
      argumentTypes(operator).map((parameters) => {
        const [left, right] = parameters.map(pick);
        const { result } = selectOverload(operator, parameters, true)!;
        return right === undefined
          ? {
              call: `(${operator}${expressionText(left!)})`,
              folded: foldUnary(operator as UnaryOperator, left!, result),
            }
          : {
              call: `(${expressionText(left!)} ${operator} ${expressionText(right)})`,
              folded: foldBinary(operator as BinaryOperator, left!, right, result),
            };
      }),
    );
    expect(cases.length).toBeGreaterThan(300);
    expect(await differences(cases)).toEqual([]);
  });

  it("on each const-function, for each type", async () => {
    const cases = signatureNames
      .filter((name) => !unlike.has(name))
      .flatMap((name) =>
        argumentTypes(name).map((parameters) => {
          const args = parameters.map(pick);
          return {
            call: `${name}(${args.map(expressionText).join(", ")})`,
            folded: foldBuiltin(name, args, selectOverload(name, parameters, true)!.result)!,
            tolerance: approximate.test(name) ? 1e-4 : 0,
          };
        }),
      );
    expect(cases.length).toBeGreaterThan(600);
    expect(await differences(cases)).toEqual([]);
  });

  const everyScalar = scalars.flatMap((type) =>
    pools[type.name].map((value): ScalarValue => ({ type, value })),
  );
  const concrete = scalars.filter((type) => !isAbstract(type));

  it("on the conversion of each scalar by a constructor", async () => {
    const cases = everyScalar.flatMap((value) =>
      concrete.map((to) => ({
        call: `${to.name}(${expressionText(value)})`,
        folded: foldConstructor(to, [value]),
      })),
    );
    expect(await differences(cases)).toEqual([]);
  });

  it("on the automatic conversion of each scalar", async () => {
    const cases = everyScalar.flatMap((value) =>
      concrete.map((to) => ({
        call: `array<${to.name}, 1>(${expressionText(value)})[0]`,
        folded: convert(value, to),
      })),
    );
    expect(await differences(cases)).toEqual([]);
  });

  it("on the bits of each scalar", async () => {
    const words = concrete.filter(({ name }) => name !== "bool" && name !== "f16");
    const cases = everyScalar
      .filter(({ type }) => words.includes(type))
      .flatMap((value) =>
        [...words, vectorType(2, scalarTypes.f16)].map((to) => ({
          call: `bitcast<${constructorText(to)}>(${expressionText(value)})`,
          folded: foldBuiltin("bitcast", [value], to)!,
        })),
      );
    expect(await differences(cases)).toEqual([]);
  });
});
