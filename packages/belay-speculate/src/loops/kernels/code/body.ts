import type { Loop, LoopArray, NumberType } from "../../tree/ir.ts";
import { reducedVariables } from "../../tree/walk.ts";
import { emitGet, emitPut, emitTake } from "./memory.ts";
import { wgslName } from "./names.ts";
import { emitReductions } from "./reduced.ts";
import { StatementWriter } from "./statements.ts";

/**
 * The effects of an iteration in one engine: bodies of WGSL functions, with the parameters named
 * here. The rest of an iteration is the same in all engines.
 * An `element` always exists in its array, and `bits` are those of its value as an i32, u32 or f32.
 * The functions `peek_a(element) -> u32` and `poke_a(element, bits)` of `memory.ts` access the
 * array itself.
 */
export interface Effects {
  /** Returns the body of `fn load_a(element: u32) -> u32`. */
  load(array: LoopArray): string;
  /** Returns the body of `fn store_a(element: u32, bits: u32)`, for arrays that the loop writes. */
  store(array: LoopArray): string;
  /**
   * Returns the body of `fn load_carried_x() -> u32`. `slot` numbers the carried variables from 0.
   */
  loadCarried(name: string, slot: number): string;
  /** Returns the body of `fn store_carried_x(bits: u32)`. */
  storeCarried(name: string, slot: number): string;
  /**
   * The body of `fn report_bail_out(reason: u32)`. It runs when the kernel cannot compute
   * JavaScript's result; the reason is one of `bailOuts`. It is called once. The iteration then
   * stores nothing more and ends soon.
   */
  readonly bailOut: string;
  /**
   * The body of `fn end_loop()`. No iteration after this one is executed. The iteration returns
   * next.
   */
  readonly endLoop: string;
  /**
   * The body of `fn misspeculate(nearest: i32, farthest: i32)`. The iterations at these distances
   * misspeculated. A `farthest` of 0x7fffffff stands for all.
   */
  readonly misspeculate: string;
}

/**
 * The reasons for a bail-out: an element outside its array, too many iterations of inner loops, too
 * many accesses, or an integer that its type does not hold.
 */
export const bailOuts = { outside: 1, fuel: 2, overflow: 3, inexact: 4 } as const;

/**
 * Returns the functions of one iteration, down to `fn iterate(index: …)`. The entry point sets
 * `fuel`, calls `start_reductions` and then `iterate`, once per invocation. Requires a uniform
 * `params` as in `parameters.ts`. Leaves the bits of reductions in `reduced_x`.
 */
export function emitBody(loop: Loop, effects: Effects): string {
  const types = new Map<string, NumberType>();
  for (const { name, type } of [...loop.carried, ...reducedVariables(loop)]) types.set(name, type);
  const writer = new StatementWriter({
    typeOf: (name) => types.get(name)!,
    companionsOf: (name) =>
      loop.reductions.find((one) => one.name === name)?.companions?.map(({ type }) => type) ?? [],
    indexType: loop.index.type,
  });
  writer.block(loop.body);
  const iterate = [`fn iterate(index: ${loop.index.type}) {`, ...indent(writer.lines), "}"].join("\n");

  const used = (name: string, text: string) => (iterate.includes(`  ${name}(`) ? [text] : []);
  const accessors = loop.arrays.flatMap((array) => emitAccessors(array, effects, iterate));
  const carried = loop.carried.flatMap(({ name }, slot) => [
    `fn load_carried_${wgslName(name)}() -> u32 {\n${effects.loadCarried(name, slot)}\n}`,
    `fn store_carried_${wgslName(name)}(bits: u32) {\n${effects.storeCarried(name, slot)}\n}`,
  ]);
  return [
    `const BAIL_OUT_OUTSIDE = ${bailOuts.outside}u;\nconst BAIL_OUT_FUEL = ${bailOuts.fuel}u;\nconst BAIL_OUT_OVERFLOW = ${bailOuts.overflow}u;\nconst BAIL_OUT_INEXACT = ${bailOuts.inexact}u;`,
    "/** The number of iterations that this iteration's inner loops may still run. */\nvar<private> fuel: u32;",
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

/**
 * Returns the accessors of one array that the iteration calls, and the functions that they call.
 */
function emitAccessors(array: LoopArray, effects: Effects, iterate: string): string[] {
  const name = wgslName(array.name);
  const types: NumberType[] = ["i32", "u32", "f32", "f64"];
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

function indent(lines: readonly string[]): string[] {
  let depth = 1;
  return lines.map((line) => {
    if (line.startsWith("}")) depth -= 1;
    const text = "  ".repeat(depth) + line;
    if (line.endsWith("{")) depth += 1;
    return text;
  });
}
