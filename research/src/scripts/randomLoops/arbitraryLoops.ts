/**
 * Random loops in the language that Belay translates. Most round f32 values after each operation.
 * Some ask for exact floats, and some for 32 bits.
 */
import fc from "fast-check";

/** The arrays that every loop has, by name. */
const arrayTypes = {
  a: Int32Array,
  b: Uint32Array,
  c: Uint8Array,
  d: Int16Array,
  e: Uint8ClampedArray,
  f: Float32Array,
  g: Float32Array,
  t: Int32Array,
} as const;

/** Returns random TypeScript: a template with random texts in its holes. */
function text(strings: TemplateStringsArray, ...holes: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...holes).map((parts) => String.raw({ raw: strings }, ...parts));
}

const oneOf = (...texts: string[]) => fc.constantFrom(...texts);
const literal = oneOf(
  "0",
  "1",
  "2",
  "3",
  "7",
  "(-1)",
  "255",
  "65535",
  "2147483647",
  "(-2147483648)",
  "4294967295",
);
const coercion = oneOf("| 0", ">>> 0", "& 255", "% 3");
const comparison = oneOf("<", "<=", ">", ">=", "===", "!==");

/** Indices that are mostly in the nested arrays. */
const inside = oneOf("c[i] & 1", "i & 1", "h % 2", "0", "1", "i");
/** Numbers in nested arrays and objects, most of which are doubles. */
const nested = fc.oneof(
  text`grid[${inside}][${inside}] /* double */`,
  text`grid[${inside}][i] /* double */`,
  text`parts[${inside}].x /* double */`,
  text`parts[${inside}].pos.${oneOf("x", "y")} /* double */`,
  text`bands[${inside}][${oneOf("i", "c[i]", "1")}]`,
  text`list[${inside}] /* double */`,
  text`(grid[${oneOf("i", "i - 1", "h + 1", "a[i]")}]?.[${oneOf("i", "c[i] - 1", "h")}] ?? ${oneOf("x", "u", "0")}) /* double */`,
  text`(parts[${oneOf("i", "i - 1", "a[i]")}]?.pos.x ?? ${oneOf("x", "u", "i")}) /* double */`,
  text`(list[${oneOf("i + 1", "i - 2", "a[i]", "b[i]")}] ?? 0.5) /* double */`,
  text`Math.hypot(${oneOf("x", "parts[0].x", "i")}, ${oneOf("u", "grid[1][0]", "n")}) /* double */`,
  text`easing.${oneOf("twice", "scaled")}(${oneOf("u", "i", "x")}) /* double */`,
);

/** Returns statements that only reduce variables, one of which is chosen with a companion. */
const reducing = (value: string, other: string) => [
  `if (${value} > most) { most = ${value}; at = ${other}; }`,
  `if (least >= ${value}) least = ${value};`,
  `total += ${value}${value.startsWith("f") ? " /* double */" : ""};`,
  `seen = ${other};`,
];
const reduction = fc
  .tuple(oneOf("a[i]", "c[i]", "b[i]", "f[i]", "f[c[i]]", "d[i + 1]"), oneOf("i", "k", "c[i]"), fc.nat(3))
  .map(([value, other, which]) => reducing(value, other)[which]!);

const { body } = fc.letrec<Record<"integer" | "float" | "test" | "index" | "statement" | "body", string>>(
  (tie) => {
    const [integer, float, test, index, body] = [
      tie("integer"),
      tie("float"),
      tie("test"),
      tie("index"),
      tie("body"),
    ];
    const bounded = { maxDepth: 3, depthSize: "xsmall" } as const;
    const array = oneOf("a", "b", "c", "d", "e");
    return {
      integer: fc.oneof(
        { ...bounded, depthIdentifier: "expression" },
        oneOf("i", "h", "k", "last", "n", "m"),
        literal,
        text`${array}[${index}]`,
        text`(${integer} ${oneOf("+", "-")} ${integer})`,
        text`((${integer} ${oneOf("+", "-", "*", "/", "%")} ${integer}) ${coercion})`,
        text`(${integer} ${oneOf("&", "|", "^", "<<", ">>", ">>>")} ${integer})`,
        text`Math.${oneOf("floor", "trunc", "ceil")}(${integer} / ${oneOf("2", "3", "(-7)", "m")})`,
        text`(${integer} % ${oneOf("2", "7", "(-5)", "m")})`,
        text`Math.${oneOf("imul", "min", "max")}(${integer}, ${integer})`,
        text`Math.${oneOf("clz32", "abs", "sign", "floor")}(${integer})`,
        text`(${oneOf("~", "-", "+")} ${integer})`,
        text`(${test} ? ${integer} : ${integer})`,
        text`(${float} | 0)`,
        text`mix(${integer}, ${integer})`,
        text`(${array}[${index}] ?? ${integer})`,
        text`(${array}.at(${index}) ?? ${integer})`,
        text`${array}.at(${oneOf("-i", "i - 1", "c[i]", "-1 - h", "(a[i] | 0)", "-2")})`,
        text`counter.${oneOf("scaled", "shifted")}(${integer})`,
        text`tree(c[i] & 15)`,
        text`(${oneOf("i", "c[i]", "h")} ** 2)`,
        oneOf("k++", "--k", "(k = i)", "(a[i] = 3)", "c[i]++"),
      ),
      index: fc.oneof(
        { ...bounded, depthIdentifier: "expression" },
        oneOf(
          "i",
          "i + 1",
          "i - 1",
          "2 * i",
          "c[i]",
          "a[i] & 7",
          "i * m",
          "b[i]",
          "b[i] + 1",
          "a[i] - 1",
          "b[i] + c[i]",
          "i / 2",
        ),
        integer,
      ),
      float: fc.oneof(
        { ...bounded, depthIdentifier: "expression" },
        oneOf(
          "u",
          "f[i]",
          "g[i]",
          "f[c[i]]",
          "Math.fround(x)",
          "Math.fround(0.1)",
          "Math.fround(-1.5)",
          "Math.fround(NaN)",
        ),
        text`Math.fround(${float} ${oneOf("+", "-", "*", "/")} ${float})`,
        text`Math.fround(Math.${oneOf("sqrt", "abs", "floor")}(${float}))`,
        text`(${float} ${oneOf("+", "-", "*")} /* double */ ${float})`,
        text`Math.${oneOf("min", "max")}(${float}, ${float})`,
        text`Math.fround(${integer})`,
        text`${oneOf("f", "g")}[${index}]`,
        text`(${test} ? ${float} : ${float})`,
        nested,
      ),
      test: fc.oneof(
        { ...bounded, depthIdentifier: "expression" },
        text`(${integer} ${comparison} ${integer})`,
        text`(${float} ${comparison} ${fc.oneof(float, oneOf("0.1", "1e39", "2"))})`,
        text`(${integer} ${comparison} ${oneOf("0.5", "3", "x", "1e20")})`,
        text`(${integer} / ${oneOf("3", "m", "c[i]")} ${comparison} ${oneOf("i", "0.5", "c[i] / 2")})`,
        text`(${test} ${oneOf("&&", "||")} ${test})`,
        text`!${test}`,
        text`!!(${fc.oneof(integer, float)})`,
      ),
      statement: fc.oneof(
        { ...bounded, depthIdentifier: "statement" },
        text`${array}[${index}] ${oneOf("=", "+=", "^=", "-=")} ${integer};`,
        text`${array}[${index}]${oneOf("++", "--")};`,
        text`${oneOf("f", "e", "a")}[${index}] = ${float};`,
        text`f[${index}] = Math.fround(${index});`,
        text`${oneOf("grid[c[i] & 1][h % 2]", "grid[1][i]", "parts[i].v", "parts[c[i] & 1].pos.y", "list[i]")} ${oneOf("=", "+=", "*=")} ${float}; /* double */`,
        text`bands[${inside}][${oneOf("i", "c[i]", "0")}] ${oneOf("=", "-=")} ${float}; /* double */`,
        text`for (const p of parts) { u = Math.fround(p.x + p.pos.y); /* double */ ${body} }`,
        text`for (const [p, row] of grid.entries()) for (const q of row) { if (${test}) u = q; k = (k + p) | 0; /* double */ }`,
        text`for (const [p, q] of [[${integer}, 1], [i, ${integer}]]) { k = (k + p * q) | 0; ${body} }`,
        text`for (const p of [${integer}, k, 3]) { last = (last ^ p) | 0; ${body} }`,
        text`{ const { pos, v } = parts[${inside}]; pos.y = v + pos.x; /* double */ ${body} }`,
        text`bands.forEach((band, q) => { if (${test}) return; band[q] = ${float}; }); /* double */`,
        text`e.set([${integer}, ${integer}], ${oneOf("i", "c[i]", "0", "n")});`,
        text`a.set(c.subarray(${oneOf("i", "h", "-2", "a[i]")}, ${oneOf("i + 2", "c[i]", "n")}), ${oneOf("i", "0", "d[i]")});`,
        text`${array}.fill(${integer}, ${oneOf("i", "c[i]", "-3", "d[i]")}, ${oneOf("i + 2", "n", "b[i]")});`,
        text`${oneOf("k", "last")} = (${integer}) | 0;`,
        text`u = ${float};`,
        reduction,
        text`if (${test}) { ${reduction} count++; }`,
        text`if (${test}) ${array}[place++] = ${integer};`,
        text`t[${oneOf("c[i]", "a[i] & 7", "h")}] += ${oneOf("1", "c[i]", "a[i]", "(a[i] & 3)", "-2")};`,
        text`if (${test}) ${oneOf("some", "every")} = ${oneOf("true", "false", "!some")};`,
        text`if (${test} && i % 5 === 3) return ["left", i, k, ${integer}, ${array}[${index}]];`,
        text`{ const p = ${integer}, q = ${integer}, r = ${float}; { const h = p; let k = q | 0, u = r; ${body} } }`,
        text`if (${test}) { ${body} } else { ${body} }`,
        text`if (${test} && i % 5 === 4) ${oneOf("continue", "break")};`,
        text`for (let h = ${oneOf("0", "m", "c[i]", "0, to = 2")}; h < ${oneOf("4", "n", "c[i + 1]")}; h${oneOf("++", " += 3")}) { ${body} if (${test}) ${oneOf("break", "continue", "continue outer")}; ${body} }`,
        text`{ let turns = 3; while (turns > 0) { turns = (turns - 1) | 0; ${body} } }`,
        text`{ let turns = 3; do { turns = (turns - 1) | 0; ${body} if (${test}) continue; ${body} } while (turns > 0); }`,
        text`switch ((${integer}) & 3) { case 0: case 2: { ${body} } break; case 1: if (${test}) break; ${body} break; default: ${body} }`,
        text`switch ((${integer}) & 3) { case 0: { ${body} break; } case 1: { if (${test}) { break; } else { ${body} continue; } } case 3: { { ${body} } { ${body} break; } } default: { ${body} } }`,
        text`{ let sum = 0; for (let h = 0; h < n; h++) { sum += c[h]; if (${test}) sum--; } ${array}[${index}] = sum; }`,
      ),
      body: fc.array(tie("statement"), { maxLength: 2 }).map((statements) => statements.join("\n")),
    };
  },
);

const header = oneOf(
  "let i = 0; i < n; i++",
  "let i = n - 1; i >= 0; i--",
  "let i = 1, end = n; i <= end; i += 2",
  "let i = 0; i !== (n > 0 ? Math.floor(n) : 0); ++i",
  "let i = m; i < n + m; i++",
  "let i = 0; i < n / 2; i++",
  "let i = 0, odd = 1; i < n; i++, odd = odd * 5 & 7",
);

/**
 * A random module with an async function `run(a, b, c, d, e, f, g, t, n, m, x, grid, parts, bands,
 * list)`. The function has one loop and returns the variables that it carries and reduces, unless
 * the loop itself returns.
 */
export const arbitraryLoop: fc.Arbitrary<string> = text`
function mix(x: number, y: number) {
  if (x > y) return (x - y) | 0;
  return (x ^ y) & 1023;
}
const tree = (y: number): number => (y < 1 ? 1 : (tree(y - 1) * 3 + y) & 255);
class Counter {
  scale = 3;
  shift = 2;
  times(y: number) { return Math.imul(y, this.scale); }
  scaled(y: number) { return (this.times(y) + this.shift) | 0; }
  shifted(y: number) { return y >> this.shift; }
}
const counter = new Counter();
const easing = {
  gain: 1.5,
  twice: (y: number) => y * 2,
  scaled(y: number) { return this.gain * y; },
};
interface Part { x: number; v: number; pos: { x: number; y: number } }
export async function run(a: Int32Array, b: Uint32Array, c: Uint8Array, d: Int16Array, e: Uint8ClampedArray,
  f: Float32Array, g: Float32Array, t: Int32Array, n: number, m: number, x: number,
  grid: number[][], parts: Part[], bands: Float32Array[], list: number[]) {
  "use speculate";
  let last = m;
  let total = 0, count = 0, most = -Infinity, least = Infinity, at = -1, seen = n, place = 0;
  let some = false, every = true;
  //#pragma omp for target(webgpu) ${oneOf("", "precision(f32)")}
  outer: for (${header}) {
    const h = ${oneOf("i", "c[i]", "i * 2")};
    let k = i;
    let u = f[i]!;
    ${body}
    ${body}
  }
  return [last, total, count, most, least, at, seen, place, some, every];
}
`;

/** Returns true if a loop rounds each number that it computes in 32 bits. */
export const roundsAll = (source: string) =>
  !source.includes("precision(f32)") || !source.includes("/* double */");

const integers = fc.constantFrom(0, 1, 2, 3, 7, 9, -1, -2, 100, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1);
const floats = fc.oneof(
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0, 0, 1, -1.5, 3e38, 1e-45, 2 ** 31, 2 ** 32),
  fc.float(),
);

/** The input of `run`, including hostile values. */
export interface LoopInput {
  readonly lengths: readonly number[];
  readonly values: readonly number[];
  readonly floats: readonly number[];
  readonly numbers: readonly [n: number, m: number, x: number];
  /** True if some arrays share memory. */
  readonly shared: boolean;
  /** The form of nested arrays: most are plain, and others have shared or unusual parts. */
  readonly form: number;
}

export const loopInput: fc.Arbitrary<LoopInput> = fc.record({
  lengths: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 8, maxLength: 8 }),
  values: fc.array(integers, { minLength: 1, maxLength: 30 }),
  floats: fc.array(floats, { minLength: 1, maxLength: 15 }),
  numbers: fc.tuple(
    fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 10 }) }, fc.constantFrom(-3, 2.5)),
    fc.constantFrom(0, 1, 3, -2, 1000, -0),
    floats,
  ),
  shared: fc.boolean(),
  form: fc.nat(9),
});

/** Returns the arrays and numbers for one call of `run`. */
export function parametersOf({ lengths, values, floats, numbers, shared, form }: LoopInput) {
  const memory = new ArrayBuffer(256);
  const arrays = Object.values(arrayTypes).map((Type, at) => {
    const length = lengths[at]!;
    const array = shared && (at % 2 === 0 || at === 7) ? new Type(memory, 0, length) : new Type(length);
    const source = Type === Float32Array ? floats : values;
    for (let place = 0; place < length; place++) array[place] = source[(place + at) % source.length]!;
    return array;
  });
  return [...arrays, ...numbers, ...nestedOf({ lengths, floats, form }, arrays[5] as Float32Array)] as const;
}

/** Returns the nested arrays of an input. */
function nestedOf(
  { lengths, floats, form }: Pick<LoopInput, "lengths" | "floats" | "form">,
  own: Float32Array,
) {
  const [rows, width, count] = [(lengths[0]! % 4) + 2, lengths[1]! + 2, lengths[2]! + 2];
  const number = (at: number) => floats[at % floats.length]! / 3;
  const list = Array.from({ length: count }, (_, at) => number(at));
  const grid = Array.from({ length: rows }, (_, y) =>
    Array.from({ length: width }, (_, x) => number(y * width + x)),
  );
  const parts = Array.from({ length: count }, (_, at) => ({
    x: number(at),
    v: number(at + 1),
    pos: { x: number(at + 2), y: number(at + 3) },
  }));
  const memory = new Float32Array(3 * width);
  const bands: Float32Array[] = [0, 1, 2].map((at) =>
    form % 2 > 0 ? memory.subarray(at * width, (at + 1) * width) : new Float32Array(width),
  );
  for (const [at, band] of bands.entries()) band.fill(number(at), 0, 3);
  if (form === 4) grid[1] = grid[0]!;
  if (form === 5) grid[1]!.push(1);
  if (form === 6) parts[1]!.pos = parts[0]!.pos;
  if (form === 7) bands[1] = memory.subarray(1, width + 1);
  if (form === 8) bands[1] = own;
  if (form === 9) Object.assign(list, { "-1": 7 });
  return [grid, parts, bands, list] as const;
}
