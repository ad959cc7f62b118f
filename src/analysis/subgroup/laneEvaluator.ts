/** The values and accesses of a subgroup's lanes, expression by expression. */
import type {
  Assignment,
  BinaryExpression,
  CallExpression,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
} from "../../wgsl/ast.ts";
import { alignOf, sizeOf } from "../../wgsl/layout.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import { builtinFunction } from "../effects.ts";
import { placeOf, rootIdentifier, rootVariable } from "../places.ts";
import { builtinOf } from "./laneBuiltins.ts";
import {
  allLanes,
  binary,
  builtin,
  component,
  eachLane,
  guess,
  type LaneValue,
  laneCount,
  ofConstant,
  unknown,
} from "./laneValues.ts";
import { operationsOf } from "./operations.ts";

/** An access in the text to storage, uniform or workgroup memory. */
export interface LaneAccess {
  readonly variable: GlobalVariable;
  readonly kind: "load" | "store" | "atomic";
  /** Bytes that a lane accesses, and where they begin in the variable for each lane that takes part, the first time. */
  readonly width: number;
  readonly addresses: readonly number[];
  /** How often an invocation does it. */
  times: number;
  /** Accesses that go together have the same: 0 outside of loops, another number in each trip of a loop. */
  readonly trip: number;
}

/** A uniform that nothing is known of, such as a length or a stride: large, and aligned. */
const someUniform = 2 ** 24;
/** Wider values are accessed in parts, and so are those that may begin anywhere. */
const widestAccess = 16;
/** Numbers that memory might hold are below. */
const someNumber = 2 ** 20;

export interface EvaluatorOptions {
  readonly program: Program;
  /** The value of a built-in. */
  readonly builtin: (name: string) => LaneValue;
  /** Calls a function of the program. */
  readonly call: (fn: FunctionDeclaration, args: readonly LaneValue[]) => LaneValue;
}

/** Evaluates, and counts what that takes. Who uses it says which lanes take part, and in which trip of a loop. */
export class LaneEvaluator {
  integerOperations = 0;
  floatOperations = 0;
  readonly accesses: LaneAccess[] = [];
  active: readonly boolean[] = new Array(laneCount).fill(true);
  trip = 0;
  readonly #program: Program;
  readonly #builtin: EvaluatorOptions["builtin"];
  readonly #call: EvaluatorOptions["call"];
  readonly #values = new Map<Target, LaneValue>();

  constructor({ program, builtin, call }: EvaluatorOptions) {
    this.#program = program;
    this.#builtin = builtin;
    this.#call = call;
  }

  /** Returns what is to be called after a loop, and told whether all that came in between stands for `times` as much. */
  repeatedly(times: number): (isRepeated: boolean) => void {
    const [first, integers, floats] = [this.accesses.length, this.integerOperations, this.floatOperations];
    return (isRepeated) => {
      if (!isRepeated) return;
      this.integerOperations += (times - 1) * (this.integerOperations - integers);
      this.floatOperations += (times - 1) * (this.floatOperations - floats);
      for (const access of this.accesses.slice(first)) access.times *= times;
    };
  }

  /** What is declared has a value from now on. */
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
    this.#count(type, operationsOf.binary);
    const before = this.value(target);
    const apply = binary(operator.slice(0, -1) as BinaryExpression["operator"], isSigned(type));
    this.#store(target, component([before, assigned], apply));
  }

  increment(target: Expression, by: number): void {
    const before = this.value(target);
    this.#count(this.#typeOf(target), operationsOf.binary);
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
        this.#count(type, operationsOf.operator(expression, this.#constant(expression.right)));
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
      return declared ? this.#builtin(builtinOf(declared.attributes)) : unknown;
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
    if (name === "arrayLength") return [guess(allLanes(someUniform))];
    const args = call.args.map((each) => this.value(each));
    if (target?.kind === "function") return this.#call(target, args);
    const type = this.#typeOf(call);
    if (name === undefined || name === "bitcast") return converted(type, args);
    if (name.endsWith("Barrier")) return unknown;
    this.#count(type, operationsOf.builtin(name));
    // What all lanes are asked for is nearly always so.
    if (name === "subgroupAll") return [allLanes(1)];
    return /^(subgroup|quad)/.test(name) ? (args[0] ?? unknown) : builtin(name, args, isSigned(type));
  }

  /** Notes an access to memory; gives what might be there. */
  #access(expression: Expression, kind: LaneAccess["kind"]): LaneValue {
    const place = placeOf(this.#program, expression);
    if (!place) return unknown;
    let addresses = allLanes(0);
    for (const step of place.steps) {
      const [offsets] = step.kind === "member" ? [allLanes(step.offset)] : this.value(step.index);
      const known = offsets ?? eachLane((lane) => hash(lane + laneCount * this.accesses.length));
      const stride = step.kind === "member" ? 1 : step.stride;
      const before = addresses;
      addresses = eachLane((lane) => before[lane]! + Math.imul(known[lane]!, stride));
    }
    const { variable, type, space } = place;
    const width = type.kind === "array" && typeof type.count !== "number" ? 0 : sizeOf(type);
    const taken = [...addresses].filter((_, lane) => this.active[lane]);
    const widest = Math.min(widestAccess, alignOf(type));
    for (let part = 0; part < width; part += widest) {
      this.accesses.push({
        ...{ variable, kind, times: 1, trip: this.trip },
        width: Math.min(widest, width - part),
        addresses: taken.map((address) => address + part),
      });
    }
    if (kind === "store" || !isInteger(type)) return unknown;
    const words = type.kind === "vector" ? type.size : 1;
    return Array.from({ length: words }, (_, word) =>
      guess(
        eachLane((lane) => {
          const address = addresses[lane]! + 4 * word;
          return space === "uniform" ? someUniform + (address << 14) : hash(address);
        }),
      ),
    );
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

/** A value of a type from its parts. */
function converted(type: Type, args: readonly LaneValue[]): LaneValue {
  if (!isInteger(type) || args.some(({ length }) => length === 0)) return unknown;
  const parts = args.flat();
  const size = wordsOf(type);
  return parts.length === 1 ? Array.from({ length: size }, () => parts[0]!) : parts.slice(0, size);
}

function isInteger(type: Type): boolean {
  if (type.kind === "array") return isInteger(type.element);
  const scalar = type.kind === "vector" || type.kind === "atomic" ? type.element : type;
  return scalar.kind === "scalar" && !/^(f16|f32|abstract-float)$/.test(scalar.name);
}

function isSigned(type: Type): boolean {
  const scalar = type.kind === "vector" ? type.element : type;
  return scalar.kind === "scalar" && (scalar.name === "i32" || scalar.name === "abstract-int");
}

function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  if (type.kind === "array") return typeof type.count === "number" ? type.count * wordsOf(type.element) : 0;
  return type.kind === "matrix" ? type.columns * type.rows : 1;
}

/** A number that depends on another in no simple way. */
function hash(value: number): number {
  const mixed = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 12)) & (someNumber - 1);
}
