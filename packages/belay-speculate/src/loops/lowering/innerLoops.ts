import type { DoWhileStatement, ForStatement, Expression as Source, WhileStatement } from "oxc-parser";
import type { Statement } from "../ir.ts";
import { toBoolean } from "./conversions.ts";
import { countingOf, leaveUnless } from "./counting.ts";
import { declaration } from "./declarations.ts";
import { expression } from "./expressions.ts";
import { known, type Linear, unknown } from "./linear.ts";
import type { Lowering } from "./lowering.ts";
import { body, effects } from "./statements.ts";

interface Parts {
  readonly label: string | undefined;
  /** Ends the loop when it is false. */
  readonly test: () => void;
  readonly body: () => void;
  readonly update: () => void;
  readonly trips: Linear;
  /** What `continue` does, where it does not go on to the update. */
  readonly goOn?: () => Statement;
}

export function forLoop(lowering: Lowering, node: ForStatement, label: string | undefined): void {
  const counting = countingOf(lowering, node);
  if (!counting && node.init) {
    if (node.init.type === "VariableDeclaration") declaration(lowering, node.init);
    else effects(lowering, node.init);
  }
  const parts: Parts = {
    label,
    test: () => (counting ? counting.test() : node.test && test(lowering, node.test)),
    body: () => body(lowering, node.body, (node.update ?? node.test ?? node).end),
    update: () => {
      if (counting) counting.update();
      else if (node.update) effects(lowering, node.update);
    },
    trips: counting?.trips ?? unknown,
  };
  loop(lowering, parts);
}

export function whileLoop(lowering: Lowering, node: WhileStatement, label: string | undefined): void {
  loop(lowering, {
    label,
    test: () => test(lowering, node.test),
    body: () => body(lowering, node.body, node.test.end),
    update: () => {},
    trips: unknown,
  });
}

/** `continue` goes to the test, so the body is a loop of its own that runs once. */
export function doWhileLoop(lowering: Lowering, node: DoWhileStatement, label: string | undefined): void {
  const inner = lowering.label("body");
  let goesOn = false;
  loop(lowering, {
    label,
    goOn: () => {
      goesOn = true;
      return { kind: "break", label: inner };
    },
    test: () => {},
    body: () => {
      const statements = lowering.collect(() => body(lowering, node.body, node.start));
      if (goesOn) {
        lowering.emit({
          kind: "loop",
          label: inner,
          most: 1,
          body: [...statements, { kind: "break", label: inner }],
          update: [],
        });
      } else {
        lowering.block.push(...statements);
      }
      test(lowering, node.test);
    },
    update: () => {},
    trips: unknown,
  });
}

function loop(lowering: Lowering, parts: Parts): void {
  const label = lowering.label(parts.label);
  const before = lowering.assigned;
  const isLast = lowering.returns?.isLast;
  if (lowering.returns) lowering.returns.isLast = false;
  lowering.assigned = new Set(before);
  lowering.repetitions.push({ trips: parts.trips });
  lowering.jumpTargets.push({
    label: parts.label,
    leave: () => ({ kind: "break", label }),
    goOn: parts.goOn ?? (() => ({ kind: "continue", label })),
  });
  lowering.leaving.push(label);
  const statements = lowering.collect(() => {
    parts.test();
    parts.body();
  });
  const update = lowering.collect(parts.update);
  lowering.leaving.pop();
  lowering.jumpTargets.pop();
  lowering.repetitions.pop();
  lowering.assigned = before;
  if (lowering.returns && isLast !== undefined) lowering.returns.isLast = isLast;
  const most = known(parts.trips);
  lowering.emit({
    kind: "loop",
    label,
    body: statements,
    update,
    ...(most !== undefined && !Number.isNaN(most) ? { most: Math.max(0, Math.ceil(most)) } : {}),
  });
}

/** `if (!test) break`. */
function test(lowering: Lowering, node: Source): void {
  const value = expression(lowering, node);
  if (value.kind === "host" && value.constant !== undefined && value.constant) return;
  leaveUnless(lowering, toBoolean(lowering, value, node));
}
