/**
 * Functions that run programs with loops, as written and translated. A stand-in replaces the GPU's
 * engine.
 */

import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { callOfWords } from "belay-speculate/internal/engine/call/doubles";
import { onCopies, partsOf } from "belay-speculate/internal/engine/transfer/copies";
import { requireOnHost, takeTurn } from "belay-speculate/internal/engine/writtenLoops";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { transformSync } from "rolldown/utils";

type Exports = Record<string, (...parameters: never[]) => unknown>;
type Engine = (call: SpeculateCall) => Promise<unknown>;

/**
 * Returns the exports of a TypeScript module, which imports `engine` as `speculate`. Without an
 * engine, the directives do nothing.
 */
export function evaluate(source: string, engine: Engine = async () => {}): Exports {
  const nothing = () => {};
  const modules = {
    speculate: engine,
    misspeculate: nothing,
    reduction: nothing,
    accesses: nothing,
    schedule: nothing,
    precision: nothing,
    takeTurn,
    onCopies,
    partsOf,
    requireOnHost,
    callOfWords,
  };
  return new Function("modules", functionBodyOf(source))(modules);
}

/**
 * Returns the body of a function that returns the exports of a TypeScript module. All its imports
 * are properties of `modules`. The transformer prints each import and export on a line of its own,
 * in one form. It takes a hundredth of the time of TypeScript's.
 */
function functionBodyOf(source: string): string {
  const { code, errors } = transformSync("loops.ts", source, { target: "es2022" });
  if (errors.length > 0) throw new SyntaxError(errors[0]!.message);
  const exported: string[] = [];
  const body = code
    .replace(
      /^import \{(.*)\} from .*;$/gm,
      (_, names: string) => `const {${names.replaceAll(" as ", ": ")}} = modules;`,
    )
    .replace(/^export (?=(?:async )?(?:function\*?|class|const|let|var) ([\w$]+))/gm, (_, name: string) => {
      exported.push(name);
      return "";
    });
  const left = /^(?:import|export)\b.*/m.exec(body);
  if (left) throw new SyntaxError(`the helper does not know this form: ${left[0]}`);
  return `"use strict"; ${body}\nreturn { ${exported.map((name) => `get ${name}() { return ${name}; }`).join(", ")} };`;
}

/**
 * Translates the loops of a module. Returns its exports, the engine's calls and the diagnostics.
 */
export function evaluateTranslated(source: string, filename = "loops.ts") {
  const { code, diagnostics } = replaceLoops(source, filename);
  const calls: SpeculateCall[] = [];
  const exports = evaluate(code ?? source, async (call) => {
    calls.push(call);
    return executeInParts(call);
  });
  return { exports, calls, diagnostics };
}

/** Executes a loop with its CPU version, a few iterations at a time. */
export async function executeInParts(call: SpeculateCall) {
  const carried = { ...call.carried };
  const reductions = { ...call.reductions };
  const inputs = { ...call.inputs, $first: call.first, $step: call.step };
  let next = 0;
  let ended = false;
  for (let size = 1; next < call.count && !ended; size = (size * 2) % 7 || 3) {
    const to = Math.min(call.count, next + size);
    ({ next, ended } = call.sequential(call.arrays as never, inputs, carried, reductions, next, to));
  }
  return { carried, reductions, ended, next };
}
