import type { ForStatement, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { countedLoop, isInside, onlyHeaderChanges } from "../source/countedLoop.ts";
import { lookUp } from "../source/scopes.ts";
import type { Lowering } from "./lowering.ts";
import { requireInteger } from "./numbers/conversions.ts";
import { add, codeOf, constant, type Linear, subtract } from "./numbers/linear.ts";
import { between, type HostValue, hostConstant, hostNumber, int32, integer } from "./numbers/values.ts";
import { refuse } from "./refusal.ts";

/** The counting of a loop, as JavaScript that the host evaluates before it. */
export interface LoopHeader {
  readonly name: string;
  readonly first: string;
  readonly step: string;
  readonly count: string;
  /** The step as a number; null if only the host knows it. */
  readonly stepSize: number | null;
  /** The largest number of iterations. */
  readonly iterations: Linear;
}

/** Translates the header of the speculated loop, and sets the meaning of its index. */
export function loopHeader(lowering: Lowering, node: ForStatement): LoopHeader {
  const counted = countedLoop(node);
  if (!counted) return refuse(loopError.notCounted("its header does not count", headerOf(node)));
  const binding = lookUp(lowering.scope, counted.name)!;
  if (!onlyHeaderChanges(binding, node, lowering.scopes)) {
    const other = binding.assignments.find((one) => one !== node.update && isInside(node, one));
    return refuse(
      other
        ? loopError.notCounted(
            `\`${counted.name}\` changes in its body`,
            other,
            "let only the header change it",
          )
        : loopError.notCounted("its index is used outside of it", node.init ?? node, "declare it with `let`"),
    );
  }
  // The header may not use the index. If it does, the index is any integer.
  lowering.index = int32;
  lowering.meanings.set(binding, { kind: "value", value: index });
  declareOthers(lowering, node, counted.declarator);

  const first = onHost(lowering, counted.from, "where it starts");
  const to = onHost(lowering, counted.to, "where it ends");
  const size = counted.step ? onHost(lowering, counted.step, "its step") : hostConstant(1);
  const { operator, isDown } = counted;
  checkDirection(lowering, counted, size, node);
  const ends = isDown ? { from: to, until: first } : { from: first, until: to };
  if (
    operator === "!=" &&
    !lowering.guards.requireNotPositive(subtract(ends.from.linear, ends.until.linear))
  ) {
    return refuse(loopError.notCounted("it never ends", headerOf(node)));
  }

  // The first integer that is not reached, in the direction of counting.
  const inclusive = operator.endsWith("=") && operator !== "!=" ? 1 : 0;
  const end =
    to.nature === "integer" || isPlain(to)
      ? to
      : rounded(to, isDown === (inclusive === 0) ? "floor" : "ceil");
  requireWhole(lowering, first, node);
  requireWhole(lowering, end, node);
  // The kernels compute the index, and a sum is never −0.
  if (first.constant === undefined) lowering.guards.require(`!Object.is(${first.code}, -0)`);
  const limit = add(end.linear, constant(isDown ? -inclusive : inclusive));
  lowering.index = isDown
    ? { low: add(limit, constant(1)), high: first.linear }
    : { low: first.linear, high: add(limit, constant(-1)) };
  if (!lowering.guards.requireWithin(lowering.index, int32)) {
    return refuse(loopError.notCounted("its index may have more than 32 bits", headerOf(node)));
  }
  const sizeNumber = typeof size.constant === "number" ? size.constant : null;
  const iterations = isDown ? subtract(first.linear, limit) : subtract(limit, first.linear);
  return {
    name: counted.name,
    first: first.code,
    step: isDown ? negated(size) : size.code,
    count: countOf(iterations, size),
    stepSize: sizeNumber === null ? null : isDown ? -sizeNumber : sizeNumber,
    iterations,
  };
}

const index = integer({ kind: "index", type: "i32" }, between(0, 0), constant(1));

/** Returns the span of the header alone, for diagnostics. */
const headerOf = ({ update, test, init, body }: ForStatement) => ({
  start: (init ?? test ?? update ?? body).start,
  end: (update ?? test ?? init ?? body).end,
});

/** Declares further variables of the header, which are constants in the loop. */
function declareOthers(lowering: Lowering, node: ForStatement, index: Node): void {
  if (node.init?.type !== "VariableDeclaration") return;
  for (const declarator of node.init.declarations) {
    if (declarator === index) continue;
    const { id, init } = declarator;
    const binding = id.type === "Identifier" ? lookUp(lowering.scope, id.name) : undefined;
    if (!binding || !init || binding.assignments.length > 0) {
      refuse(loopError.notCounted("its header declares a variable that changes", declarator));
    }
    lowering.meanings.set(binding, { kind: "value", value: onHost(lowering, init, "this") });
  }
}

/** Returns an expression of the header, which must be the same in all iterations. */
function onHost(lowering: Lowering, node: Source, what: string): HostValue {
  const value = lowering.expression(node);
  if (value.kind === "host" && value.type === "number") return value;
  return refuse(loopError.notCounted(`${what} may change while it runs`, node, "compute it before the loop"));
}

function checkDirection(
  lowering: Lowering,
  { operator, isDown }: { readonly operator: string; readonly isDown: boolean },
  size: HostValue,
  node: ForStatement,
): void {
  const step = size.constant;
  if (operator === "!=" && step !== 1) {
    refuse(loopError.notCounted("it may step over where it ends", headerOf(node)));
  }
  if (operator !== "!=" && operator.startsWith("<") === isDown) {
    refuse(loopError.notCounted("it counts away from where it ends", headerOf(node)));
  }
  if (typeof step === "number") {
    if (!Number.isInteger(step) || step <= 0) {
      refuse(loopError.notCounted("its step is no positive integer", headerOf(node)));
    }
    return;
  }
  requireWhole(lowering, size, node);
  lowering.guards.require(`${size.code} > 0`);
}

/** Returns true for a variable. It is taken to be an integer, which the host checks. */
const isPlain = ({ code, constant }: HostValue) =>
  constant === undefined && /^[\p{ID_Continue}$]+$/u.test(code);

/** Returns an end rounded to an integer. The loop has the same iterations. */
function rounded(value: HostValue, round: "floor" | "ceil"): HostValue {
  if (typeof value.constant === "number") return hostConstant(Math[round](value.constant));
  return hostNumber(`Math.${round}(${value.code})`, "integer");
}

function requireWhole(lowering: Lowering, value: HostValue, node: ForStatement): void {
  if (value.constant === undefined) requireInteger(lowering, value);
  else if (!Number.isSafeInteger(value.constant)) {
    refuse(loopError.notCounted("it does not count from integer to integer", headerOf(node)));
  }
}

const negated = ({ code, constant }: HostValue) =>
  typeof constant === "number" ? String(-constant) : `(-${code})`;

function countOf(iterations: Linear, size: HostValue): string {
  const distance = codeOf(iterations);
  return size.constant === 1
    ? `Math.max(0, ${distance})`
    : `Math.max(0, Math.ceil((${distance}) / ${size.code}))`;
}
