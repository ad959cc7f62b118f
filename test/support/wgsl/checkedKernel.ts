import { schemeOf } from "belay-gpu/internal/ecc/scheme";
import { AccessFunctions } from "belay-gpu/internal/transforms/memory/accessFunctions";
import type { CheckedVariable, PieceBytes } from "belay-gpu/internal/transforms/memory/checkedVariable";
import { patternsIn } from "belay-gpu/internal/transforms/memory/coalescedPattern";
import { GranuleFunctions } from "belay-gpu/internal/transforms/memory/granuleFunctions";
import { LineAccessFunctions } from "belay-gpu/internal/transforms/memory/lineAccess";
import { LineRuns } from "belay-gpu/internal/transforms/memory/lineRuns";
import { PlaceFunctions } from "belay-gpu/internal/transforms/memory/placeFunctions";
import { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Assignment, Declaration, FunctionDeclaration } from "belay-gpu/internal/wgsl/ast";
import { printDeclaration } from "belay-gpu/internal/wgsl/printer";
import { typed } from "./goldens.ts";

/** The code of the buffer `a`, and the type of its elements. */
interface Coded {
  readonly memory?: "secded32" | "secded128" | "detect1024";
  /** The size of the pieces of lines. Without it, a lane accesses whole granules. */
  readonly pieceBytes?: PieceBytes;
  readonly type?: string;
  /** Functions that the kernel can call. */
  readonly functions?: string;
}

/** Returns text on one line, without the prefix of the names that Belay gives. */
export const flat = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("belay_", "").trim();

/**
 * Makes the functions that access `a`, a buffer of memory with check words, in a kernel with this
 * body. `i` is the index of the invocation, and `k` is unknown.
 */
export function checkedKernel(
  body: string,
  { memory = "secded32", pieceBytes, type = "u32", functions = "" }: Coded = {},
) {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> a: array<${type}>;
    @group(0) @binding(1) var<uniform> k: u32;
    ${functions}
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`);
  const names = new Names(program);
  const granules = new GranuleFunctions(names, {
    arena: { group: 1, binding: 0 },
    table: { group: 1, binding: 1 },
    rows: 2,
  });
  const a: CheckedVariable = {
    name: "a",
    index: 1,
    scheme: schemeOf(memory),
    ...(pieceBytes && { pieceBytes }),
  };
  const made = new Map<string, { readonly name: string; readonly declarations: Declaration[] }>();
  const kernel = { arena: "read_write", checked: new Map([["a", a]]) } as const;
  const places = new PlaceFunctions(program, names, granules, { kernel, made });
  const main = program.module.declarations.at(-1) as FunctionDeclaration;
  const patternsOf = patternsIn(program, main);
  const access = new LineAccessFunctions(program, names, granules, { places, patternsOf });
  const { sums, findings } = granules;
  const runs = new LineRuns(names, { sums, access, findings, arena: "read_write" });
  const wordAccess = new AccessFunctions(names, granules, { kernel, uniforms: new Map(), places });
  /** Returns the generated declaration with this name. */
  const declared = (name: string): string | undefined => {
    const functions = [...made.values()].flatMap(({ declarations }) => declarations);
    const texts = [...granules.declarations, ...functions].map((each) => flat(printDeclaration(each)));
    return texts.find((text) => text.match(/^(?:@.*\) )?(?:fn|struct|var<.*>) (\w+)/)?.[1] === flat(name));
  };
  const assignments = main.body.statements.filter((each): each is Assignment => each.kind === "assign");
  /** Names the functions that load words, in a text, by what they do with syndromes. */
  const byKind = (text: string): string =>
    text.replaceAll(/\bload_\d+/g, (name) => declared(name)!.match(/ (\w+)_a_read_write/)![1]!);
  return {
    program,
    names,
    granules,
    a,
    places,
    access,
    runs,
    wordAccess,
    patternsOf,
    main,
    assignments,
    declared,
    byKind,
  };
}
