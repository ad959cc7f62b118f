import type { EvaluationStage, Program } from "belay-gpu/internal/wgsl/program";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { describeType, type Expression, type Module, parse, walk } from "belay-gpu/wgsl";
import { expect } from "vitest";
import { plain } from "./constantValues.ts";

/** Returns the program of a source, which must have no errors. */
export function resolved(source: string): Program {
  const program = resolve(parsed(source));
  expect(program.diagnostics).toEqual([]);
  return program;
}

/**
 * Returns the findings of the resolver, as `code text: message`. The text is the marked part of the
 * source.
 */
export function findings(source: string): string[] {
  return resolve(parsed(source)).diagnostics.map(
    ({ code, span, message }) => `${code} ${source.slice(span.start, span.end)}: ${message}`,
  );
}

function parsed(source: string): Module {
  const { module, diagnostics } = parse(source);
  expect(diagnostics).toEqual([]);
  return module;
}

export interface ResolvedExpression {
  readonly type: string;
  /** The type after the load rule and the context's conversion. */
  readonly valueType: string;
  readonly stage: EvaluationStage;
  readonly value: unknown;
}

/**
 * Returns the facts about the last expression in `code` that is written `text`. `code` holds
 * statements and, before `---`, declarations.
 */
export function factsOf(text: string, code: string): ResolvedExpression {
  const [statements = "", declarations = ""] = code.split("---").reverse();
  const source = `${declarations}\nfn test() {\n${statements}\n}`;
  const program = resolved(source);
  let found: Expression | undefined;
  walk(program.module, (node) => {
    if (
      source.slice(node.span.start, node.span.end) === text &&
      "kind" in node &&
      isValue(program, node as Expression)
    ) {
      found = node as Expression;
    }
  });
  if (!found) throw new Error(`no expression is written ${text}`);
  const value = program.constantOf(found);
  return {
    type: describeType(program.typeOf(found)),
    valueType: describeType(program.valueTypeOf(found)),
    stage: program.stageOf(found),
    value: value && plain(value),
  };
}

function isValue(program: Program, expression: Expression): boolean {
  try {
    program.typeOf(expression);
    return true;
  } catch {
    return false;
  }
}

/** Returns the type of an expression in a function. */
export function typeOf(expression: string, declarations = ""): string {
  return factsOf(expression, `${declarations} --- _ = ${expression};`).type;
}
