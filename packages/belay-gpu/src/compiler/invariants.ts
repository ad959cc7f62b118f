/** Verifies the invariants between passes, and shows where a module violates one. */
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../analysis/callGraph.ts";
import { containsMemoryOperation, isMemoryOperation, isTextureStore } from "../analysis/effects.ts";
import { addressSpaceOf, isShared, rootVariable, spaceOf, storesToShared } from "../analysis/places.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { CallExpression, Expression, FunctionDeclaration, IfStatement } from "../wgsl/ast.ts";
import { print, printExpression } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { predeclared } from "../wgsl/resolve/predeclared.ts";
import { type AnyNode, isExpression, walk } from "../wgsl/traverse.ts";
import { isHandle } from "../wgsl/typeFamilies.ts";

/** The program to verify. */
export interface Verified {
  readonly program: Program;
  readonly names: Names;
  /**
   * The protected entry points. Undefined before they are chosen; an invariant then concerns all
   * functions.
   */
  readonly entryPoints: ReadonlySet<string> | undefined;
  /** The sets of protected entry points that have functions of their own. */
  readonly groups: readonly ReadonlySet<string>[];
}

/** The place at which a module violates an invariant, and the reason. */
export interface Violation {
  readonly span: Span;
  readonly what: string;
}

interface Claim {
  /** The statement of the invariant, for the documentation. */
  readonly says: string;
  /** Returns the first violation, or undefined. */
  violation(verified: Verified): Violation | undefined;
}

/** The invariants by name. */
export const invariants = {
  uniqueNames: {
    says: "a name of the module or the language means just that everywhere",
    violation: uniqueNames,
  },
  separateKernels: {
    says: "no two groups of entry points reach one function or workgroup variable",
    violation: separateKernels,
  },
  shortChains: {
    says: "no chain of `else if` has more than 16 links",
    violation: shortChains,
  },
  plainHeaders: {
    says: "no header of a `for` or `while` changes shared memory, operates on it, or declares a pointer",
    violation: plainHeaders,
  },
  resolvedPointers: {
    says: "every access to storage, workgroup or uniform memory names its variable",
    violation: resolvedPointers,
  },
  accessNormalForm: {
    says: "each store to shared memory, each atomic operation and each `workgroupUniformLoad` is a statement of its own, with operands that may be repeated",
    violation: accessNormalForm,
  },
  namedValues: {
    says: "what is stored to shared memory is a `let` or a parameter",
    violation: namedValues,
  },
  wholeStores: {
    says: "every store to shared memory has a target of reference type",
    violation: wholeStores,
  },
  report: {
    says: "the report buffer and the variables that tell replicas apart are declared",
    violation: (verified) => declares(verified, "report"),
  },
  ids: {
    says: "each protected entry point has learned its workgroup, its index and which replica it is",
    violation: setsIds,
  },
} as const satisfies Record<string, Claim>;

export type Invariant = keyof typeof invariants;

/** Verifies invariants after a pass. Throws an error that shows the module if one is violated. */
export function verifyInvariants(pass: string, held: ReadonlySet<Invariant>, verified: Verified): void {
  for (const invariant of held) {
    const violation = invariants[invariant].violation(verified);
    if (!violation) continue;
    throw new Error(
      `after ${pass}, ${invariant} does not hold: ${violation.what}\n${print(verified.program.module)}`,
    );
  }
}

/**
 * Returns true for a declaration of the source. Declarations that passes add have an empty span.
 */
const isOfSource = ({ span }: { readonly span: Span }) => span.end > 0;

/** Returns the functions of the source that an invariant concerns. */
function functionsIn({ program, entryPoints }: Verified): FunctionDeclaration[] {
  const all = functionsOf(program);
  const chosen = entryPoints ? all.filter(({ name }) => entryPoints.has(name)) : all;
  return [...reachableFrom(program, chosen)].filter(isOfSource);
}

/** Returns true for a place, or a pointer to one, in a variable that a pass added. */
const isAdded = (program: Program, place: Expression): boolean => {
  const root = rootVariable(program, place);
  return root !== undefined && !isOfSource(root.variable);
};

/**
 * Returns the first violation that `find` sees in a node of the functions. Code that a pass adds to
 * an entry point has the span of its name and is skipped.
 */
function inFunctions(
  verified: Verified,
  find: (node: AnyNode) => Violation | undefined,
): Violation | undefined {
  for (const fn of functionsIn(verified)) {
    let found: Violation | undefined;
    walk(fn, (node) => {
      if (node.span.start !== fn.nameSpan.start) found ??= find(node);
      return found === undefined;
    });
    if (found) return found;
  }
  return undefined;
}

function uniqueNames(verified: Verified): Violation | undefined {
  const moduleNames = new Set<string>();
  for (const declaration of verified.program.module.declarations)
    if (declaration.kind !== "constAssert") moduleNames.add(declaration.name);
  return inFunctions(verified, (node) => {
    if (node.kind !== "parameter" && node.kind !== "let" && node.kind !== "var" && node.kind !== "const")
      return undefined;
    if (moduleNames.has(node.name)) return at(node, `"${node.name}" hides a name of the module`);
    return predeclared(node.name) ? at(node, `"${node.name}" hides a name of the language`) : undefined;
  });
}

function separateKernels({ program, groups, entryPoints }: Verified): Violation | undefined {
  const entries = functionsOf(program).filter((fn) => stageOf(fn));
  const owners = new Map<AnyNode, string>();
  for (const group of [...groups, undefined]) {
    const members = entries.filter(({ name }) => (group ? group.has(name) : !entryPoints?.has(name)));
    const functions = reachableFrom(program, members);
    const memory = [...variablesOf(program, functions)].filter((v) => addressSpaceOf(v) === "workgroup");
    const owner = group ? [...group].join(", ") : "unprotected entry points";
    for (const each of [...functions, ...memory].filter(isOfSource)) {
      const other = owners.get(each);
      if (other !== undefined) return at(each, `"${each.name}" is reached by ${other} and by ${owner}`);
      owners.set(each, owner);
    }
  }
  return undefined;
}

/** The longest chain that `splitChains` leaves. */
const mostLinks = 16;

function shortChains(verified: Verified): Violation | undefined {
  const linksOf = ({ otherwise }: IfStatement): number =>
    1 + (otherwise?.kind === "if" ? linksOf(otherwise) : 0);
  return inFunctions(verified, (node) =>
    node.kind === "if" && linksOf(node) > mostLinks ? at(node, `${linksOf(node)} links`) : undefined,
  );
}

function plainHeaders(verified: Verified): Violation | undefined {
  const { program } = verified;
  return inFunctions(verified, (node) => {
    if (node.kind !== "for" && node.kind !== "while") return undefined;
    const header = node.kind === "for" ? [node.initializer, node.condition, node.update] : [node.condition];
    for (const part of header) {
      if (!part) continue;
      if (part.kind === "let" && program.declaredTypeOf(part).kind === "pointer")
        return at(part, "a header declares a pointer");
      if (containsMemoryOperation(program, part)) return at(part, "a header operates on memory");
      if (storesToShared(program, part)) return at(part, "a header stores to shared memory");
      if (part.kind === "callStatement" && isTextureStore(program, part.call))
        return at(part, "a header stores to a texture");
    }
    return undefined;
  });
}

function resolvedPointers(verified: Verified): Violation | undefined {
  const { program } = verified;
  return inFunctions(verified, (node) => {
    if (node.kind !== "let" && node.kind !== "parameter") return undefined;
    const type = program.declaredTypeOf(node);
    return type.kind === "pointer" && /^(storage|workgroup|uniform)$/.test(type.space)
      ? at(node, `"${node.name}" points to ${type.space} memory`)
      : undefined;
  });
}

function accessNormalForm(verified: Verified): Violation | undefined {
  const { program } = verified;
  const isStable = (expression: Expression): boolean => {
    if (isTypedName(program, expression) || program.stageOf(expression) !== "runtime") return true;
    if (isAddedValue(program, expression)) return true;
    if (isHandle(program.valueTypeOf(expression))) return hasStableIndices(expression);
    return expression.kind === "unary" && expression.operator === "&" && hasStableIndices(expression.operand);
  };
  const hasStableIndices = (place: Expression): boolean => {
    if (place.kind === "index") return isStable(place.index) && hasStableIndices(place.base);
    if (place.kind === "memberAccess") return hasStableIndices(place.base);
    return place.kind === "unary" ? hasStableIndices(place.operand) : true;
  };
  const isOperation = (part: Expression): part is CallExpression =>
    part.kind === "call" &&
    (isMemoryOperation(program, part) || isTextureStore(program, part)) &&
    !(part.args[0] && isAdded(program, part.args[0]));
  const alone = new Set<AnyNode>();
  return inFunctions(verified, (node) => {
    const whole = wholeOf(program, node);
    if (whole && isOperation(whole)) {
      alone.add(whole);
      const unstable = whole.args.find((argument) => !isStable(argument));
      if (unstable) return at(unstable, "an operand of an operation on memory may not be repeated");
    }
    // The code that injects faults into memory loads it into a variable of its own.
    if (node.kind === "assign" && node.target && isAdded(program, node.target))
      walk(node.value, (part) => alone.add(part));
    if (isExpression(node) && isOperation(node) && !alone.has(node))
      return at(node, "an operation on memory is no statement of its own");
    const target = storeTarget(program, node);
    if (!target) return undefined;
    if (node.kind === "increment" || (node.kind === "assign" && node.operator !== "="))
      return at(target, "a store is compound");
    return hasStableIndices(target) ? undefined : at(target, "an index of a store may not be repeated");
  });
}

/**
 * Returns true if an expression depends only on variables that passes added. These do not change
 * between statements of the source.
 */
function isAddedValue(program: Program, expression: Expression): boolean {
  let isAddedOnly = true;
  walk(expression, (node) => {
    const target = node.kind === "identifier" ? program.targetOf(node) : undefined;
    const isSource =
      target && target.kind !== "builtin" && (target.kind !== "globalVariable" || isOfSource(target));
    if (isSource) isAddedOnly = false;
  });
  return isAddedOnly;
}

/**
 * Returns the expression of a statement that only evaluates it, and keeps the value in the
 * invocation's own memory.
 */
function wholeOf(program: Program, node: AnyNode): Expression | undefined {
  if (node.kind === "let") return node.initializer;
  if (node.kind === "callStatement") return node.call;
  if (node.kind !== "assign" || node.operator !== "=" || !node.target) return undefined;
  return isShared(spaceOf(program, node.target)) ? undefined : node.value;
}

/** Returns the target of a store to the source's shared memory, or undefined for any other node. */
function storeTarget(program: Program, node: AnyNode): Expression | undefined {
  if ((node.kind !== "assign" && node.kind !== "increment") || !node.target) return undefined;
  return isShared(spaceOf(program, node.target)) && !isAdded(program, node.target) ? node.target : undefined;
}

function isTypedName(program: Program, expression: Expression): boolean {
  const target = expression.kind === "identifier" ? program.targetOf(expression) : undefined;
  return target?.kind === "let" || target?.kind === "parameter";
}

function namedValues(verified: Verified): Violation | undefined {
  const { program } = verified;
  return inFunctions(verified, (node) =>
    node.kind === "assign" && storeTarget(program, node) && !isTypedName(program, node.value)
      ? at(node.value, "a stored value has no name")
      : undefined,
  );
}

function wholeStores(verified: Verified): Violation | undefined {
  const { program } = verified;
  return inFunctions(verified, (node) => {
    const target = storeTarget(program, node);
    return target && program.typeOf(target).kind !== "reference"
      ? at(target, "a store is to several components")
      : undefined;
  });
}

function declares({ program, names }: Verified, thing: string): Violation | undefined {
  const name = names.the(thing);
  const isDeclared = program.module.declarations.some((each) => "name" in each && each.name === name);
  return isDeclared ? undefined : { span: program.module.span, what: `"${name}" is not declared` };
}

function setsIds({ program, names, entryPoints }: Verified): Violation | undefined {
  const [local, workgroup] = [names.the("local"), names.the("workgroup")];
  for (const fn of functionsOf(program)) {
    if (!entryPoints?.has(fn.name)) continue;
    const assigned = new Set<string>();
    walk(fn.body, (node) => {
      if (node.kind === "assign" && node.target?.kind === "identifier") assigned.add(node.target.name);
    });
    for (const name of [local, workgroup])
      if (!assigned.has(name)) return at(fn, `"${fn.name}" does not set "${name}"`);
  }
  return undefined;
}

const at = (node: AnyNode, what: string): Violation => ({
  span: node.span,
  what: isExpression(node) ? `${what}: ${printExpression(node)}` : what,
});
