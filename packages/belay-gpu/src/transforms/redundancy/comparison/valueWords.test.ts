import { describe, expect, it } from "vitest";
import { runReference, translated } from "../../../../../../test/support/kernels/reference.ts";
import { goldens, type Step, typed } from "../../../../../../test/support/wgsl/goldens.ts";
import { print, printExpression } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { Names } from "../../shared/names.ts";
import { Library } from "./library.ts";
import { fold, foldText, valueWords } from "./valueWords.ts";

const golden = goldens("valueWords", { withLibrary: true });

/** The words of a value `v` of the type that `text` denotes. */
function wordsOf(text: string, isCanonical = false) {
  const program = typed(`enable f16; struct S { a: u32, b: vec2f } var<private> v: ${text};`);
  const variable = program.module.declarations.at(-1)!;
  if (variable.kind !== "globalVariable") throw new Error("v is a variable");
  const library = new Library(new Names(program), isCanonical);
  const { expression, count, scalar } = valueWords(library, "v", program.declaredTypeOf(variable));
  return { words: printExpression(expression), count, scalar, library };
}

describe("the words of a value", () => {
  it.each([
    ["u32", "v", 1, "u32"],
    ["i32", "bitcast<u32>(v)", 1, "i32"],
    ["f32", "bitcast<u32>(v)", 1, "f32"],
    ["bool", "u32(v)", 1, "bool"],
    ["f16", "bitcast<u32>(vec2<f16>(v, 0h))", 1, "f16"],
    ["vec2u", "bitcast<vec2<u32>>(v)", 2, "u32"],
    ["vec3f", "bitcast<vec3<u32>>(v)", 3, "f32"],
    ["vec4i", "bitcast<vec4<u32>>(v)", 4, "i32"],
    ["vec2<bool>", "vec2<u32>(v)", 2, "bool"],
    ["vec2h", "bitcast<u32>(v)", 1, "f16"],
    ["vec3h", "bitcast<vec2<u32>>(vec4<f16>(v, 0h))", 2, "f16"],
    ["vec4h", "bitcast<vec2<u32>>(v)", 2, "f16"],
  ])("are exact for %s", (type, words, count, scalar) => {
    const { library, ...found } = wordsOf(type);
    expect(found).toEqual({ words, count, scalar });
    expect(library.takeDeclarations()).toEqual([]);
  });

  it.each([
    ["f32", "belay_canonical1_f32(bitcast<u32>(v))", 1],
    ["vec3f", "belay_canonical3_f32(bitcast<vec3<u32>>(v))", 1],
    ["vec4h", "belay_canonical2_f16(bitcast<vec2<u32>>(v))", 1],
    ["vec2u", "bitcast<vec2<u32>>(v)", 0],
  ])("take each NaN of %s for the same, and both zeros", (type, words, functions) => {
    const { library, ...found } = wordsOf(type, true);
    expect(found).toMatchObject({ words });
    expect(library.takeDeclarations()).toHaveLength(functions);
  });

  it.each(["mat2x3f", "array<u32, 3>", "S"])("are a hash for %s", (type) => {
    expect(wordsOf(type)).toMatchObject({ words: "belay_hash_1(v)", count: 1, scalar: "hash" });
  });
});

it.each([
  {
    type: "f32",
    given: [0x80000000, 0xffc00001, 0x80000001, 0xff800000],
    equal: [0, 0x7fc00000, 0x80000001, 0xff800000],
  },
  {
    type: "vec2h",
    given: [0x80008000, 0x8000fe01, 0xfc008000, 0x80010001],
    equal: [0, 0x7e00, 0xfc000000, 0x80010001],
  },
])("are equal for values of $type between which compilers may choose", ({ type, given, equal }) => {
  const { words, library } = wordsOf(type, true);
  const module = { ...typed("").module, declarations: library.takeDeclarations() };
  const source = `${print(module)}
    @group(0) @binding(0) var<storage, read_write> x: array<u32, 4>;
    @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
      x[i] = ${words.replace("bitcast<u32>(v)", "x[i]")};
    }`;
  const input = {
    buffers: { 0: Uint32Array.from(given) },
    workgroups: [1, 1, 1] as const,
  };
  const { buffers } = runReference(translated(source, input), input);
  expect([...new Uint32Array(buffers[0]!.bytes.buffer)]).toEqual(equal);
});

/** Functions that hash the store types of all private variables, and one that folds. */
const hashes: Step = (program, names) => {
  const library = new Library(names);
  const { expression } = quote();
  for (const declaration of program.module.declarations) {
    if (declaration.kind !== "globalVariable") continue;
    const { name } = declaration;
    const words = valueWords(library, name, program.declaredTypeOf(declaration));
    library.emit(
      `fn use_${name}() -> u32 { return ${printExpression(fold(library, expression`1u`, words))}; }`,
    );
  }
  library.emit(`fn all_of(a: u32, b: u32) -> u32 { return ${foldText(library, "0u", ["a", "b"])}; }`);
  return { ...program.module, declarations: [...program.module.declarations, ...library.takeDeclarations()] };
};

it("hashes composites member by member", () =>
  golden(
    "composites",
    `enable f16;
    struct Inner { flags: vec3<bool>, value: i32, hash: array<vec3f, 2> }
    struct value { inner: Inner, m: mat3x2f, h: mat2x4h }
    var<private> a: value;
    var<private> b: array<array<f16, 3>, 2>;
    var<private> c: array<Inner, 2>;
    var<private> d: vec3u;`,
    hashes,
  ));

it("tells types apart whose names no function name can spell", () =>
  golden(
    "types with names of other alphabets",
    `struct Δ { a: u32 } struct Ж { a: f32 }
    var<private> a: Δ;
    var<private> b: Ж;
    var<private> c: array<Δ, 2>;
    var<private> d: Δ;`,
    hashes,
  ));
