/**
 * Rewrites pointers to shared memory as the places they point to. Specializes functions that take
 * such pointers.
 *
 * Before:   fn add(p: ptr<storage, u32, read_write>) { *p += 1; }   let q = &a[i + 1]; add(q);
 * After:    fn add_a(i0: u32) { a[i0] += 1; }                       let i0 = i + 1; add_a(i0);
 *
 * A function is specialized once for each shape of its pointer arguments: the variable, the members
 * and the positions of indices. Dynamic indices become parameters. Pointers to function and private
 * variables stay.
 *
 * A buffer with views becomes a struct, whose members are the views.
 *
 * Before:   var<storage> b: buffer;   let p = bufferView<f32>(&b, 16);
 * After:    struct Views { @size(16) gap: u32, at_16: f32 }   var<storage> b: Views;
 *
 * Requires: unique names.
 * Ensures:  a valid module. Every access to storage, workgroup or uniform memory names its
 *           variable.
 * Order:    before normalizeAccesses.
 */
import { type PlacedViews, placedViews } from "../../analysis/placedViews.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import type {
  Block,
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  LetStatement,
  Module,
  Parameter,
  Statement,
  TypeExpression,
} from "../../wgsl/ast.ts";
import { printExpression, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import {
  isExpression,
  mapChildren,
  mapExpression,
  mapExpressions,
  mapStatements,
} from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import { mapIndices } from "../shared/mapIndices.ts";
import type { Names } from "../shared/names.ts";

/** The places that pointer `let`s and parameters point to. Their indices may be evaluated again. */
type Pointees = ReadonlyMap<LetStatement | Parameter, Expression>;

/**
 * The limit of specialized functions of a module. Calls that pass on parts of parts can need
 * exponentially many.
 */
const mostSpecializations = 1000;

/** The error thrown if a module's pointers have too many shapes. */
export class SpecializationLimit extends Error {
  /** The name of the function whose specialization exceeded the limit. */
  readonly span: Span;

  constructor(span: Span) {
    super(`more than ${mostSpecializations} specialized functions`);
    this.span = span;
  }
}

/**
 * Returns the module without pointers to shared memory. Throws `SpecializationLimit` if its
 * pointers have too many shapes.
 */
export function resolvePointers(program: Program, names: Names): Module {
  return new PointerResolver(program, names).module();
}

/** A function for pointers to known places, with the body that names them as parameters. */
interface Specialized extends FunctionDeclaration {
  readonly pointees: Pointees;
}

class PointerResolver {
  readonly #program: Program;
  readonly #names: Names;
  /** The specialized functions, by function and shape of the pointer arguments. */
  readonly #specialized = new Map<string, Specialized>();
  readonly #views: PlacedViews;

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#names = names;
    this.#views = placedViews(program);
  }

  module(): Module {
    const { module } = this.#program;
    const { declarations } = module;
    const kept = declarations.flatMap((declaration): Declaration[] => {
      if (declaration.kind === "globalVariable") return this.#variable(declaration);
      if (declaration.kind !== "function") return [declaration];
      if (declaration.parameters.some((parameter) => this.#isSharedPointer(parameter))) return [];
      const body = this.#block(declaration.body, new Map());
      return [body === declaration.body ? declaration : { ...declaration, body }];
    });
    const specialized: FunctionDeclaration[] = [];
    // Bodies specialize the functions that they call, which follow in this iteration. Call chains
    // may be longer than the call stack.
    // The clone shares no node with another one, because facts are stored by node.
    for (const { pointees, ...fn } of this.#specialized.values())
      specialized.push(structuredClone({ ...fn, body: this.#block(fn.body, pointees) }));
    const isUnchanged =
      kept.length === declarations.length && kept.every((each, i) => each === declarations[i]);
    return isUnchanged ? module : { ...module, declarations: [...kept, ...specialized] };
  }

  /** Returns a variable, which has another type if it is a buffer with views. */
  #variable(variable: GlobalVariable): Declaration[] {
    const { views, isWhole } = this.#views.variables.get(variable) ?? {};
    if (!views) return [variable];
    if (isWhole) return [{ ...variable, type: typeExpressionOf(views[0]!.type, variable.span) }];
    const name = this.#names.fresh("views");
    const members = views.map(({ offset, type }, i) => {
      const next = views[i + 1];
      const size = next ? `@size(${next.offset - offset}) ` : "";
      return `${size}${memberAt(offset)}: ${printType(typeExpressionOf(type))},`;
    });
    const [{ offset }] = views as [(typeof views)[number]];
    const gap = offset === 0 ? "" : `@size(${offset}) gap: u32, `;
    const { declarations, expression } = quote(variable.span);
    const type = expression`${name}` as TypeExpression;
    return [...declarations`struct ${name} { ${gap}${members.join(" ")} }`, { ...variable, type }];
  }

  #isSharedPointer(declaration: LetStatement | Parameter): boolean {
    const type = this.#program.declaredTypeOf(declaration);
    return type.kind === "pointer" && type.space !== "function" && type.space !== "private";
  }

  #block(block: Block, pointees: Pointees): Block {
    const known = new Map(pointees);
    const rewrite = (statement: Statement) => this.#statement(statement, known);
    return mapStatements(block, rewrite);
  }

  #statement(
    statement: Statement,
    pointees: Map<LetStatement | Parameter, Expression>,
  ): Statement | Statement[] {
    const rewritten = mapOwnExpressions(statement, (e) => this.#expression(e, pointees));
    if (statement.kind !== "let" || rewritten.kind !== "let" || !this.#isSharedPointer(statement))
      return rewritten;
    const pointer = rewritten.initializer;
    if (pointer.kind !== "unary") throw new Error("a pointer to shared memory is the address of a place");
    const saved: Statement[] = [];
    pointees.set(statement, this.#stable(pointer.operand, saved));
    return saved;
  }

  /**
   * Returns `place` with every dynamic index saved in a `let`. Generated names stay: they are such
   * `let`s already.
   */
  #stable(place: Expression, saved: Statement[]): Expression {
    return mapIndices(place, (index) => {
      if (index.kind === "identifier" && this.#names.isGenerated(index.name)) return index;
      const name = this.#names.fresh("index");
      const { statements, expression } = quote(index.span);
      saved.push(...statements`let ${name} = ${index};`);
      return expression`${name}`;
    });
  }

  /**
   * Rewrites one node of an expression, bottom-up. Pointer names become addresses, and used
   * addresses become places.
   */
  #expression(node: Expression, pointees: Pointees): Expression {
    switch (node.kind) {
      case "identifier": {
        const target = this.#program.targetOf(node);
        const place =
          target?.kind === "let" || target?.kind === "parameter" ? pointees.get(target) : undefined;
        return place ? { kind: "unary", span: node.span, operator: "&", operand: place } : node;
      }
      case "unary":
        return node.operator === "*" ? (pointee(node.operand) ?? node) : node;
      case "index":
      case "memberAccess": {
        const place = pointee(node.base);
        return place ? { ...node, base: place } : node;
      }
      case "call":
        return this.#call(node);
      default:
        return node;
    }
  }

  #call(call: CallExpression): Expression {
    const buffer = call.args[0] && pointee(call.args[0]);
    const variable = buffer?.kind === "identifier" ? this.#program.targetOf(buffer) : undefined;
    if (buffer && variable?.kind === "globalVariable") {
      const viewed = this.#ofViews(call, buffer, variable);
      if (viewed) return viewed;
    }
    const callee = this.#program.targetOf(call.callee);
    if (callee?.kind !== "function" || !callee.parameters.some((p) => this.#isSharedPointer(p))) return call;
    const shapes: (Expression | null)[] = [];
    const args = call.args.flatMap((argument, i) => {
      const place = this.#isSharedPointer(callee.parameters[i]!) ? pointee(argument) : undefined;
      const indices: Expression[] = [];
      const collect = (index: Expression) => {
        indices.push(index);
        return index;
      };
      shapes.push(place ? mapIndices(place, collect) : null);
      // A negative index is out of bounds, before and after its conversion to u32.
      return place ? indices.map((index) => quote(index.span).expression`u32(${index})`) : [argument];
    });
    const fn = this.#specialize(callee, shapes);
    return { ...call, callee: { ...call.callee, name: fn.name }, args };
  }

  /** Returns the address of a view, or the length of a buffer with views. */
  #ofViews(
    { callee, span }: CallExpression,
    buffer: Expression,
    variable: GlobalVariable,
  ): Expression | undefined {
    const views = this.#views.variables.get(variable);
    const type = this.#program.declaredTypeOf(variable);
    if (!views || type.kind !== "buffer") return undefined;
    const { expression } = quote(span);
    if (callee.name === "bufferLength") return expression`${type.size}u`;
    const offset = this.#views.offsets.get(callee);
    if (offset === undefined) return undefined;
    return views.isWhole ? expression`&${buffer}` : expression`&${buffer}.${memberAt(offset)}`;
  }

  /** Returns the function for pointers to these places. Its body is rewritten later. */
  #specialize(fn: FunctionDeclaration, places: readonly (Expression | null)[]): Specialized {
    const hole: Expression = { kind: "identifier", span: fn.span, name: "_", templateArgs: null };
    const shape = places.map((place) => (place ? printExpression(mapIndices(place, () => hole)) : ""));
    const key = [fn.name, ...shape].join("|");
    const known = this.#specialized.get(key);
    if (known) return known;
    if (this.#specialized.size === mostSpecializations) throw new SpecializationLimit(fn.nameSpan);
    const pointees = new Map<LetStatement | Parameter, Expression>();
    const parameters = fn.parameters.flatMap((parameter, i) => {
      const place = places[i];
      if (!place) return [parameter];
      const indices: Parameter[] = [];
      const inside = mapIndices(place, (index) => {
        const name = this.#names.fresh("index");
        indices.push({ ...parameter, name, type: u32(index.span) });
        return quote(index.span).expression`${name}`;
      });
      pointees.set(parameter, inside);
      return indices;
    });
    const specialized = { ...fn, name: this.#names.fresh(fn.name), parameters, pointees };
    this.#specialized.set(key, specialized);
    return specialized;
  }
}

/**
 * Rewrites the expressions of a statement itself. The caller rewrites the statements of its blocks.
 */
function mapOwnExpressions(statement: Statement, rewrite: (expression: Expression) => Expression): Statement {
  return mapChildren(statement, (child) => {
    if (isExpression(child)) return mapExpression(child, rewrite);
    return statement.kind === "for" && child.kind !== "block" ? mapExpressions(child, rewrite) : child;
  });
}

/** Returns the name of the member that is the view at an offset. */
const memberAt = (offset: number): string => `at_${offset}`;

const u32 = (span: Expression["span"]): TypeExpression => ({
  kind: "identifier",
  span,
  name: "u32",
  templateArgs: null,
});

/** Returns the place whose address an expression takes, or undefined. */
function pointee(expression: Expression): Expression | undefined {
  return expression.kind === "unary" && expression.operator === "&" ? expression.operand : undefined;
}
