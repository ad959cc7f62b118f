/** Evaluates expressions for all lanes of a subgroup, and records their memory accesses. */
import type {
  Assignment,
  BinaryExpression,
  CallExpression,
  Expression,
  FunctionDeclaration,
} from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import { builtinValueOf } from "../builtinValueOf.ts";
import { builtinFunction } from "../effects.ts";
import { placeOf, rootIdentifier, rootVariable } from "../places.ts";
import { type LaneAccess, LaneMemory } from "./laneMemory.ts";
import { allLanes, binary, builtin, component, type LaneValue, ofConstant, unknown } from "./laneValues.ts";
import { isInteger, isSigned, wordsOf } from "./wordTypes.ts";

/** The parts of a run that an evaluator needs. */
export interface EvaluatorOptions {
  readonly program: Program;
  /** Returns the value of the built-in value of this name. */
  readonly builtin: (name: string) => LaneValue;
  /** Calls a function of the program, and returns its result. */
  readonly call: (fn: FunctionDeclaration, args: readonly LaneValue[]) => LaneValue;
}

/** Evaluates expressions, and counts the operations that they take. */
export class LaneEvaluator {
  integerOperations = 0;
  floatOperations = 0;
  readonly memory = new LaneMemory();
  readonly #program: Program;
  readonly #builtin: EvaluatorOptions["builtin"];
  readonly #call: EvaluatorOptions["call"];
  readonly #values = new Map<Target, LaneValue>();

  constructor({ program, builtin, call }: EvaluatorOptions) {
    this.#program = program;
    this.#builtin = builtin;
    this.#call = call;
  }

  /**
   * Returns a function to call after the executed iterations of a loop. If its argument is true, it
   * multiplies all operations and accesses that were recorded in between by `times`.
   */
  repeatedly(times: number): (isRepeated: boolean) => void {
    const [integers, floats] = [this.integerOperations, this.floatOperations];
    const first = this.memory.accesses.length;
    return (isRepeated) => {
      if (!isRepeated) return;
      this.integerOperations += (times - 1) * (this.integerOperations - integers);
      this.floatOperations += (times - 1) * (this.floatOperations - floats);
      for (const access of this.memory.accesses.slice(first)) access.times *= times;
    };
  }

  /** Gives a declaration a value. */
  declare(declaration: Target, value: LaneValue): void {
    this.#values.set(declaration, value);
  }

  assign({ target, operator, value }: Assignment): void {
    const assigned = this.value(value);
    if (!target) return;
    if (operator === "=") {
      this.#store(target, assigned);
      return;
    }
    const type = this.#typeOf(target);
    this.#count(type, operationCosts.binary);
    const before = this.value(target);
    const apply = binary(operator.slice(0, -1) as BinaryExpression["operator"], isSigned(type));
    this.#store(target, component([before, assigned], apply));
  }

  increment(target: Expression, by: number): void {
    const before = this.value(target);
    this.#count(this.#typeOf(target), operationCosts.binary);
    this.#store(
      target,
      component([before], (word) => word + by),
    );
  }

  #store(target: Expression, value: LaneValue): void {
    if (this.#isMemory(target)) {
      this.#access(target, "store");
      return;
    }
    const root = rootIdentifier(target);
    const variable = root && this.#program.targetOf(root);
    if (!variable) return;
    if (target.kind === "identifier") this.#values.set(variable, value);
    else if (target.kind === "memberAccess" && target.base.kind === "identifier") {
      const [at, before] = ["xyzw".indexOf(target.member), this.#values.get(variable) ?? unknown];
      this.#values.set(
        variable,
        at >= 0 && at < before.length && value[0] ? before.with(at, value[0]) : unknown,
      );
    } else this.#values.set(variable, unknown);
  }

  /** Evaluates an expression, and counts its operations and accesses. */
  value(expression: Expression): LaneValue {
    const constant = this.#program.constantOf(expression);
    if (constant) return ofConstant(constant);
    if (this.#isMemory(expression)) return this.#access(expression, "load");
    switch (expression.kind) {
      case "identifier": {
        const target = this.#program.targetOf(expression);
        return (target && this.#values.get(target)) ?? unknown;
      }
      case "unary": {
        if (expression.operator === "&" || expression.operator === "*") return unknown;
        const operand = this.value(expression.operand);
        this.#count(this.#typeOf(expression), 1);
        const of = { "-": (a: number) => -a, "~": (a: number) => ~a, "!": (a: number) => Number(a === 0) };
        return component([operand], of[expression.operator]);
      }
      case "binary": {
        const operands = [this.value(expression.left), this.value(expression.right)];
        const type = this.#typeOf(expression.left);
        this.#count(type, operationCosts.operator(expression, this.#constant(expression.right)));
        return component(operands, binary(expression.operator, isSigned(type)));
      }
      case "call":
        return this.#called(expression);
      case "index": {
        const [base, index] = [this.value(expression.base), this.value(expression.index)];
        const at = index[0]?.[0];
        const words = wordsOf(this.#typeOf(expression));
        return at === undefined || base.length < (at + 1) * words
          ? unknown
          : base.slice(at * words, (at + 1) * words);
      }
      case "memberAccess":
        return this.#member(expression.base, expression.member);
      default:
        return unknown;
    }
  }

  #member(base: Expression, member: string): LaneValue {
    const type = this.#typeOf(base);
    if (type.kind === "struct") {
      const declared = type.declaration?.members.find(({ name }) => name === member);
      this.value(base);
      return declared ? this.#builtin(builtinValueOf(declared.attributes)) : unknown;
    }
    const value = this.value(base);
    const picked = [...member].map((letter) => value["xyzwrgba".indexOf(letter) % 4]);
    return picked.every((lanes) => lanes !== undefined) ? picked : unknown;
  }

  #called(call: CallExpression): LaneValue {
    const target = this.#program.targetOf(call.callee);
    const name = builtinFunction(this.#program, call);
    if (name?.startsWith("atomic")) {
      const [pointer, ...others] = call.args;
      for (const each of others) this.value(each);
      return pointer?.kind === "unary" ? this.#access(pointer.operand, "atomic") : unknown;
    }
    if (name === "arrayLength") return this.memory.length;
    const args = call.args.map((each) => this.value(each));
    if (target?.kind === "function") return this.#call(target, args);
    const type = this.#typeOf(call);
    if (name === undefined || name === "bitcast")
      return converted(
        type,
        args.map((lanes, i) =>
          lanes.length > 0 ? lanes : this.memory.numbers(wordsOf(this.#typeOf(call.args[i]!))),
        ),
      );
    if (name.endsWith("Barrier")) return unknown;
    this.#count(type, operationCosts.builtin(name));
    // The condition of `subgroupAll` is assumed to hold for all lanes, the usual case.
    if (name === "subgroupAll") return [allLanes(1)];
    return /^(subgroup|quad)/.test(name) ? (args[0] ?? unknown) : builtin(name, args, isSigned(type));
  }

  /** Records an access to memory, and returns a value that it might load. */
  #access(expression: Expression, kind: LaneAccess["kind"]): LaneValue {
    const place = placeOf(this.#program, expression);
    if (!place) return unknown;
    return this.memory.access(place, kind, (step) => (step.kind === "index" ? this.value(step.index) : []));
  }

  #isMemory(expression: Expression): boolean {
    const type = this.#program.typeOf(expression);
    if (type.kind !== "reference" || !/^(storage|uniform|workgroup)$/.test(type.space)) return false;
    return rootVariable(this.#program, expression) !== undefined;
  }

  #typeOf(expression: Expression): Type {
    const type = this.#program.valueTypeOf(expression);
    return type.kind === "reference" ? type.store : type;
  }

  #constant(expression: Expression): number | undefined {
    const constant = this.#program.constantOf(expression);
    return constant && "value" in constant ? Number(constant.value) : undefined;
  }

  #count(type: Type, each: number): void {
    const operations = each * wordsOf(type);
    if (isInteger(type)) this.integerOperations += operations;
    else this.floatOperations += operations;
  }
}

/** Returns a value of a type that is constructed from parts. */
function converted(type: Type, args: readonly LaneValue[]): LaneValue {
  if (!isInteger(type)) return unknown;
  const parts = args.flat();
  const size = wordsOf(type);
  return parts.length === 1 ? Array.from({ length: size }, () => parts[0]!) : parts.slice(0, size);
}

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;

/** The costs of operations, in simple operations per word. */
const operationCosts = {
  binary: 1,
  /**
   * Returns the cost of a binary operator. `right` is the right operand if it is constant:
   * divisions by a constant become shifts, or a product and shifts.
   */
  operator({ operator }: BinaryExpression, right: number | undefined): number {
    if (operator !== "/" && operator !== "%") return 1;
    if (right === undefined) return 16;
    return Number.isInteger(Math.log2(right)) ? 1 : 4;
  },
  /**
   * Returns the cost of a built-in function. Special function units have an eighth of the lanes,
   * units for exchanges and bit counts a quarter.
   */
  builtin(name: string): number {
    if (transcendental.test(name)) return 8;
    if (/^(subgroup|quad|count|first|reverse)/.test(name)) return 4;
    if (/^(dot|fma|mix|clamp|texture)/.test(name)) return 2;
    return /^cross$/.test(name) ? 3 : 1;
  },
};
