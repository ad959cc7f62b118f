import { functionsOf, reachableFrom } from "belay-gpu/internal/analysis/callGraph";
import {
  type DeclareReportOptions,
  declareReport,
} from "belay-gpu/internal/transforms/redundancy/declareReport";
import { reportWords } from "belay-gpu/internal/transforms/redundancy/reportBuffer";
import { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Declaration, Module } from "belay-gpu/internal/wgsl/ast";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print, printDeclaration } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { afterAll, beforeAll, expect } from "vitest";
import { type DawnValidator, startDawn } from "./dawnValidator.ts";

/** A transform with its options. */
export type Step = (program: Program, names: Names) => Module;

/** Sets the name of a step in goldens: the transform, and the options that matter. */
const named = (name: string, step: Step): Step => Object.defineProperty(step, "name", { value: name });

/** Returns a step that declares the report buffer, at group 1, binding 0 by default. */
export const report = (options: Partial<DeclareReportOptions> = {}): Step =>
  named("declareReport", (program, names) =>
    declareReport(program, names, {
      group: 1,
      binding: 0,
      bytes: 4 * reportWords.total,
      cells: 0,
      ...options,
    }),
  );

/** Returns the functions that `main` reaches. */
export const reachedByMain = (program: Program) =>
  reachableFrom(
    program,
    functionsOf(program).filter(({ name }) => name === "main"),
  );

/** Returns the typed program of WGSL text or of a module, which must be free of errors. */
export function typed(source: string | Module): Program {
  const parsed = typeof source === "string" ? parse(source) : { module: source, diagnostics: [] };
  const program = resolve(parsed.module);
  expect([...parsed.diagnostics, ...program.diagnostics].map(({ message }) => message)).toEqual([]);
  return program;
}

/** Applies transforms one after the other. Returns the programs before and after the last one. */
export function applySteps(wgsl: string, steps: readonly Step[]): { before: Program; after: Program } {
  let after = typed(wgsl);
  let before = after;
  const names = new Names(after);
  for (const step of steps) {
    before = after;
    after = typed(step(before, names));
  }
  return { before, after };
}

/**
 * The generated functions that have golden files of their own. Other goldens show only their names.
 */
const library =
  /^belay_(agree|aim|alone|armed|branch|conclude|finals|fold|fuel|hash|is_|keep|kept|occurrence|settle|share|signature|slots|strike|struck|together|turn|whose)/;

/**
 * Returns a function that compares the last transform's changes in a module with a golden file. The
 * file is in the folder `goldens/TRANSFORM/` beside the test. It holds the input, the steps, the
 * output, and the names of library functions in the output. `vitest FILE -u` writes it anew. Dawn
 * must accept the input and the whole output. The printed output must parse to the same text.
 */
export function goldens(
  transform: string,
  { withLibrary = false } = {},
): (name: string, wgsl: string, ...steps: Step[]) => Promise<void> {
  let dawn: DawnValidator;
  beforeAll(async () => {
    dawn = await startDawn();
  });
  afterAll(() => dawn.close());
  return async (name, wgsl, ...steps) => {
    const { before, after } = applySteps(wgsl, steps);
    const code = print(after.module);
    expect(print(parse(code).module)).toBe(code);
    expect(await dawn.validateAll([wgsl, code])).toEqual([{ ok: true }, { ok: true }]);
    const changed = changes(before.module, after.module);
    const isFolded = (each: Declaration) => !withLibrary && "name" in each && library.test(each.name);
    const shown = { ...changed, declarations: changed.declarations.filter((each) => !isFolded(each)) };
    const folded = changed.declarations.flatMap((each) =>
      isFolded(each) && "name" in each ? each.name : [],
    );
    const passes = steps.map((step) => step.name || transform).join(", ");
    const sections = [
      `// --- input\n\n${print(parse(wgsl).module)}`,
      `// --- passes: ${passes}\n\n${print(shown)}`,
      ...(folded.length > 0 ? [`// --- library: ${folded.join(", ")}\n`] : []),
    ];
    await expect(sections.join("\n")).toMatchFileSnapshot(
      `goldens/${transform}/${name.replaceAll(" ", "-")}.wgsl`,
    );
  };
}

/** Returns the part of `after` that `before` does not have. */
function changes(before: Module, after: Module): Module {
  const known = new Set(before.declarations.map(printDeclaration));
  return {
    ...after,
    directives: after.directives.filter((directive) => !before.directives.includes(directive)),
    declarations: after.declarations.filter((declaration) => !known.has(printDeclaration(declaration))),
  };
}
