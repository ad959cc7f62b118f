/** Writes the statements of a kernel's functions. */
import type {
  Assignment,
  BinaryOperator,
  Block,
  Expression,
  ForStatement,
  Increment,
  LoopStatement,
  Statement,
  SwitchStatement,
  VarStatement,
  WhileStatement,
} from "../wgsl/ast.ts";
import { walk } from "../wgsl/traverse.ts";
import {
  emitAtom,
  emitCall,
  emitExpression,
  emitPlace,
  emitReturned,
  type KernelTranslation,
  registerPlace,
  steadyPointer,
} from "./expressions.ts";
import { emitBinary } from "./operators.ts";
import { Unsupported } from "./unsupported.ts";
import {
  cellCount,
  type EmittedPlace,
  type EmittedValue,
  type MemoryPlace,
  type Position,
  type ScalarsValue,
} from "./values.ts";

/** The labels that `break` and `continue` leave. */
interface Labels {
  readonly breaks: string;
  readonly continues: string | undefined;
}

/** Emits a block. */
export function emitBlock(cx: KernelTranslation, block: Block, labels?: Labels): void {
  for (const statement of block.statements) emitStatement(cx, statement, labels);
}

function emitStatement(cx: KernelTranslation, statement: Statement, labels: Labels | undefined): void {
  const { code } = cx;
  if (statement.kind !== "block") code.line(`at = ${statement.span.start};`);
  switch (statement.kind) {
    case "block":
      code.line("{");
      emitBlock(cx, statement, labels);
      code.line("}");
      break;
    case "let":
      cx.values.set(statement, named(cx, emitExpression(cx, statement.initializer)));
      break;
    case "var":
      emitVariable(cx, statement);
      break;
    case "const":
    case "constAssert":
      break;
    case "assign":
      emitAssignment(cx, statement);
      break;
    case "increment":
      emitIncrement(cx, statement);
      break;
    case "callStatement":
      emitCall(cx, statement.call);
      break;
    case "if":
      code.line(`if (${code.decision(emitAtom(cx, statement.condition))} !== 0) {`);
      emitBlock(cx, statement.then, labels);
      code.line("} else {");
      if (statement.otherwise) emitStatement(cx, statement.otherwise, labels);
      code.line("}");
      break;
    case "switch":
      emitSwitch(cx, statement, labels);
      break;
    case "loop":
      emitLoop(cx, statement);
      break;
    case "for":
      emitFor(cx, statement);
      break;
    case "while":
      emitWhile(cx, statement);
      break;
    case "break":
      code.line(`break ${labels!.breaks};`);
      break;
    case "continue":
      code.line(`break ${labels!.continues};`);
      break;
    case "return":
      if (statement.value) emitReturned(code, emitExpression(cx, statement.value));
      code.line("return;");
      break;
    default:
      throw new Unsupported(statement.kind, statement.span);
  }
}

/** Copies a value to variables that the whole function knows, as loops have several blocks. */
function named({ code }: KernelTranslation, value: EmittedValue): EmittedValue {
  if (value.kind === "pointer") return steadyPointer(code, value);
  if (value.kind !== "scalars") return value;
  const names = value.scalars.map((each) => each.map(() => code.variable()));
  code.assign(names, value.scalars);
  return { ...value, scalars: names };
}

function emitVariable(cx: KernelTranslation, statement: VarStatement): void {
  const { code, program } = cx;
  const type = program.declaredTypeOf(statement);
  const value = statement.initializer && emitExpression(cx, statement.initializer);
  let place = cx.places.get(statement);
  if (!place) {
    place = isRegister(cx, statement) ? registerPlace(code, type) : code.reserve("invocation", type);
    cx.places.set(statement, place);
  }
  if (value) code.store(place, value);
  else code.clear(place);
}

/** Returns true if a variable has a scalar or vector type, and no pointer or variable index. */
function isRegister(cx: KernelTranslation, statement: VarStatement): boolean {
  const { kind } = cx.program.declaredTypeOf(statement);
  return (kind === "scalar" || kind === "vector") && !addressed(cx).has(statement);
}

const knownAddressed = new WeakMap<object, ReadonlySet<unknown>>();
/** Returns the variables of which the program takes an address, or that it indexes. */
function addressed({ program }: KernelTranslation): ReadonlySet<unknown> {
  let known = knownAddressed.get(program);
  if (!known) {
    const found = new Set<unknown>();
    const add = (expression: Expression) => {
      let at = expression;
      while (at.kind === "index" || at.kind === "memberAccess") at = at.base;
      if (at.kind === "identifier") found.add(program.targetOf(at));
    };
    walk(program.module, (node) => {
      if (node.kind === "unary" && node.operator === "&") add(node.operand);
      else if (node.kind === "index") add(node.base);
    });
    known = found;
    knownAddressed.set(program, known);
  }
  return known;
}

function emitAssignment(cx: KernelTranslation, { target, operator, value }: Assignment): void {
  const { code, program } = cx;
  if (!target) {
    if (program.typeOf(value).kind !== "texture" && program.typeOf(value).kind !== "sampler")
      emitExpression(cx, value);
    return;
  }
  const place = steady(cx, emitPlace(cx, target));
  if (operator === "=") {
    store(cx, place, emitExpression(cx, value));
    return;
  }
  const left = load(cx, place);
  const right = emitExpression(cx, value) as ScalarsValue;
  const operation = operator.slice(0, -1) as BinaryOperator;
  store(cx, place, emitBinary(code, operation, left, right, left.type));
}

function emitIncrement(cx: KernelTranslation, { target, operator }: Increment): void {
  const place = steady(cx, emitPlace(cx, target));
  const left = load(cx, place);
  const one: ScalarsValue = { kind: "scalars", type: left.type, scalars: [["1"]] };
  store(cx, place, emitBinary(cx.code, operator === "++" ? "+" : "-", left, one, left.type));
}

/** Fixes the position of a place, which is evaluated before the value. */
function steady(cx: KernelTranslation, place: EmittedPlace): EmittedPlace {
  if (place.kind === "swizzle")
    return { ...place, components: place.components.map((each) => steady(cx, each) as MemoryPlace) };
  // Its atoms are constants, or registers that the value may change.
  if (place.kind === "registers" || place.at.atoms.every((atom) => !atom.startsWith("v"))) return place;
  const { at, vectorAt } = place;
  const fixed = new Map(at.atoms.map((atom) => [atom, atom.startsWith("v") ? cx.code.temp(atom) : atom]));
  // The atoms of a vector's position are among those of its component.
  const move = ({ constant, atoms }: Position): Position => ({
    constant,
    atoms: atoms.map((atom) => fixed.get(atom)!),
  });
  return { ...place, at: move(at), ...(vectorAt && { vectorAt: move(vectorAt) }) };
}

function load(cx: KernelTranslation, place: EmittedPlace): ScalarsValue {
  if (place.kind !== "swizzle") return cx.code.load(place) as ScalarsValue;
  const scalars = place.components.map((each) => cx.code.loadScalar(each));
  return { kind: "scalars", type: place.type, scalars };
}

function store(cx: KernelTranslation, place: EmittedPlace, value: EmittedValue): void {
  if (value.kind === "scalars" && place.kind !== "swizzle") {
    const count = cellCount(place.type.kind === "atomic" ? place.type.element : place.type);
    // The scalar operand of an operation on a vector stands for all components.
    const scalars =
      value.scalars.length === count ? value.scalars : Array.from({ length: count }, () => value.scalars[0]!);
    cx.code.storeScalars(place, scalars);
  } else if (place.kind === "swizzle") {
    const { scalars } = value as ScalarsValue;
    for (const [i, each] of place.components.entries())
      cx.code.storeScalar(each, scalars[scalars.length === 1 ? 0 : i]!);
  } else cx.code.store(place, value);
}

function emitSwitch(cx: KernelTranslation, statement: SwitchStatement, labels: Labels | undefined): void {
  const { code, program } = cx;
  const label = code.fresh("L");
  const inner: Labels = { breaks: label, continues: labels?.continues };
  const selector = code.decision(emitAtom(cx, statement.selector));
  code.line(`${label}: switch (${selector}) {`);
  for (const { selectors, body } of statement.clauses) {
    for (const each of selectors) {
      const constant = each !== "default" && program.constantOf(each);
      if (each === "default") code.line("default:");
      else if (constant && "value" in constant) code.line(`case ${constant.value}:`);
      else throw new Unsupported("this selector", each.span);
    }
    code.line("{");
    emitBlock(cx, body, inner);
    code.line(`break ${label};`);
    code.line("}");
  }
  code.line("}");
}

/** Emits the beginning of a loop's iteration, and returns the loop's labels. */
function beginLoop({ code }: KernelTranslation): Labels & { readonly continues: string } {
  const [breaks, continues] = [code.fresh("L"), code.fresh("C")];
  code.line(`${breaks}: for (;;) {`);
  code.line(`if (--fuel < 0) ${code.library("outOfFuel")}();`);
  return { breaks, continues };
}

function emitBody(cx: KernelTranslation, body: Block, labels: Labels): void {
  cx.code.line(`${labels.continues}: {`);
  emitBlock(cx, body, labels);
  cx.code.line("}");
}

function emitLoop(cx: KernelTranslation, { body, continuing, breakIf }: LoopStatement): void {
  const labels = beginLoop(cx);
  emitBody(cx, body, labels);
  if (continuing) emitBlock(cx, continuing);
  if (breakIf) emitExit(cx, breakIf, labels, "!==");
  cx.code.line("}");
}

function emitFor(cx: KernelTranslation, { initializer, condition, update, body }: ForStatement): void {
  cx.code.line("{");
  if (initializer) emitStatement(cx, initializer, undefined);
  const labels = beginLoop(cx);
  if (condition) emitExit(cx, condition, labels, "===");
  emitBody(cx, body, labels);
  if (update) emitStatement(cx, update, undefined);
  cx.code.line("}");
  cx.code.line("}");
}

function emitWhile(cx: KernelTranslation, { condition, body }: WhileStatement): void {
  const labels = beginLoop(cx);
  emitExit(cx, condition, labels, "===");
  emitBody(cx, body, labels);
  cx.code.line("}");
}

/** Emits the end of a loop where a condition is true (`!==`) or false (`===`). */
function emitExit(
  cx: KernelTranslation,
  condition: Expression,
  { breaks }: Labels,
  isZero: "===" | "!==",
): void {
  cx.code.line(`if (${cx.code.decision(emitAtom(cx, condition))} ${isZero} 0) break ${breaks};`);
}
