/** The mistakes of a compiler that a lying device makes, as wrong code for typed expressions. */
import { builtinFunction } from "belay-gpu/internal/analysis/effects";
import { addressSpaceOf, rootVariable } from "belay-gpu/internal/analysis/places";
import type { BinaryOperator, CallExpression, Expression, Statement } from "belay-gpu/internal/wgsl/ast";
import { printExpression } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { expression, statements } from "belay-gpu/internal/wgsl/quote";
import { isExpression, mapChildren, walk } from "belay-gpu/internal/wgsl/traverse";
import { elementScalar } from "belay-gpu/internal/wgsl/typeFamilies";

/** An operator between two operands, of a binary expression or of a compound assignment. */
export interface Operation {
  readonly operator: BinaryOperator;
  /** The scalar type of the left operand. */
  readonly type: string;
  /** True if an operand is a vector or a matrix. */
  readonly isComposite: boolean;
  /** True if the right operand is a constant. */
  readonly isConstant: boolean;
}

/** A mistake: each method returns the wrong code for code of one kind, or undefined. */
export interface Mistake {
  readonly name: string;
  operation?(of: Operation): ((left: Expression, right: Expression) => Expression) | undefined;
  call?(
    name: string,
    args: readonly Expression[],
    types: readonly string[],
  ): ((args: readonly Expression[]) => Expression) | undefined;
  /** Takes a parameter with a built-in value. */
  input?(name: string): ((use: Expression) => Expression) | undefined;
  /** Takes the rest of a block. Returns the code for its first statements, and their number. */
  statements?(
    program: Program,
    from: readonly Statement[],
  ): { readonly shape: string; readonly count: number; readonly code: readonly Statement[] } | undefined;
}

const isInteger = (type: string) => type === "i32" || type === "u32";
const isShift = (operator: string) => operator === "<<" || operator === ">>";
const comparisons = ["<", "<=", ">", ">="];

/** The other type with as many bits, in which comparisons have another order. */
const reordered: Readonly<Record<string, string>> = { i32: "u32", u32: "i32", f32: "i32" };

export const mistakes: readonly Mistake[] = [
  {
    name: "shift by an amount without mask",
    operation: ({ operator, type, isComposite, isConstant }) =>
      isShift(operator) && !isComposite && !isConstant
        ? (x, y) => expression`select(${x} ${operator} ${y}, ${type}(0), ${y} > 31u)`
        : undefined,
  },
  {
    name: "shift by one more",
    operation: ({ operator }) =>
      isShift(operator) ? (x, y) => expression`(${x}) ${operator} (${y} + 1u)` : undefined,
  },
  {
    name: "division not truncated",
    operation({ operator, type, isComposite }) {
      if (operator !== "/" || !isInteger(type) || isComposite) return undefined;
      if (type === "u32") return (x, y) => expression`(${x} + ${y} / 2u) / ${y}`;
      return (x, y) =>
        expression`${x} / ${y} - select(0i, 1i, (${x} % ${y} != 0i) && ((${x} < 0i) != (${y} < 0i)))`;
    },
  },
  {
    name: "remainder with the sign of the divisor",
    operation: ({ operator, type }) =>
      operator === "%" && type !== "u32" ? (x, y) => expression`(${x} % ${y} + ${y}) % ${y}` : undefined,
  },
  {
    name: "product in 16 bits",
    operation: ({ operator, type }) =>
      operator === "*" && type === "f32" ? (x, y) => expression`quantizeToF16(${x} * ${y})` : undefined,
  },
  {
    name: "sum in 16 bits",
    operation: ({ operator, type }) =>
      (operator === "+" || operator === "-") && type === "f32"
        ? (x, y) => expression`quantizeToF16(${x} ${operator} ${y})`
        : undefined,
  },
  {
    name: "comparison with the wrong limit",
    operation({ operator }) {
      const other = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }[operator as "<"];
      return other ? (x, y) => expression`(${x}) ${other} (${y})` : undefined;
    },
  },
  {
    name: "comparison with the wrong sign",
    operation({ operator, type, isComposite }) {
      const other = reordered[type];
      if (!comparisons.includes(operator) || isComposite || !other || type === "f32") return undefined;
      return (x, y) =>
        expression`bitcast<${other}>(${type}(${x})) ${operator} bitcast<${other}>(${type}(${y}))`;
    },
  },
  {
    name: "min, max and clamp with the wrong sign",
    call(name, _, [type]) {
      const other = reordered[type!];
      if (!/^(min|max|clamp)$/.test(name) || !other) return undefined;
      return (args) => {
        const cast = args.map((arg) => expression`bitcast<${other}>(${type!}(${arg}))`);
        return expression`bitcast<${type!}>(${name}(${cast}))`;
      };
    },
  },
  {
    name: "clamp without the lower limit",
    call: (name) => (name === "clamp" ? ([x, , high]) => expression`min(${x!}, ${high!})` : undefined),
  },
  {
    name: "select with swapped values",
    call: (name) =>
      name === "select" ? ([x, y, which]) => expression`select(${y!}, ${x!}, ${which!})` : undefined,
  },
  {
    name: "extractBits with the wrong sign",
    call(name, _, [type]) {
      if (name !== "extractBits" || !isInteger(type!)) return undefined;
      const other = reordered[type!]!;
      return ([x, offset, count]) =>
        expression`bitcast<${type!}>(extractBits(bitcast<${other}>(${x!}), ${offset!}, ${count!}))`;
    },
  },
  {
    name: "value of the wrong lane",
    call(name) {
      if (/^subgroup(Shuffle\w*|Broadcast)$|^quadBroadcast$/.test(name))
        return ([x, lane]) => expression`${name}(${x!}, ${lane!} ^ 1u)`;
      return name === "subgroupAdd" ? ([x]) => expression`subgroupInclusiveAdd(${x!})` : undefined;
    },
  },
  {
    name: "wrong subgroup size",
    input: (name) => (name === "subgroup_size" ? (size) => expression`(${size} / 2u)` : undefined),
  },
  {
    name: "one lane is always wrong",
    operation: ({ operator, type, isComposite }) =>
      operator === "+" && (isInteger(type) || type === "f32") && !isComposite
        ? (x, y) => expression`select(${x} + ${y}, ${type}(${x}), lie_lane == 5u)`
        : undefined,
  },
  {
    name: "barrier dropped",
    statements(program, [first]) {
      const name = first?.kind === "callStatement" ? builtinFunction(program, first.call) : undefined;
      return name === "workgroupBarrier" || name === "storageBarrier"
        ? { shape: name, count: 1, code: [] }
        : undefined;
    },
  },
  {
    name: "early return dropped",
    statements(_, [first, ...others]) {
      if (first?.kind !== "if" || first.otherwise || others.length === 0) return undefined;
      const last = first.then.statements.at(-1);
      if (last?.kind !== "return") return undefined;
      return { shape: last.value ? "of a value" : "of a kernel", count: 1, code: [] };
    },
  },
  {
    name: "stale word",
    statements(program, [store, next]) {
      if (store?.kind !== "assign" || !store.target || !next) return undefined;
      const variable = rootVariable(program, store.target)?.variable;
      const space = variable && addressSpaceOf(variable);
      const type = program.valueTypeOf(store.target);
      if ((space !== "storage" && space !== "workgroup") || type.kind !== "scalar") return undefined;
      const place = printExpression(store.target);
      const name = `lie_stale_${store.span.start}`;
      const replaced = <T extends Statement | Expression>(node: T): T =>
        mapChildren(node, (child) => {
          if (node.kind === "assign" && child === node.target && node.operator === "=") return child;
          if (isExpression(child) && printExpression(child) === place) return expression`${name}`;
          return isExpression(child) ? replaced(child) : child;
        });
      if (next.kind !== "assign" && next.kind !== "let" && next.kind !== "var" && next.kind !== "if")
        return undefined;
      if (
        next.kind === "assign" &&
        next.operator !== "=" &&
        next.target &&
        printExpression(next.target) === place
      )
        return undefined;
      const stale = replaced(next);
      if (stale === next) return undefined;
      return { shape: space, count: 2, code: [...statements`let ${name} = ${place};`, store, stale] };
    },
  },
];

/** Returns the types of the arguments of a call, as far as they are scalars. */
export function scalarTypes(program: Program, call: CallExpression): string[] {
  return call.args.map((arg) => {
    const type = program.valueTypeOf(arg);
    return type.kind === "scalar" ? type.name : "other";
  });
}

/** Returns the operation of two operands. */
export function operationOf(
  program: Program,
  operator: BinaryOperator,
  left: Expression,
  right: Expression,
): Operation {
  const types = [left, right].map((each) => program.valueTypeOf(each));
  const scalar = types
    .map((type) => elementScalar(type)?.name)
    .find((name) => name && !name.startsWith("abstract"));
  return {
    operator,
    type: scalar ?? "bool",
    isComposite: types.some((type) => type.kind !== "scalar"),
    isConstant: program.constantOf(right) !== undefined,
  };
}

/** Returns true if an expression contains a name. */
export function mentions(node: Parameters<typeof walk>[0], name: string): boolean {
  let found = false;
  walk(node, (each) => {
    if (each.kind === "identifier" && each.name === name) found = true;
  });
  return found;
}
