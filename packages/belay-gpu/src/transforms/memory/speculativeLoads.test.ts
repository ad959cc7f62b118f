import { expect, it } from "vitest";
import { checkedKernel, flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import type { Expression, LetStatement, Statement } from "../../wgsl/ast.ts";
import { printExpression, printStatement } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { ReexecutableRegions } from "./reexecutableRegion.ts";
import { SpeculativeLoads } from "./speculativeLoads.ts";

/** Returns the statements of a block, in which loads of `a` are speculative. */
function block(body: string) {
  const { program, names, granules, runs, main } = checkedKernel(`var sum = 0u; ${body}`);
  const isLoad = (each: Expression) => each.kind === "index" && printExpression(each).startsWith("a[");
  const loads = new SpeculativeLoads(program, names, {
    lines: runs,
    findings: granules.findings,
    replays: new ReexecutableRegions(program, {
      isLoad,
      isFixed: () => false,
      uniform: new Set(),
      lasting: new Set(),
    }),
    isLoad,
  });
  const statements = main.body.statements.slice(2);
  const text = (made: readonly Statement[]) => made.map((each) => flat(printStatement(each)));
  return { loads, statements, text };
}

const { expression, statements: made } = quote();
const load = { name: "v", peek: expression`peek(i)`, load: expression`load(i)` };

it("runs statements before their loads are checked, and again after an error", () => {
  const { loads, statements, text } = block(
    "let x = a[i]; let y = i; sum += x; if (x > 3) { sum = 0u; } a[i] = sum;",
  );
  const [x, y, sum, branch, store] = statements;
  loads.add(load);
  loads.append(x!, made`let x = v;`, x as LetStatement);
  loads.append(y!, [y!], y as LetStatement);
  loads.appendReplayed(sum!, [sum!], made`sum += x;`);
  loads.appendReplayed(branch!, [branch!], made`again();`);
  loads.append(store!, [store!], undefined);
  expect(text(loads.statements())).toEqual([
    "var v = peek(i);",
    "let before_1 = sum;",
    "var x = v;",
    "let y = i;",
    "sum += x;",
    "if (x > 3) { sum = 0u; }",
    "if (bad != 0u) { bad = 0u; v = load(i); sum = before_1; x = v; sum += x; again(); tell(); }",
    "a[i] = sum;",
  ]);
});

it("checks nothing where nothing was loaded", () => {
  const { loads, statements, text } = block("let y = i; sum += y;");
  for (const each of statements) loads.append(each, [each], undefined);
  expect(loads.isShort).toBe(false);
  expect(text(loads.statements())).toEqual(["let y = i;", "sum += y;"]);
});

it("loads ahead only from places that no earlier statement decides", () => {
  const { loads, statements } = block("let x = a[i]; let y = a[i + 1]; let z = a[x];");
  const [x, y, z] = statements;
  loads.add(load);
  loads.append(x!, made`let x = v;`, x as LetStatement);
  expect([y, z].map((each) => loads.canLoadAhead(each!))).toEqual([true, false]);
});

it("admits what can run again, until there are 64 statements", () => {
  const { loads, statements } = block("sum += a[i]; while (sum > 9) { sum = a[0]; }");
  const [sum, loop] = statements;
  expect([sum, loop].map((each) => loads.admits(each!))).toEqual([true, false]);
  for (let i = 0; i < 64; i++) loads.appendReplayed(sum!, [], []);
  expect(loads.admits(sum!)).toBe(false);
});
