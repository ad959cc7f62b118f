/**
 * The signature table against Dawn: the calls that it allows, their results, and the calls that it
 * refuses.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DawnValidator, startDawn } from "../../../../../test/support/wgsl/dawnValidator.ts";
import { withInferredTypes } from "../../../../../test/support/wgsl/inferredTypes.ts";
import { resolved } from "../../../../../test/support/wgsl/resolved.ts";
import { vectorType } from "../conversion.ts";
import { parse } from "../parser.ts";
import { print } from "../printer.ts";
import { describeType } from "../typeNames.ts";
import { boolType, f32Type, i32Type, type Type, u32Type } from "../types.ts";
import { resolve } from "./resolve.ts";
import { type Pattern, type Signature, signatureNames, signaturesOf } from "./signatures.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

/**
 * Functions that const-expressions may call are compared with Dawn where constants are evaluated.
 */
const signatures = signatureNames.flatMap((name) =>
  signaturesOf(name)
    .filter(({ isConst }) => !isConst)
    .map((signature) => ({ name, signature })),
);

/**
 * Types for the variables of a signature: the nth allowed scalar, and a vector where one is allowed
 * and n is odd.
 */
function solution({ constraints }: Signature, n: number): (variable: string) => string {
  return (variable) => {
    const constraint = constraints.get(variable);
    if (!constraint) return "f32";
    const scalars = (constraint.scalars ?? ["f32", "i32"]).filter((name) => !name.startsWith("abstract"));
    const scalar = scalars[n % scalars.length]!;
    return constraint.vectors && constraint.scalars && n % 2 === 1 ? `vec${2 + (n % 3)}<${scalar}>` : scalar;
  };
}

/** Returns an argument for a pattern, and the module-scope variable that it needs. */
function argument(pattern: Pattern, type: (variable: string) => string, n: number, id: number) {
  const name = `g${id}`;
  const resource = `@group(0) @binding(${id}) var`;
  const value = (text: string) => ({ text: `${text}()`, declaration: "" });
  switch (pattern.kind) {
    case "texture": {
      const sampled = pattern.sampled && `<${written(pattern.sampled, type)}>`;
      return { text: name, declaration: `${resource} ${name}: ${pattern.name}${sampled ?? ""};` };
    }
    case "storageTexture": {
      const access = pattern.access[n % pattern.access.length]!;
      return { text: name, declaration: `${resource} ${name}: ${pattern.name}<r32float, ${access}>;` };
    }
    case "sampler":
      return {
        text: name,
        declaration: `${resource} ${name}: sampler${pattern.comparison ? "_comparison" : ""};`,
      };
    case "pointer": {
      const space = pattern.spaces[n % pattern.spaces.length]!;
      const isBuffer = space === "storage" || pattern.store.kind === "runtimeArray";
      const declaration = isBuffer ? `${resource}<storage, read_write>` : `var<${space}>`;
      return { text: `&${name}`, declaration: `${declaration} ${name}: ${written(pattern.store, type)};` };
    }
    default:
      return value(written(pattern, type));
  }
}

function written(pattern: Pattern, type: (variable: string) => string): string {
  switch (pattern.kind) {
    case "variable":
      return type(pattern.name);
    case "scalar":
      return pattern.type.name;
    case "vector":
      return `vec${pattern.size}<${written(pattern.element, type)}>`;
    case "atomic":
      return `atomic<${written(pattern.element, type)}>`;
    case "runtimeArray":
      return `array<${written(pattern.element, type)}>`;
    default:
      throw new Error(`no argument has the pattern ${pattern.kind}`);
  }
}

function program(
  { name, signature }: (typeof signatures)[number],
  n: number,
  replaced?: [number, Type],
): string {
  const type = solution(signature, n);
  const args = signature.parameters.map((pattern, i) =>
    replaced?.[0] === i
      ? { text: `${describeType(replaced[1])}()`, declaration: "" }
      : argument(pattern, type, n, i),
  );
  const declarations = args.map(({ declaration }) => declaration).join("\n");
  const call = `${name}(${args.map(({ text }) => text).join(", ")})`;
  const statement = signature.result ? `let result = ${call};` : `${call};`;
  return `enable f16, subgroups, atomic_vec2u_min_max;\n${declarations}\nfn test() { ${statement} }`;
}

test("Dawn accepts every call that the table allows, with the same result type", async () => {
  const programs = signatures.flatMap((each) => [0, 1, 2, 3].map((n) => program(each, n)));
  const verdicts = await dawn.validateAll(programs.map((each) => print(withInferredTypes(resolved(each)))));
  expect(programs.filter((_, i) => !verdicts[i]!.ok)).toEqual([]);
});

test("Dawn rejects every call that the table does not allow", async () => {
  const others = [boolType, u32Type, f32Type, vectorType(3, i32Type)];
  const programs = signatures.flatMap((each) =>
    each.signature.parameters.flatMap((_, i) => others.map((type) => program(each, 0, [i, type]))),
  );
  const verdicts = await dawn.validateAll(programs);
  const accepted = programs.map((each) => resolve(parse(each).module).diagnostics.length === 0);
  expect(programs.filter((_, i) => verdicts[i]!.ok !== accepted[i])).toEqual([]);
});
