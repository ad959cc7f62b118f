import { describe, expect, it } from "vitest";
import { runReference, translated } from "../../../../../test/support/kernels/reference.ts";
import {
  functionOf,
  functionOfVectors,
  type Rewriting,
  type RewritingName,
  rewritings,
} from "./rewritings.ts";

const words = [
  0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe,
  0xaaaaaaaa, 12345678, 0xdeadbeef, 0x3f800000, 0xbf800000, 0x40490fdb, 0x7f7fffff, 0x00800000, 0x33000000,
  0x7f800000, 0xff800000, 0x7fc00000, 0x4b800001, 0xc0200000, 0x3eaaaaab,
];

/** The operation of the first text, and the arguments of the function in the second. */
interface Plain {
  readonly operation: string;
  readonly args: string;
}

const binary = (operator: string): Plain => ({ operation: `x ${operator} y`, args: "x, y" });
const shift = (operator: string): Plain => ({ operation: `x ${operator} m`, args: "x, m" });
const call = (name: string, args: string): Plain => ({ operation: `${name}(${args})`, args });

const plain: Readonly<Record<RewritingName, Plain>> = {
  add: binary("+"),
  subtract: binary("-"),
  multiply: binary("*"),
  divide: binary("/"),
  remainder: binary("%"),
  shiftLeft: shift("<<"),
  shiftRight: shift(">>"),
  and: binary("&"),
  or: binary("|"),
  xor: binary("^"),
  negate: { operation: "-x", args: "x" },
  complement: { operation: "~x", args: "x" },
  min: call("min", "x, y"),
  max: call("max", "x, y"),
  clamp: call("clamp", "x, min(y, z), max(y, z)"),
  select: call("select", "x, y, c"),
  extractBits: call("extractBits", "x, first, bits"),
  insertBits: call("insertBits", "x, y, first, bits"),
};

const cases = (Object.entries(rewritings) as [RewritingName, Rewriting][]).flatMap(([name, rewriting]) =>
  ["u32", "i32", "f32", "f16"]
    .filter((type) => rewriting.body(type) !== undefined && !(name === "negate" && type === "u32"))
    .map((type) => ({ name, rewriting, type })),
);

/** Returns a kernel that stores the bits of an operation and those of its other text. */
function source(type: string, { operation, args }: Plain, other: string, size: 1 | 3): string {
  const wide = (text: string, of: string) =>
    size === 1 ? text : `vec3<${of}>(${text}, ${text} + m, ${text} ^ n)`;
  const ofWord = (word: string) => {
    const value = wide(word, "u32");
    if (type === "f16") {
      const half = (each: string) => `bitcast<vec2<f16>>(${each}).x`;
      return size === 1 ? half(word) : `vec3<f16>(${[word, "m", "n"].map(half).join(", ")})`;
    }
    return `bitcast<${size === 1 ? type : `vec3<${type}>`}>(${value})`;
  };
  const bits = (value: string) =>
    type === "f16" ? `bitcast<u32>(vec2<f16>(${value}, 0h))` : `bitcast<u32>(${value})`;
  const component = (name: string) => (size === 1 ? name : `${name}[id.x % 3u]`);
  return `${type === "f16" ? "enable f16;" : ""}
    @group(0) @binding(0) var<storage, read> words: array<u32, 32>;
    @group(0) @binding(1) var<storage, read_write> results: array<vec2u, 1024>;
    ${other}
    @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
      let first = words[id.x / 32u]; let bits = words[(id.x * 7u) % 32u];
      { let n = bits; let m = first & ${size === 1 ? "0xffffffffu" : "0xffffu"};
        let x = ${ofWord("words[id.x % 32u]")}; let y = ${ofWord("first")}; let z = ${ofWord("bits")};
        let c = ${size === 1 ? "m % 3u == 1u" : "vec3u(m, m >> 1u, n) % 3u == vec3u(1)"};
        { let m = ${wide("first", "u32")};
          let one = ${operation}; let two = other(${args}, u32(groups.x == 0u));
          results[id.x] = vec2u(${bits(component("one"))}, ${bits(component("two"))});
        } }
    }`;
}

/** Returns the pairs of bits that differ, among those of all pairs of operands. */
function differences(code: string, type: string): (readonly [number, number])[] {
  const input = {
    buffers: { 0: Uint32Array.from(words), 1: new Uint32Array(2048) },
    workgroups: [32, 1, 1] as const,
  };
  const run = runReference(translated(code, input, { floats: "nearest" }), input);
  expect(run.undecided).toBeUndefined();
  const results = new Uint32Array(run.buffers[1]!.bytes.buffer);
  const pairs = Array.from({ length: 1024 }, (_, i) => [results[2 * i]!, results[2 * i + 1]!] as const);
  expect(new Set(pairs.map(([one]) => one)).size).toBeGreaterThan(5);
  return pairs.filter((pair) => pair[0] !== pair[1] && !pair.every((bits) => isNaNOf(type, bits)));
}

/** Returns true for the bits of a NaN, of which WGSL has no particular ones. */
const isNaNOf = (type: string, bits: number) =>
  (type === "f32" && (bits & 0x7fffffff) > 0x7f800000) || (type === "f16" && (bits & 0x7fff) > 0x7c00);

describe.each(cases)("$name of $type", ({ name, rewriting, type }) => {
  const ofScalars = functionOf("scalar", rewriting, type, "zero")!;
  const vector = { size: 3, element: type };
  const ofVectors = `${ofScalars}\n${functionOfVectors("other", rewriting, vector, "scalar", "zero")}`;

  it("computes the same bits as the operation", () => {
    const other = ofScalars.replace("fn scalar", "fn other");
    expect(differences(source(type, plain[name], other, 1), type)).toEqual([]);
  });

  it("computes the same bits in each component of a vector", () => {
    expect(differences(source(type, plain[name], ofVectors, 3), type)).toEqual([]);
  });
});

it("is compared in a way that notices another value for one operand", () => {
  const other = "fn other(a: u32, n: u32, zero: u32) -> u32 { return select(a << n, 0u, n > 31u); }";
  expect(differences(source("u32", plain.shiftLeft, other, 1), "u32")).not.toEqual([]);
});
