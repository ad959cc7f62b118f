/**
 * The ranges that dispatches are known to overwrite, compared with the ranges that change on a
 * device.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { fillingKernels } from "../../../../../test/support/kernels/fillingKernels.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { FilledRanges } from "./filled.ts";

const { newDevice } = testDevices();

/** The size of the bound buffer in bytes, and the value of words without a store. */
const BYTES = 1024;
const OFFSET = 256;
const BEFORE = 0x11;

interface Shape {
  /** The declaration of binding 0, if it is no array of u32. `out` is the overwritten variable. */
  readonly declarations?: string;
  readonly size?: string;
  readonly body: string;
  readonly grid?: readonly number[];
  /** The size of the binding in bytes. */
  readonly bound?: number;
  readonly constants?: Readonly<Record<string, number>>;
  /** The words at the beginning of the uniform buffer at binding 2. */
  readonly uniform?: readonly number[];
  /** The range that is known to be overwritten, as offset into the binding and size. */
  readonly filled: readonly (readonly [offset: number, size: number])[];
}

const array = (type: string) => `@group(0) @binding(0) var<storage, read_write> out: array<${type}>;`;
const uniform = "@group(0) @binding(2) var<uniform> u: array<vec4i, 4>;";
const all = [[0, 256]] as const;
const nothing = [] as const;

const shapes: Record<string, Shape> = {
  "a store by each invocation": { body: "out[id.x] = 1;", filled: all },
  "a grid that goes beyond the end": { body: "out[id.x] = 1;", grid: [9], filled: all },
  "a grid that ends before": { body: "out[id.x] = 1;", grid: [3], filled: [[0, 192]] },
  "a grid without workgroups": { body: "out[id.x] = 1;", grid: [4, 0], filled: nothing },
  "a binding with a tail": { body: "out[id.x] = 1;", bound: 244, filled: [[0, 244]] },
  "a tail that no element fits in": {
    declarations: array("vec4u"),
    body: "out[id.x] = vec4u(1);",
    bound: 248,
    filled: [[0, 240]],
  },
  "a guard": { body: "if (id.x < arrayLength(&out)) { out[id.x] = 1; }", filled: all },
  "a guard that is turned around": { body: "if (arrayLength(&out) > id.x) { out[id.x] = 1; }", filled: all },
  "a return before": { body: "if (id.x >= arrayLength(&out)) { return; } out[id.x] = 1;", filled: all },
  "an else": { body: "if (id.x >= arrayLength(&out)) { } else { out[id.x] = 1; }", filled: all },
  "a constant bound": { body: "if (id.x < 20u) { out[id.x] = 1; }", filled: [[0, 80]] },
  "a bound that counts": { body: "if (id.x <= 20u) { out[id.x] = 1; }", filled: [[0, 84]] },
  "the smaller of two bounds": {
    body: "if (id.x < 30u && id.x < 20u) { out[id.x] = 1; }",
    filled: [[0, 80]],
  },
  "one of two returns": {
    body: "if (id.x > 30u || id.x >= 20u) { return; } out[id.x] = 1;",
    filled: [[0, 80]],
  },
  "not beyond": { body: "if (!(id.x >= 20u)) { out[id.x] = 1; }", filled: [[0, 80]] },
  "a bound with a name": {
    body: "let i = id.x; let n = arrayLength(&out); let end = i32(n); if (i32(i) >= end) { return; } out[i] = 1;",
    filled: all,
  },
  "the length of another array": {
    declarations: `${array("u32")} @group(0) @binding(1) var<storage, read> other: array<vec2u>;`,
    body: "if (id.x < arrayLength(&other)) { out[id.x] = other[id.x].x + 1; }",
    filled: [[0, 128]],
  },
  "a variable that does not change": { body: "var i = id.x; out[i] = 1;", filled: all },
  "a variable that changes": { body: "var i = id.x; i += 1; out[i] = 1;", filled: [[4, 252]] },
  "a variable that a pointer changes": {
    body: "var i = id.x; let p = &i; *p = 3; out[i] = 1;",
    filled: nothing,
  },
  "workgroups and lanes": { body: "out[wid.x * 16 + lid.x] = 1;", filled: all },
  "workgroups and lanes that are too few": { body: "out[wid.x * 32 + lid.x] = 1;", filled: [[0, 64]] },
  "the index in the workgroup": {
    size: "4, 4",
    body: "out[(wid.x << 4u) + index] = 1;",
    filled: all,
  },
  "two dimensions": { size: "4, 4", grid: [2, 2], body: "out[id.y * 8 + id.x] = 1;", filled: all },
  "two dimensions whose rows overlap": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * 6 + id.x] = 1;",
    filled: [[0, 200]],
  },
  "two dimensions whose rows are apart": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * 9 + id.x] = 1;",
    filled: [[0, 32]],
  },
  "two dimensions with guards": {
    size: "4, 4",
    grid: [3, 3],
    body: "if (id.x >= 8 || id.y >= 7) { return; } out[id.y * 8 + id.x] = 1;",
    filled: [[0, 224]],
  },
  "rows as long as the grid": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * (groups.x * 4) + id.x] = 1;",
    filled: all,
  },
  "the last dimension": { size: "1, 1, 8", grid: [1, 1, 8], body: "out[id.z] = 1;", filled: all },
  "more dimensions than the index has": {
    size: "4, 4",
    grid: [16, 2],
    body: "if (id.y < 3) { out[id.x] = 1; }",
    filled: all,
  },
  "one lane of each workgroup": { grid: [64], body: "if (lid.x == 0) { out[wid.x] = 1; }", filled: all },
  "one lane of a workgroup with two dimensions": {
    size: "4, 4",
    grid: [64],
    body: "if (index == 0u) { out[wid.x] = 1; }",
    filled: all,
  },
  "another lane": { grid: [64], body: "if (lid.x == 1) { out[wid.x] = 1; }", filled: all },
  "all lanes but one": { body: "if (lid.x != 1) { out[id.x] = 1; }", filled: nothing },
  "an offset": { body: "out[id.x + 4] = 1;", filled: [[16, 240]] },
  "two elements each": {
    body: "out[2 * id.x] = 1; out[id.x * 2 + 1] = 2;",
    grid: [2],
    filled: all,
  },
  "one of two elements": { body: "out[2 * id.x] = 1;", filled: [[0, 4]] },
  vectors: { declarations: array("vec4u"), body: "out[id.x] = vec4u(1);", grid: [1], filled: all },
  "vectors with padding": { declarations: array("vec3u"), body: "out[id.x] = vec3u(1);", filled: [[0, 12]] },
  "all components": {
    declarations: array("vec2u"),
    body: "out[id.x].y = 1; out[id.x].x = 2;",
    grid: [2],
    filled: all,
  },
  "one component": { declarations: array("vec2u"), body: "out[id.x].y = 1;", filled: [[4, 4]] },
  "what depends on what was there": { body: "out[id.x] = out[id.x] + 1;", filled: all },
  matrices: {
    declarations: array("mat2x2f"),
    body: "out[id.x] = mat2x2f(1, 2, 3, 4);",
    filled: all,
  },
  "matrices with padding": {
    declarations: array("mat2x3f"),
    body: "out[id.x] = mat2x3f(1, 2, 3, 4, 5, 6);",
    filled: nothing,
  },
  structs: {
    declarations: `struct Pair { a: u32, b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(1, 2);",
    grid: [2],
    filled: all,
  },
  "structs with padding": {
    declarations: `struct Pair { a: u32, @align(8) b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(1, 2);",
    filled: nothing,
  },
  "structs with padding at the end": {
    declarations: `struct Pair { a: vec2u, b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(vec2u(1), 2);",
    filled: nothing,
  },
  "structs by their members": {
    declarations: `struct Pair { a: u32, b: f32 } ${array("Pair")}`,
    body: "out[id.x].a = 1; out[id.x].b = 2;",
    grid: [2],
    filled: all,
  },
  "a member with more than it needs": {
    declarations: `struct Pair { a: u32, @size(12) b: f32 } ${array("Pair")}`,
    body: "out[id.x].a = 1; out[id.x].b = 2;",
    filled: [[0, 8]],
  },
  "an array in a struct": {
    declarations:
      "struct List { count: vec2u, items: array<u32> } @group(0) @binding(0) var<storage, read_write> out: List;",
    body: "if (id.x < arrayLength(&out.items)) { out.items[id.x] = 1; }",
    filled: [[8, 248]],
  },
  "a struct and its array": {
    declarations:
      "struct List { count: vec2u, items: array<u32> } @group(0) @binding(0) var<storage, read_write> out: List;",
    body: "out.items[id.x] = 1; if (id.x == 0) { out.count = vec2u(3); }",
    filled: all,
  },
  "an array with a length": {
    declarations: "@group(0) @binding(0) var<storage, read_write> out: array<u32, 50>;",
    body: "out[id.x] = 1;",
    filled: [[0, 200]],
  },
  "one value": {
    declarations: "@group(0) @binding(0) var<storage, read_write> out: vec4u;",
    body: "out = vec4u(2);",
    filled: [[0, 16]],
  },
  "an index that is converted": { body: "out[u32(i32(id.x))] = 1;", filled: all },
  "an override": {
    declarations: `override wide = 8u; ${array("u32")}`,
    size: "wide",
    constants: { wide: 16 },
    body: "out[wid.x * wide + lid.x] = 1;",
    filled: all,
  },
  "an override with its default": {
    declarations: `override wide = 8u; ${array("u32")}`,
    size: "wide",
    body: "out[id.x] = 1;",
    filled: [[0, 128]],
  },
  "a condition on contents": { body: "if (out[id.x] > 0) { out[id.x] = 1; }", filled: nothing },
  "a condition on contents and a bound": {
    body: "if (id.x < 64 && out[id.x] > 0) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a bound less one": { body: "if (id.x < arrayLength(&out) - 1) { out[id.x] = 1; }", filled: [[0, 252]] },
  "a return that contents decide": {
    body: "if (out[0] > 5) { return; } out[id.x] = 1;",
    filled: nothing,
  },
  "a return in a loop": {
    body: "for (var i = 0u; i < 3; i++) { if (i == id.x) { return; } } out[id.x] = 1;",
    filled: nothing,
  },
  "a return deep inside": {
    body: "if (id.x < 64) { if (out[id.x] == 3) { return; } } out[id.x] = 1;",
    filled: nothing,
  },
  "a return in both branches": {
    body: "if (id.x < 3) { return; } else { return; } out[id.x] = 1;",
    filled: nothing,
  },
  "a loop before": {
    body: "var s = 0u; for (var i = 0u; i < 3; i++) { s += i; } out[id.x] = s + 1;",
    filled: all,
  },
  "a store in a loop": { body: "for (var i = 0u; i < 64; i++) { out[i] = 1; }", filled: all },
  "a store in a switch": { body: "switch (id.x) { default: { out[id.x] = 1; } }", filled: nothing },
  "an index that wraps": { body: "out[id.x - 1] = 1;", filled: nothing },
  "an index modulo": { body: "out[id.x % 8] = 1;", filled: [[0, 32]] },
  "an index from contents": { body: "out[out[id.x]] = 1;", filled: nothing },
  "an update": { body: "out[id.x] += 1;", filled: nothing },
  atomics: {
    declarations: array("atomic<u32>"),
    body: "atomicStore(&out[id.x], 1);",
    filled: nothing,
  },
  "a store through a pointer": { body: "let p = &out[id.x]; *p = 1;", filled: nothing },
  "a store in a called function": {
    declarations: `${array("u32")} fn put(at: u32, value: u32) { if (at < 50) { out[at] = value; } }`,
    body: "put(id.x, 7);",
    filled: [[0, 200]],
  },
  "an index in a private variable": {
    declarations: `var<private> at: u32; ${array("u32")} fn next() { at += 1; } fn put() { out[at] = 1; }`,
    body: "at = id.x; put(); at = at + 32; next(); put();",
    grid: [2],
    filled: [
      [0, 128],
      [132, 124],
    ],
  },
  "a private variable that a return before the end leaves": {
    declarations: `var<private> at: u32; ${array("u32")} fn choose(i: u32) { if (i > 5) { at = 0; return; } at = i; }`,
    body: "choose(id.x); out[at] = 1;",
    filled: nothing,
  },
  "a private variable that is the same at all returns": {
    declarations: `var<private> at: u32; ${array("u32")} fn choose(i: u32) { at = i; if (i > 5) { return; } }`,
    body: "choose(id.x); out[at] = 1;",
    filled: all,
  },
  "a return of a called function": {
    declarations: `${array("u32")} fn pick(i: u32) -> u32 { if (i > 70) { return i; } return i; }`,
    body: "out[pick(id.x)] = 1;",
    filled: all,
  },
  "different returns of a called function": {
    declarations: `${array("u32")} fn pick(i: u32) -> u32 { if (i > 5) { return 0; } return i; }`,
    body: "out[pick(id.x)] = 1;",
    filled: nothing,
  },
  "an argument that a private variable gives": {
    declarations: `var<private> lane: vec3u; ${array("u32")} fn at() -> i32 { return i32(lane.z * 4 + lane.x); }`,
    body: "lane = lid.zyx; lane.z = lid.x; lane.x = wid.x; out[at()] = 1;",
    filled: all,
  },
  "four stores in a loop": {
    body: "for (var i = 0u; i < 4; i++) { out[id.x * 4 + i] = 1; }",
    grid: [1],
    filled: all,
  },
  "stores in a loop by steps": {
    body: "for (var i = id.x; i < 64; i += 16) { out[i] = 1; }",
    grid: [1],
    filled: all,
  },
  "stores in nested loops": {
    body: "for (var i = 0; i <= 3; i++) { for (var j = 0; 4 > j; j = j + 1) { out[16 * i + 4 * j + i32(lid.x)] = 1; } }",
    size: "4",
    grid: [1],
    filled: all,
  },
  "a loop whose bound an id decides": {
    body: "for (var i = 0u; i < id.x; i++) { out[i] = 1; }",
    filled: nothing,
  },
  "a loop that ends before its bound": {
    body: "for (var i = 0u; i < 64; i++) { if (i == id.x) { break; } out[i] = 1; }",
    filled: nothing,
  },
  "a loop that leaves out an iteration": {
    body: "for (var i = 0u; i < 64; i++) { if (i >= 8) { continue; } out[i] = 1; }",
    filled: [[0, 32]],
  },
  "a loop that its body changes": {
    body: "for (var i = 0u; i < 64; i++) { out[i] = 1; i += id.x; }",
    filled: nothing,
  },
  "an index that a loop changes": {
    body: "var at = 0u; for (var i = 0u; i < 64; i++) { out[at] = 1; at += id.x; }",
    filled: nothing,
  },
  "a loop that counts down": { body: "for (var i = 63; i >= 0; i--) { out[i] = 1; }", filled: nothing },
  "a variable of a loop without a value": {
    body: "for (var i = 0u; i < 4; i++) { var at: u32; out[at + id.x] = 1; at = 7; }",
    filled: nothing,
  },
  "a variable after a loop that changes it": {
    body: "var at = id.x; for (var i = 0u; i < 3; i++) { at = 0; } out[at] = 1;",
    filled: nothing,
  },
  "a store after a loop that returns": {
    body: "for (var i = 0u; i < 3; i++) { if (out[i] == 9) { return; } } out[id.x] = 1;",
    filled: nothing,
  },
  "a store after a loop that breaks": {
    body: "for (var i = 0u; i < 3; i++) { if (out[i] == 9) { break; } } out[id.x] = 1;",
    filled: all,
  },
  "a loop without end conditions": {
    body: "var i = 0u; loop { if (i > 63) { break; } out[i] = 1; i++; }",
    filled: nothing,
  },
  "coordinates of an index": {
    body: "let row = id.x / 7; let column = id.x % 7; out[row * 7 + column] = 1;",
    filled: all,
  },
  "coordinates of an index by shifts": {
    body: "let row = id.x >> 3; let column = id.x & 7; out[(row << 3) + column] = 1;",
    filled: all,
  },
  "coordinates by nested divisions": {
    body: "let plane = id.x / 12; let rest = id.x - plane * 12; out[plane * 12 + rest / 5 * 5 + rest % 5] = 1;",
    filled: all,
  },
  "other coordinates": {
    body: "let row = id.x / 7; let column = id.x % 7; out[row * 8 + column] = 1;",
    filled: [[0, 28]],
  },
  "coordinates that change places": {
    body: "out[id.x % 4 * 16 + id.x / 4] = 1;",
    filled: all,
  },
  "four columns each, by digits of an index": {
    body: "let d = id.x % 2; let c = id.x / 2 % 4 * 4; let r = id.x / 2 / 4; for (var i = 0u; i < 4; i++) { if (r < 2) { out[r * 32 + (c + i) * 2 + d] = 1; } }",
    grid: [1],
    filled: all,
  },
  "columns that end before": {
    body: "let c = id.x % 4 * 4; let r = id.x / 4; for (var i = 0u; i < 4; i++) { if (c + i < 13) { out[r * 13 + c + i] = 1; } }",
    grid: [1],
    filled: [[0, 208]],
  },
  "rows of which the last is not whole": { body: "out[id.x / 7 + id.x % 7 * 9] = 1;", filled: [[0, 252]] },
  "rows of which the last is needed": { body: "out[id.x % 7 * 10 + id.x / 7] = 1;", filled: [[0, 36]] },
  "digits of several ids": { body: "let i = wid.x * 16 + lid.x; out[i % 8 * 8 + i / 8] = 1;", filled: all },
  "digits of a number with gaps": { body: "let i = lid.x * 3; out[i / 2] = 1;", filled: nothing },
  "a digit, and the number itself": { body: "out[id.x % 4 + id.x] = 1;", filled: [[0, 4]] },
  "digits of a sum that does not begin at zero": {
    body: "let i = id.x + 3; out[i / 4 * 4 + i % 4] = 1;",
    filled: [[12, 244]],
  },
  "a loop up to the smaller of two bounds": {
    body: "for (var i = id.x * 8; i < min(id.x * 8 + 8, 61); i++) { out[i] = 1; }",
    grid: [1],
    filled: [[0, 244]],
  },
  "halves of blocks in pairs": {
    body: "let i = wid.x * 32 + 2 * lid.x; out[i] = 1; out[i + 1] = 1; out[i + 16] = 1; out[i + 17] = 1;",
    size: "8",
    grid: [2],
    filled: all,
  },
  "a dot product with strides": {
    body: "let at = vec3i(i32(wid.x), i32(lid.x), 0); out[dot(at, vec3i(16, 1, 1))] = 1;",
    filled: all,
  },
  "both branches store": {
    body: "if (out[id.x] > 3) { out[id.x] = 1; } else { out[id.x] = 2; }",
    filled: all,
  },
  "one branch stores elsewhere": {
    body: "if (out[id.x] > 3) { out[id.x] = 1; } else { out[0] = 2; }",
    filled: nothing,
  },
  "branches that store under the same condition": {
    body: "if (out[id.x] > 3) { if (id.x < 50) { out[id.x] = 1; } } else if (id.x < 50) { out[id.x] = 2; }",
    filled: [[0, 200]],
  },
  "branches that store under different conditions": {
    body: "if (out[id.x] > 3) { if (id.x < 50) { out[id.x] = 1; } } else if (id.x < 51) { out[id.x] = 2; }",
    filled: nothing,
  },
  "an index that both branches set": {
    body: "var at = 0u; if (out[0] > 3) { at = id.x; } else { at = id.x; } out[at] = 1;",
    filled: all,
  },
  "an index that one branch changes": {
    body: "var at = id.x; if (out[0] > 3) { at = 0; } out[at] = 1;",
    filled: nothing,
  },
  "an index that a short circuit changes": {
    declarations: `var<private> at: u32; ${array("u32")} fn reset() -> bool { at = 0; return true; }`,
    body: "at = id.x; if (out[0] > 3 && reset()) { out[0] = 3; } out[at] = 1;",
    filled: nothing,
  },
  "branches that an id decides": {
    body: "if (id.x < 10) { out[id.x] = 1; } else { out[id.x] = 2; }",
    filled: all,
  },
  "all components within bounds": {
    size: "4, 4",
    grid: [3, 3],
    body: "let at = vec2i(id.xy); if (all(at >= vec2i(0)) && all(at < vec2i(8, 7))) { out[at.y * 8 + at.x] = 1; }",
    filled: [[0, 224]],
  },
  "the smaller of two numbers": { body: "out[min(id.x, 80u)] = 1;", filled: all },
  "the smaller of two numbers that decides": { body: "out[min(id.x, 8u)] = 1;", filled: nothing },
  "a known selection": { body: "out[select(id.x, 0u, id.y > 0)] = 1;", filled: all },
  "an unknown selection": { body: "out[select(id.x, 0u, out[0] > 3)] = 1;", filled: nothing },
  "an index from the end": { body: "out[63 - id.x] = 1;", filled: all },
  "an index that may be negative": { body: "out[i32(id.x) - 3] = 1;", filled: [[0, 244]] },
  "an index past the end": { body: "out[id.x + 60] = 1;", filled: [[240, 16]] },
  "blocks of rows": {
    size: "4, 2",
    grid: [2, 4],
    body: "for (var r = 0u; r < 2; r++) { out[(id.y * 2 + r) * 8 + id.x] = 1; } let s = id.y + 100;",
    filled: [[0, 256]],
  },
  "rows by two stores": {
    size: "8, 2",
    grid: [1, 2],
    body: "let row = id.y * 2; out[row * 8 + id.x] = 1; out[(row + 1) * 8 + id.x] = 1;",
    filled: all,
  },
  "a size in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [50],
    body: "if (i32(id.x) < u[0].x) { out[id.x] = 1; }",
    filled: [[0, 200]],
  },
  "strides in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [0, 0, 0, 0, 16, 1],
    body: "out[dot(vec2i(i32(wid.x), i32(lid.x)), u[1].xy)] = 1;",
    filled: all,
  },
  "other strides in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [0, 0, 0, 0, 20, 1],
    body: "out[dot(vec2i(i32(wid.x), i32(lid.x)), u[1].xy)] = 1;",
    filled: [[0, 64]],
  },
  "a negative number in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [-4],
    body: "out[i32(id.x) + u[0].x] = 1;",
    filled: [[0, 240]],
  },
  "a divisor in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [7, 0],
    body: "let i = i32(id.x); if (u[0].y != 0) { return; } out[i / u[0].x * u[0].x + i % u[0].x] = 1;",
    filled: all,
  },
  "a choice in a uniform buffer": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [1],
    body: "if (u[0].x == 1) { out[id.x] = 1; } else { return; } if (u[0].x > 1) { out[0] = 2; }",
    filled: all,
  },
  "a float in a uniform buffer": {
    declarations: `${array("u32")} @group(0) @binding(2) var<uniform> u: vec4f;`,
    uniform: [0x42480000],
    body: "if (f32(id.x) < u.x) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a number that is too large": { body: "out[(id.x * 0x8000000u) / 0x8000000u] = 1;", filled: nothing },
  "a number that just fits": { body: "out[(id.x * 0x4000000u) / 0x4000000u] = 1;", filled: all },
  "a variable that a function changes through a pointer": {
    declarations: `${array("u32")} fn zero(p: ptr<function, u32>) { *p = 0; }`,
    body: "var at = id.x; zero(&at); out[at] = 1;",
    filled: nothing,
  },
  "an element of an array of constants": {
    body: "const offsets = array(0u, 32u); out[id.x + offsets[0]] = 1; out[id.x + offsets[1]] = 1;",
    grid: [2],
    filled: all,
  },
  "a part of a variable": {
    body: "var at = vec2u(5, 6); at.x = id.x; at[1] = 0; out[at.x + at.y] = 1;",
    filled: all,
  },
  "a called function that returns inside of a loop": {
    declarations: `${array("u32")} fn ok(i: u32) -> bool { for (var k = 0u; k < 4; k++) { if (i == 9) { return false; } } return true; }`,
    body: "if (ok(id.x)) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a called function that returns inside of a switch": {
    declarations: `${array("u32")} fn at(i: u32) -> u32 { switch (i) { case 9: { return 0; } default: {} } return i; }`,
    body: "out[at(id.x)] = 1;",
    filled: nothing,
  },
  "a called function that returns inside of an endless loop": {
    declarations: `${array("u32")} fn at(i: u32) -> u32 { var k = 0u; loop { if (k + i == 9) { return 0; } k++; if (k > 2) { break; } } return i; }`,
    body: "out[at(id.x)] = 1;",
    filled: nothing,
  },
  "a private variable that a return inside of a loop leaves": {
    declarations: `var<private> at: u32; ${array("u32")} fn choose(i: u32) { at = 0; while (at == 0) { if (i == 9) { return; } at = 1; } at = i; }`,
    body: "choose(id.x); out[at] = 1;",
    filled: nothing,
  },
  "a shift by the width of a number": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [32],
    body: "if ((id.x >> u32(u[0].x)) == 0) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a shift to the left by more than the width of a number": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [33],
    body: "out[id.x << u32(u[0].x)] = 1;",
    filled: nothing,
  },
  "a number as a boolean": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [7],
    body: "if (u32(bool(u[0].x)) != 1) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a comparison of booleans": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [1, 2],
    body: "if (bool(u[0].x) != bool(u[0].y)) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a condition that is a number": {
    declarations: `${array("u32")} ${uniform}`,
    uniform: [7],
    body: "if (bool(u[0].x)) { out[id.x] = 1; }",
    filled: all,
  },
  "a switch that returns": {
    body: "switch (out[0]) { case 3: { return; } default: {} } out[id.x] = 1;",
    filled: nothing,
  },
  "a switch before": {
    body: "var s = 1u; switch (out[0]) { case 3: { s = 2; break; } default: {} } out[id.x] = s;",
    filled: all,
  },
};

/** Returns the source of the kernel of a shape. */
const codeOf = ({ declarations = array("u32"), size = "16", body }: Shape) => `${declarations}
@compute @workgroup_size(${size}) fn fill(
  @builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u, @builtin(local_invocation_index) index: u32) { ${body} }`;

const words = ({ uniform = [] }: Shape) =>
  Int32Array.from([...uniform, ...new Array(64 - uniform.length).fill(0)]);

/**
 * Returns the ranges that the shape is known to overwrite, as offsets into the binding and sizes.
 */
function knownRanges(shape: Shape): (readonly [number, number])[] {
  const { grid: [x, y = 1, z = 1] = [4], constants = {} } = shape;
  const kernel = { source: codeOf(shape), entryPoint: undefined, constants };
  const range: BufferRange = { buffer: {} as GPUBuffer, offset: OFFSET, size: shape.bound ?? 256 };
  const bound = [0, 1, 2].map((binding) => ({ of: { group: 0, binding }, place: range }));
  const uniform = words(shape);
  const wordAt = (_: BufferRange, byte: number) => uniform[byte / 4]! >>> 0;
  const contents = { wordAt, versionOf: () => undefined };
  const ranges = new FilledRanges().of({ kernel, grid: [x!, y, z], bound }, contents);
  return ranges.map(({ offset, size }) => [offset - OFFSET, size]);
}

let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/** Returns the bound bytes that a dispatch changed. */
async function changed(shape: Shape): Promise<readonly boolean[]> {
  const { grid = [4], constants = {} } = shape;
  const code = codeOf(shape);
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (usage: number) => device.createBuffer({ size: BYTES, usage: usage | COPY_DST });
  const [out, other, staging] = [make(STORAGE | COPY_SRC), make(STORAGE), make(MAP_READ)];
  device.queue.writeBuffer(out, 0, new Uint8Array(BYTES).fill(BEFORE));
  const uniform = make(UNIFORM);
  device.queue.writeBuffer(uniform, OFFSET, words(shape));
  const compute = { module: device.createShaderModule({ code }), constants };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const bound = { offset: OFFSET, size: shape.bound ?? 256 };
  const entries = [out, other, uniform]
    .map((buffer, binding) => ({ binding, resource: { buffer, ...bound } }))
    .filter(({ binding }) => code.includes(`@binding(${binding})`));
  const encoder = device.createCommandEncoder();
  encodeDispatch(
    encoder,
    pipeline,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    grid[0]!,
    grid[1],
    grid[2],
  );
  encoder.copyBufferToBuffer(out, staging);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const read = new Uint32Array(staging.getMappedRange(OFFSET, 256));
  // All bytes of a word change together.
  return [...read].flatMap((word) => new Array<boolean>(4).fill(word !== 0x01010101 * BEFORE));
}

describe.each(Object.entries(shapes))("%s", (_, shape) => {
  it("overwrites the known range", async () => {
    expect(knownRanges(shape)).toEqual(shape.filled);
    const bytes = await changed(shape);
    for (const [offset, size] of shape.filled)
      expect(bytes.slice(offset, offset + size).every((each) => each)).toBe(true);
  });
});

it("overwrites the known ranges of random kernels", async () => {
  const { statements, index } = fillingKernels({ value: "1", condition: "(out[at] == 1)" });
  const kernels = fc.sample(fc.tuple(statements, index), { numRuns: 250, seed: 11 });
  let filled = 0;
  for (const [body, last] of kernels) {
    const shape: Shape = {
      declarations: `${array("u32")} ${uniform} var<private> at: u32;
        fn put(i: u32) { if (i < 40) { at = i; } else { return; } out[i] = 1; }`,
      size: "8, 2",
      grid: [3, 2],
      uniform: [5, 16],
      body: `at = u32(u[0].z); ${body} out[${last}] = 1;`,
      filled: nothing,
    };
    const ranges = knownRanges(shape);
    const bytes = ranges.length > 0 ? await changed(shape) : [];
    for (const [offset, size] of ranges) {
      filled += size;
      const isWrong = bytes.slice(offset, offset + size).some((each) => !each);
      expect(isWrong, `bytes ${offset} to ${offset + size} of ${shape.body}`).toBe(false);
    }
  }
  // Many kernels fill something, so the comparison says something.
  expect(filled).toBeGreaterThan(2000);
});
