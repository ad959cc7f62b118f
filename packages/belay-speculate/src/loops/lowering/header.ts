import type { ForStatement, Node, Expression as Source, VariableDeclarator } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import {
  type CountedLoop,
  countedLoop,
  type Follower,
  isInside,
  onlyHeaderChanges,
} from "../source/countedLoop.ts";
import { type Binding, lookUp, type Scope } from "../source/scopes.ts";
import type { LoopExpression } from "../tree/ir.ts";
import { outsideVariable } from "./expressions/names.ts";
import type { Lowering, Meaning } from "./lowering.ts";
import { asInteger, requireInteger } from "./numbers/conversions.ts";
import { add, codeOf, constant, hostValue, type Linear, scale, subtract } from "./numbers/linear.ts";
import {
  as,
  between,
  type HostValue,
  hostConstant,
  hostNumber,
  hull,
  type Interval,
  int32,
  integer,
  isFloatConstant,
  literal,
} from "./numbers/values.ts";
import { refuse } from "./refusal.ts";

/** The counting of a loop, as JavaScript that the host evaluates before it. */
export interface LoopHeader {
  readonly name: string;
  /** The variable of the program that has the last index after the loop; null if none has. */
  readonly final: string | null;
  /** The conditions that end the loop before an iteration, besides the bound. */
  readonly conditions: readonly Source[];
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
  const binding = lookUp(lowering.scope, counted.name);
  if (!binding) return refuse(loopError.undeclared(counted.name, node));
  const isOwn =
    counted.declarator !== null && onlyHeaderChanges(binding, node, counted.update, lowering.scopes);
  if (!isOwn) requireKnownEnd(lowering, node, counted, binding);
  const followers = counted.followers.map((follower) => ownFollower(lowering, node, follower));
  // The header may not use the index. If it does, the index is any integer.
  lowering.index = int32;
  lowering.meanings.set(binding, { kind: "value", value: index });
  declareOthers(lowering, node, [counted.declarator, ...followers.map(({ declarator }) => declarator)]);

  const first = counted.from
    ? onHost(lowering, counted.from, "where it starts")
    : valueBefore(lowering, counted);
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
    to.nature === "integer" || isVariable(to)
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
  const stepSize = sizeNumber === null ? null : isDown ? -sizeNumber : sizeNumber;
  const iterations = isDown ? subtract(first.linear, limit) : subtract(limit, first.linear);
  for (const follower of followers) follow(lowering, follower, { first, stepSize, iterations }, node);
  return {
    name: counted.name,
    final: isOwn ? null : counted.name,
    conditions: counted.conditions,
    first: first.code,
    step: isDown ? negated(size) : size.code,
    count: countOf(iterations, size),
    stepSize,
    iterations,
  };
}

const index = integer({ kind: "index", type: "i32" }, between(0, 0), constant(1));

/** Returns the span of the header alone, for diagnostics. */
const headerOf = ({ update, test, init, body }: ForStatement) => ({
  start: (init ?? test ?? update ?? body).start,
  end: (update ?? test ?? init ?? body).end,
});

/** Refuses an index that the body changes, or whose last value belongs to other code. */
function requireKnownEnd(
  lowering: Lowering,
  node: ForStatement,
  { name, update, declarator }: CountedLoop,
  binding: Binding,
): void {
  const other = binding.assignments.find(
    (one) => one !== update && isInside(node, one) && !(node.init && isInside(node.init, one)),
  );
  if (other) {
    refuse(loopError.notCounted(`\`${name}\` changes in its body`, other, "let only the header change it"));
  }
  const { container } = lowering.loop;
  let isLocal = false;
  for (let at: Scope | undefined = lowering.loop.scope; at && !isLocal; at = at.parent) {
    isLocal = at === binding.scope;
    if (at.node === container) break;
  }
  if (!isLocal || (declarator && binding.kind !== "var")) {
    refuse(
      loopError.notCounted("its index is used outside of it", node.init ?? node, "declare it with `let`"),
    );
  }
}

/** Returns the value that a variable from before the loop has in the first iteration. */
function valueBefore({ guards }: Lowering, { name, moved }: CountedLoop): HostValue {
  guards.requireType(`typeof ${name} === "number"`);
  if (moved === 0) return hostNumber(name, "any");
  const linear = add(hostValue(name), constant(moved));
  return hostNumber(`(${name} ${moved < 0 ? "-" : "+"} 1)`, "any", { linear });
}

/** A follower with its declaration in the header. */
interface OwnFollower extends Follower {
  readonly declarator: VariableDeclarator;
  readonly binding: Binding;
}

/** Returns a follower that only the header changes, and that no other code sees. */
function ownFollower(lowering: Lowering, node: ForStatement, follower: Follower): OwnFollower {
  const { name, update } = follower;
  const binding = lookUp(lowering.scope, name);
  const declarator = binding?.declaration;
  const isDeclared =
    declarator?.type === "VariableDeclarator" && declarator.init && isInside(node, declarator);
  if (!isDeclared || binding?.kind !== "let" || binding.assignments.some((one) => one !== update)) {
    return refuse(
      loopError.notCounted(
        `its header changes \`${name}\` too`,
        update,
        "declare it in the header with `let`",
      ),
    );
  }
  return { ...follower, declarator, binding };
}

/** Sets the meaning of a follower: it is an integer that follows from the index. */
function follow(
  lowering: Lowering,
  { binding, declarator, change }: OwnFollower,
  {
    first,
    stepSize,
    iterations,
  }: { readonly first: HostValue; readonly stepSize: number | null; readonly iterations: Linear },
  node: ForStatement,
): void {
  const before = onHost(lowering, declarator.init!, "where it starts");
  const isKnown = stepSize !== null && [before, first].every((value) => !isFloatConstant(value));
  if (!isKnown) refuse(loopError.notCounted("its step may change", headerOf(node)));
  const [start, from] = [before, first].map((value) => as("i32", asInteger(lowering, value, node)!.ir));
  const operation = (
    operator: "+" | "-" | "*" | "/",
    left: LoopExpression,
    right: LoopExpression,
  ): LoopExpression => ({
    kind: "binary",
    type: "i32",
    operator,
    left,
    right,
    ...(operator === "*" ? { small: true } : {}),
  });
  const place: LoopExpression = { kind: "index", type: "i32" };
  const range = (ends: Interval) => {
    if (lowering.guards.requireWithin(ends, int32)) return ends;
    return refuse(
      loopError.notCounted("a variable of its header may have more than 32 bits", headerOf(node)),
    );
  };
  if (change === null) {
    const isFirst: LoopExpression = {
      kind: "binary",
      type: "bool",
      operator: "==",
      left: place,
      right: from!,
    };
    const no = operation("-", place, literal("i32", stepSize!));
    const ends = range(hull({ low: before.linear, high: before.linear }, lowering.index));
    const ir: LoopExpression = { kind: "conditional", type: "i32", test: isFirst, yes: start!, no };
    lowering.meanings.set(binding, { kind: "value", value: integer(ir, ends) });
    return;
  }
  const done = operation("/", operation("-", place, from!), literal("i32", stepSize!));
  const ends = range(
    hull(
      { low: before.linear, high: before.linear },
      {
        low: add(before.linear, scale(iterations, change)),
        high: add(before.linear, scale(iterations, change)),
      },
    ),
  );
  const ir = operation("+", start!, operation("*", done, literal("i32", change)));
  lowering.meanings.set(binding, { kind: "value", value: integer(ir, ends) });
}

/** Declares further variables of the header, which are constants in the loop. */
function declareOthers(lowering: Lowering, node: ForStatement, changing: readonly (Node | null)[]): void {
  if (node.init?.type !== "VariableDeclaration") return;
  for (const declarator of node.init.declarations) {
    if (changing.includes(declarator)) continue;
    const { id, init } = declarator;
    const binding = id.type === "Identifier" ? lookUp(lowering.scope, id.name) : undefined;
    if (!binding || !init || binding.kind === "var") {
      refuse(
        loopError.notCounted("its header declares a variable in another way than with `let`", declarator),
      );
    }
    lowering.meanings.set(binding, meaningOfOther(lowering, binding, init));
  }
}

/**
 * Returns the meaning of a further variable of the header: a constant, or a variable that
 * iterations pass on.
 */
function meaningOfOther(lowering: Lowering, binding: Binding, init: Source): Meaning {
  const value = lowering.expression(init);
  if (value.kind !== "host") {
    return refuse(loopError.notCounted("this may change while it runs", init, "compute it before the loop"));
  }
  if (binding.assignments.length === 0) return { kind: "value", value };
  const variable = outsideVariable(lowering, binding, value.linear, value.type);
  lowering.passed.set(variable, value.code);
  return { kind: "carried", variable };
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
const isVariable = ({ code, constant }: HostValue) =>
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
