import type { Loop, LoopArray, NumberType, Reduction } from "../../tree/ir.ts";
import { emitLiteral } from "./expressions.ts";
import { emitGet, emitPut, emitTake } from "./memory.ts";
import { wgslName } from "./names.ts";
import { StatementWriter } from "./statements.ts";

/**
 * What an engine makes of the effects of an iteration: bodies of WGSL functions, with the
 * parameters named here. The rest of a body is the same for all engines.
 *
 * An `element` is always one that the array has, and `bits` are those of its value as an i32, u32
 * or f32. The functions `peek_a(element) -> u32` and `poke_a(element, bits)` of `memory.ts` access
 * the array itself.
 */
export interface Effects {
  /** `fn load_a(element: u32) -> u32`. */
  load(array: LoopArray): string;
  /** `fn store_a(element: u32, bits: u32)`; only for arrays that the loop writes. */
  store(array: LoopArray): string;
  /** `fn load_carried_x() -> u32`; `slot` counts the carried variables from 0. */
  loadCarried(name: string, slot: number): string;
  /** `fn store_carried_x(bits: u32)`. */
  storeCarried(name: string, slot: number): string;
  /**
   * `fn report_bail_out(reason: u32)`: the kernel cannot compute what JavaScript computes here; the reason
   * is one of `bailOuts`. Called once, after which the iteration stores nothing more and ends soon.
   */
  readonly bailOut: string;
  /** `fn end_loop()`: no iteration after this one is executed. The iteration returns next. */
  readonly endLoop: string;
  /**
   * `fn misspeculate(nearest: i32, farthest: i32)`: iterations at these distances are wrong;
   * `farthest` may be 0x7fffffff, which stands for all.
   */
  readonly misspeculate: string;
}

/**
 * Why an iteration is left to the CPU: an element no array has, too many turns of its loops, too
 * many accesses.
 */
export const bailOuts = { outside: 1, fuel: 2, overflow: 3 } as const;

/**
 * The functions of one iteration, down to `fn iterate(index: …)`, which the entry point calls once
 * per invocation after setting `fuel` and calling `start_reductions`. Needs a uniform `params` of
 * `parameters.ts`; reductions are left in `reduced_x`.
 */
export function emitBody(loop: Loop, effects: Effects): string {
  const types = new Map<string, NumberType>();
  for (const { name, type } of [...loop.carried, ...loop.reductions]) types.set(name, type);
  const writer = new StatementWriter({ typeOf: (name) => types.get(name)!, indexType: loop.index.type });
  writer.block(loop.body);
  const iterate = [`fn iterate(index: ${loop.index.type}) {`, ...indent(writer.lines), "}"].join("\n");

  const used = (name: string, text: string) => (iterate.includes(`  ${name}(`) ? [text] : []);
  const accessors = loop.arrays.flatMap((array) => emitAccessors(array, effects, iterate));
  const carried = loop.carried.flatMap(({ name }, slot) => [
    `fn load_carried_${wgslName(name)}() -> u32 {\n${effects.loadCarried(name, slot)}\n}`,
    `fn store_carried_${wgslName(name)}(bits: u32) {\n${effects.storeCarried(name, slot)}\n}`,
  ]);
  return [
    `const BAIL_OUT_OUTSIDE = ${bailOuts.outside}u;\nconst BAIL_OUT_FUEL = ${bailOuts.fuel}u;\nconst BAIL_OUT_OVERFLOW = ${bailOuts.overflow}u;`,
    "/** How many more turns the loops of this iteration may take. */\nvar<private> fuel: u32;",
    "var<private> bailed_out: bool;",
    `fn report_bail_out(reason: u32) {\n${effects.bailOut}\n}`,
    "fn bail_out(reason: u32) {\n  if (bailed_out) { return; }\n  bailed_out = true;\n  fuel = 0u;\n  report_bail_out(reason);\n}",
    ...used("end_loop", `fn end_loop() {\n${effects.endLoop}\n}`),
    ...used("misspeculate", `fn misspeculate(nearest: i32, farthest: i32) {\n${effects.misspeculate}\n}`),
    ...accessors,
    ...carried,
    ...emitReductions(loop.reductions),
    iterate,
  ].join("\n\n");
}

/** The accessors of one array that the iteration calls, and what they call. */
function emitAccessors(array: LoopArray, effects: Effects, iterate: string): string[] {
  const name = wgslName(array.name);
  const types: NumberType[] = ["i32", "u32", "f32"];
  const got = types.filter((type) => iterate.includes(`get_${name}_${type}(`));
  const taken = types.filter((type) => iterate.includes(`take_${name}_${type}(`));
  const put = types.filter((type) => iterate.includes(`put_${name}_${type}(`));
  return [
    ...(got.length + taken.length > 0
      ? [`fn load_${name}(element: u32) -> u32 {\n${effects.load(array)}\n}`]
      : []),
    ...(put.length > 0 ? [`fn store_${name}(element: u32, bits: u32) {\n${effects.store(array)}\n}`] : []),
    ...got.map((type) => emitGet(array, type)),
    ...taken.map((type) => emitTake(array, type)),
    ...put.map((type) => emitPut(array, type)),
  ];
}

/**
 * What an operator leaves a value as it is with. Minus zero is that of `+`: 0 would turn a sum of
 * minus zeros into 0.
 */
export function identityOf({ type, operator }: Reduction): number {
  switch (operator) {
    case "+":
      return type === "f32" ? -0 : 0;
    case "*":
      return 1;
    case "&":
      return type === "i32" ? -1 : 0xffffffff;
    case "|":
    case "^":
      return 0;
    case "min":
      return { i32: 0x7fffffff, u32: 0xffffffff, f32: Infinity }[type];
    case "max":
      return { i32: -0x80000000, u32: 0, f32: -Infinity }[type];
  }
}

/** Two values of a reduction as one. */
export function combine({ type, operator }: Reduction, a: string, b: string): string {
  if (operator === "min" || operator === "max")
    return `${operator}${type === "f32" ? "_f32" : ""}(${a}, ${b})`;
  return `(${a} ${operator} ${b})`;
}

/** `reduced_x` of each reduction, `fn reduce_x(value: …)`, and `fn start_reductions()`. */
function emitReductions(reductions: readonly Reduction[]): string[] {
  const reduces = reductions.map((reduction) => {
    const reduced = `reduced_${wgslName(reduction.name)}`;
    const { type, name } = reduction;
    return `var<private> ${reduced}: ${type};
fn reduce_${wgslName(name)}(value: ${type}) { ${reduced} = ${combine(reduction, reduced, "value")}; }`;
  });
  const starts = reductions.map(
    (reduction) =>
      `  reduced_${wgslName(reduction.name)} = ${emitLiteral(reduction.type, identityOf(reduction))};`,
  );
  return [...reduces, ["fn start_reductions() {", ...starts, "}"].join("\n")];
}

function indent(lines: readonly string[]): string[] {
  let depth = 1;
  return lines.map((line) => {
    if (line.startsWith("}")) depth -= 1;
    const text = "  ".repeat(depth) + line;
    if (line.endsWith("{")) depth += 1;
    return text;
  });
}
