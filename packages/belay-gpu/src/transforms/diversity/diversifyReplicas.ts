/**
 * Gives the second replica another text with the same meaning. A mistake of a compiler then strikes
 * one replica only, or both in different ways.
 *
 * Before:   fn body(i: u32, zero: u32) { if (i >= n) { return; } let v = i / 4 + 1; out[i] = v; }
 *           if (second_text) { body(i, zero); } else { body(i, zero); }
 * After:    fn body(i: u32, zero: u32) { … }
 *           fn body_2(i: u32, zero: u32) {
 *             if (n <= i) { return; } else { let v = add(i >> (2 | zero), 1, zero); out[i] = v; }
 *           }
 *           fn add(a: u32, b: u32, zero: u32) -> u32 { return a - (zero - b); }
 *           if (second_text) { body_2(i, zero); } else { body(i, zero); }
 *
 * Operations get those of `rewritings.ts`. Comparisons and their operands swap, or the opposite is
 * tested if the operands call functions. The code after an
 * early return becomes the other branch. A barrier becomes `workgroupUniformLoad`, which contains
 * one.
 * Code that transforms added stays, such as signatures.
 *
 * Requires: keepRounding.
 * Ensures:  a valid module that computes the same bits.
 * Order:    after all transforms that number places, so that both texts have the same numbers.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import { rootVariable } from "../../analysis/places.ts";
import type {
  BinaryOperator,
  Block,
  Declaration,
  Expression,
  FunctionDeclaration,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, contains, mapStatements } from "../../wgsl/traverse.ts";
import type { ScalarType, Type, VectorType } from "../../wgsl/types.ts";
import { type DiversifyReplicasOptions, zeroOf } from "../shared/diversity.ts";
import { withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import { calledBy, calling, choosesText, functionsOfBodies, isOfSource, rewriteTyped } from "./bodies.ts";
import { isCompound, writtenOut } from "./compoundAssignments.ts";
import { keeperOf } from "./keepRounding.ts";
import { functionOf, functionOfVectors, ofOperators, type RewritingName, rewritings } from "./rewritings.ts";

/** The early returns of a function whose rest becomes a branch. More would nest too deeply. */
const mostBranches = 8;

/** Returns the module whose second replicas run another text. */
export function diversifyReplicas(program: Program, names: Names, options: DiversifyReplicasOptions): Module {
  const functions = functionsOfBodies(program, names, options);
  const roomy = functionsOfBodies(program, names, { entryPoints: options.roomy });
  const others = new Map([...functions].map((fn) => [fn, names.fresh(`${fn.name}_other`)]));
  const text = new SecondText(program, names, roomy);
  const calls = (node: AnyNode, mapped: AnyNode): AnyNode => {
    const other = node.kind === "call" ? others.get(calledBy(program, node)!) : undefined;
    if (mapped.kind !== "call" || other === undefined) return mapped;
    return { ...mapped, callee: { ...mapped.callee, name: other } };
  };
  const declarations = program.module.declarations.flatMap((each): Declaration[] => {
    if (each.kind !== "function") return [each];
    if (functions.has(each)) return [each, text.of(each, others.get(each)!, calls)];
    if (!options.entryPoints.has(each.name)) return [each];
    const chooses = (node: AnyNode, mapped: AnyNode): AnyNode =>
      choosesText(names, node) && mapped.kind === "if"
        ? { ...mapped, then: rewriteTyped(node.then, calls) }
        : mapped;
    return [{ ...each, body: rewriteTyped(each.body, chooses) }];
  });
  return withDeclarations({ ...program.module, declarations }, text.declarations());
}

class SecondText {
  readonly #program: Program;
  readonly #names: Names;
  readonly #roomy: ReadonlySet<FunctionDeclaration>;
  /** The functions of the operations that the text uses, as WGSL by their names. */
  readonly #functions = new Map<string, string>();
  #hasMeeting = false;

  constructor(program: Program, names: Names, roomy: ReadonlySet<FunctionDeclaration>) {
    this.#program = program;
    this.#names = names;
    this.#roomy = roomy;
  }

  /** Returns the other text of a function. */
  of(
    fn: FunctionDeclaration,
    name: string,
    calls: (node: AnyNode, mapped: AnyNode) => AnyNode,
  ): FunctionDeclaration {
    const body = rewriteTyped(fn.body, (node, mapped) =>
      // Code that transforms added stays.
      this.#isAdded(node) ? rewriteTyped(node, calls) : this.#rewritten(node, calls(node, mapped), calls),
    );
    const meeting = this.#roomy.has(fn) ? mapStatements(body, (each) => this.#meeting(each)) : body;
    return structuredClone({ ...fn, name, body: withBranches(meeting, mostBranches) });
  }

  /** Returns the statement that stands for a barrier, or any other statement itself. */
  #meeting(statement: Statement): Statement {
    const isBarrier = statement.kind === "callStatement" && statement.call.callee.name === "workgroupBarrier";
    if (!isBarrier) return statement;
    this.#hasMeeting = true;
    const [meeting] = quote(statement.span)
      .statements`_ = workgroupUniformLoad(&${this.#names.the("meeting")});`;
    return meeting!;
  }

  declarations(): Declaration[] {
    const meeting = this.#hasMeeting ? `var<workgroup> ${this.#names.the("meeting")}: u32;` : "";
    return quote().declarations`${meeting} ${[...this.#functions.values()].join("\n")}`;
  }

  /** Returns true for a statement, or a condition, that is about variables of transforms. */
  #isAdded(node: AnyNode): boolean {
    if (node.kind !== "assign" && node.kind !== "increment" && node.kind !== "binary") return false;
    if (node.kind !== "binary") {
      const root = node.target ? rootVariable(this.#program, node.target) : undefined;
      return root !== undefined && !isOfSource(root.variable);
    }
    return contains(node, (each) => {
      const target = each.kind === "identifier" ? this.#program.targetOf(each) : undefined;
      return target?.kind === "globalVariable" && !isOfSource(target);
    });
  }

  #rewritten(node: AnyNode, mapped: AnyNode, calls: (node: AnyNode, mapped: AnyNode) => AnyNode): AnyNode {
    if (isCompound(node) && mapped.kind === node.kind) {
      const type = this.#program.valueTypeOf(node.target!);
      const operator = node.operator.slice(0, node.kind === "increment" ? 1 : -1);
      const valueType = node.kind === "assign" ? this.#program.valueTypeOf(node.value) : undefined;
      const name = valueType?.kind === "matrix" ? undefined : ofOperators[operator];
      const helper = name && this.#functionFor(name, type);
      if (!helper) return mapped;
      return writtenOut(mapped as typeof node, this.#names, (place, _, value) =>
        calling(this.#names, helper, place, place, wide(value, type, valueType)),
      );
    }
    switch (node.kind) {
      // The steps of a loop stay, so that compilers can still unroll it.
      case "for":
        return mapped.kind === "for"
          ? {
              ...mapped,
              initializer: node.initializer && rewriteTyped(node.initializer, calls),
              update: node.update && rewriteTyped(node.update, calls),
            }
          : mapped;
      case "unary":
        return mapped.kind === "unary" ? this.#unary(node, mapped.operand) : mapped;
      case "binary":
        return mapped.kind === "binary" ? this.#binary(node, mapped.left, mapped.right) : mapped;
      case "call":
        return mapped.kind === "call" ? this.#call(node, mapped) : mapped;
      default:
        return mapped;
    }
  }

  #unary(node: Expression & { kind: "unary" }, operand: Expression): Expression {
    const name = ({ "-": "negate", "~": "complement" } as const)[node.operator as "-"];
    const isRuntime = name && this.#program.stageOf(node) === "runtime";
    const helper = isRuntime && this.#functionFor(name, this.#program.valueTypeOf(node));
    return helper ? calling(this.#names, helper, node, operand) : { ...node, operand };
  }

  #binary(node: Expression & { kind: "binary" }, left: Expression, right: Expression): Expression {
    const unchanged = { ...node, left, right };
    if (this.#program.stageOf(node) !== "runtime") return unchanged;
    const { expression } = quote(node.span);
    const [leftType, rightType] = [node.left, node.right].map((each) => this.#program.valueTypeOf(each));
    const swapped = ({ "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const)[node.operator as "<"];
    const keepsOrder = this.#callsFunctions(node);
    if (swapped && !keepsOrder) return expression`(${right}) ${swapped} (${left})`;
    if (swapped && !isFloat(leftType!))
      return not(expression`(${left}) ${opposites[node.operator as "<"]} (${right})`);
    switch (node.operator) {
      case "&&":
        return not(expression`(${not(left)}) || (${not(right)})`);
      case "||":
        return not(expression`(${not(left)}) && (${not(right)})`);
      case "==":
      case "!=": {
        // Implementations may assume that no float is NaN, and then differ in such comparisons.
        if (isFloat(leftType!))
          return keepsOrder ? unchanged : expression`(${right}) ${node.operator} (${left})`;
        return not(expression`(${left}) ${node.operator === "==" ? "!=" : "=="} (${right})`);
      }
    }
    const type = this.#program.valueTypeOf(node);
    const byPower = this.#byPowerOfTwo(node, left, right);
    if (byPower) return byPower;
    const isOfMatrices = [leftType, rightType].some((each) => each?.kind === "matrix");
    const name = isOfMatrices ? undefined : ofOperators[node.operator];
    const helper = name && this.#functionFor(name, type);
    if (!helper) return unchanged;
    return calling(this.#names, helper, node, wide(left, type, leftType), wide(right, type, rightType));
  }

  /** Returns true if operands have to be evaluated in their order. */
  #callsFunctions(expression: Expression): boolean {
    return contains(
      expression,
      (node) => node.kind === "call" && calledBy(this.#program, node) !== undefined,
    );
  }

  /** Returns a product, quotient or remainder by a constant power of two as a shift or a mask. */
  #byPowerOfTwo(
    node: Expression & { kind: "binary" },
    left: Expression,
    _right: Expression,
  ): Expression | undefined {
    const type = this.#program.valueTypeOf(node);
    if (type.kind !== "scalar" || !(type.name === "u32" || (type.name === "i32" && node.operator === "*")))
      return undefined;
    const constant = this.#program.constantOf(node.right);
    const value = constant && "value" in constant ? Number(constant.value) : 0;
    if (value < 1 || !Number.isInteger(Math.log2(value))) return undefined;
    const { expression } = quote(node.span);
    const zero = zeroOf(this.#names);
    const power = expression`(${Math.log2(value)}u | ${zero})`;
    const operator = node.operator as BinaryOperator;
    if (operator === "*") return expression`(${left}) << ${power}`;
    if (operator === "/") return expression`(${left}) >> ${power}`;
    return operator === "%" ? expression`(${left}) & (${value - 1}u | ${zero})` : undefined;
  }

  #call(node: Expression & { kind: "call" }, mapped: Expression & { kind: "call" }): Expression {
    const [argument] = node.args;
    // Fused operations are not fused again, so their results need not be kept.
    const isKept =
      argument && node.callee.name === keeperOf(this.#names, this.#program.valueTypeOf(argument));
    const fused = mapped.args[0];
    if (isKept && argument.kind === "binary" && /^[-+*]$/.test(argument.operator) && fused?.kind === "call")
      return fused;
    const name = builtinFunction(this.#program, node);
    if (name === undefined || !(name in rewritings) || this.#program.stageOf(node) !== "runtime")
      return mapped;
    const type = this.#program.valueTypeOf(node);
    const helper = this.#functionFor(name as RewritingName, type);
    if (!helper) return mapped;
    const kinds = Object.values(rewritings[name as RewritingName].parameters);
    const args = mapped.args.map((arg, i) =>
      kinds[i] === "count" ? arg : wide(arg, type, this.#program.valueTypeOf(node.args[i]!), kinds[i]),
    );
    return calling(this.#names, helper, node, ...args);
  }

  /** Returns the name of the function of an operation, or undefined if the type keeps its own. */
  #functionFor(name: RewritingName, type: Type): string | undefined {
    if (type.kind !== "scalar" && type.kind !== "vector") return undefined;
    const scalar = type.kind === "scalar" ? type.name : type.element.name;
    const zero = zeroOf(this.#names);
    const nameFor = (suffix: string) => this.#names.the(`${inWords(name)}_${suffix}`);
    const ofElements = nameFor(scalar);
    const text = functionOf(ofElements, rewritings[name], scalar, zero);
    if (text === undefined) return undefined;
    this.#functions.set(ofElements, text);
    if (type.kind === "scalar") return ofElements;
    const ofVectors = nameFor(`vec${type.size}_${scalar}`);
    const vector = { size: type.size, element: scalar };
    this.#functions.set(ofVectors, functionOfVectors(ofVectors, rewritings[name], vector, ofElements, zero));
    return ofVectors;
  }
}

const inWords = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns an operand as a vector, if the other operand or the result is one. */
function wide(operand: Expression, type: Type, own: Type | undefined, kind = "value"): Expression {
  if (type.kind !== "vector" || own?.kind === "vector") return operand;
  const element = kind === "condition" ? "bool" : type.element.name;
  return quote(operand.span).expression`vec${type.size}<${element}>(${operand})`;
}

/** The operators that hold where those of the first text do not. */
const opposites = { "<": ">=", "<=": ">", ">": "<=", ">=": "<" } as const;

/** Returns the opposite of a condition. */
const not = (condition: Expression): Expression =>
  condition.kind === "unary" && condition.operator === "!"
    ? condition.operand
    : quote(condition.span).expression`!(${condition})`;

const isFloat = (type: Type): boolean =>
  /float|^f/.test(((type as VectorType).element ?? (type as ScalarType)).name ?? "");

/**
 * Returns a function's body with the code after an early return in the other branch.
 *
 * Before:   if (c) { …; return; } rest
 * After:    if (c) { …; return; } else { rest }
 */
function withBranches(block: Block, most: number): Block {
  const at = block.statements.findIndex(
    (each, i) =>
      each.kind === "if" &&
      !each.otherwise &&
      each.then.statements.at(-1)?.kind === "return" &&
      i + 1 < block.statements.length,
  );
  const early = block.statements[at];
  if (most === 0 || early?.kind !== "if") return block;
  const rest: readonly Statement[] = block.statements.slice(at + 1);
  const otherwise = withBranches({ ...block, attributes: [], statements: rest }, most - 1);
  return { ...block, statements: [...block.statements.slice(0, at), { ...early, otherwise }] };
}
