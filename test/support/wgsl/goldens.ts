import { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Module } from "belay-gpu/internal/wgsl/ast";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print, printDeclaration } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { afterAll, beforeAll, expect } from "vitest";
import { type DawnValidator, startDawn } from "./dawnValidator.ts";

/** A transform with its options filled in. */
export type Step = (program: Program, names: Names) => Module;

/** The typed program of WGSL text or of a module, which must be free of errors. */
export function typed(source: string | Module): Program {
  const parsed = typeof source === "string" ? parse(source) : { module: source, diagnostics: [] };
  const program = resolve(parsed.module);
  expect([...parsed.diagnostics, ...program.diagnostics].map(({ message }) => message)).toEqual([]);
  return program;
}

/** Applies transforms one after the other; gives the program before the last one, and what that makes of it. */
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

/** What generated code calls for; it has golden files of its own. */
const library =
  /^belay_(agree|aim|alone|armed|branch|conclude|finals|fold|fuel|hash|is_|keep|kept|occurrence|settle|share|signature|slots|strike|struck|together|turn|whose)/;

/**
 * Compares what the last of some transforms changes in a module with a golden file of the folder `goldens/`, beside the
 * test. Dawn must accept the input and the whole output, and the printed output must parse to the same text.
 */
export function goldens(
  folder: string,
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
    const shown = changed.declarations.filter((d) => withLibrary || !("name" in d && library.test(d.name)));
    await expect(print({ ...changed, declarations: shown })).toMatchFileSnapshot(
      `goldens/${folder}/${name.replaceAll(" ", "-")}.wgsl`,
    );
  };
}

/** The part of `after` that `before` does not have. */
function changes(before: Module, after: Module): Module {
  const known = new Set(before.declarations.map(printDeclaration));
  return {
    ...after,
    directives: after.directives.filter((directive) => !before.directives.includes(directive)),
    declarations: after.declarations.filter((declaration) => !known.has(printDeclaration(declaration))),
  };
}
