/**
 * Finds loops in which an invocation waits for another one: barriers across workgroups, locks, and
 * lookback at results that others still have to store.
 *
 * A loop waits under two conditions. One of its iterations can end without a change to the inputs
 * of its conditions. These conditions depend on memory that other invocations change.
 *
 * An atomic operation that always changes memory, such as an addition, is progress. So is a
 * compare-exchange whose comparand is reloaded: if it fails, another invocation progressed. A
 * compare-exchange with a fixed comparand is a lock. A counter that decides only how long a loop
 * pauses is no progress. A barrier in the loop keeps the invocations of a workgroup together, so
 * they do not wait for each other's stores to workgroup memory.
 *
 * Requires access normal form.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type {
  Assignment,
  Block,
  CallExpression,
  Expression,
  ForStatement,
  FunctionDeclaration,
  GlobalVariable,
  Increment,
  LoopStatement,
  MemberExpression,
  Statement,
  WhileStatement,
} from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, forEachChild, walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootIdentifier, rootVariable } from "./places.ts";

type Loop = LoopStatement | ForStatement | WhileStatement;

/** A loop that waits, and the variable that it waits for. */
export interface Wait {
  readonly span: Span;
  readonly variable: GlobalVariable;
}

/** Returns the loops of a kernel that wait for other invocations. */
export function waitsOf(program: Program, kernel: FunctionDeclaration): Wait[] {
  const functions = reachableFrom(program, [kernel]);
  const stored = storedVariables(program, functions);
  const found: Wait[] = [];
  for (const fn of functions) {
    walk(fn.body, (node) => {
      if (!isLoop(node)) return;
      const variable = new LoopFacts(program, node, stored).waitsFor();
      if (variable) found.push({ span: node.span, variable });
    });
  }
  return found;
}

const isLoop = (node: AnyNode): node is Loop =>
  node.kind === "loop" || node.kind === "for" || node.kind === "while";

/** Returns the variables in storage and workgroup memory that functions change. */
function storedVariables(program: Program, functions: Iterable<FunctionDeclaration>): Set<Target> {
  const stored = new Set<Target>();
  for (const fn of functions) {
    walk(fn.body, (node) => {
      const place =
        node.kind === "assign" || node.kind === "increment"
          ? node.target
          : node.kind === "call" && isAtomic(program, node) && atomicName(program, node) !== "atomicLoad"
            ? node.args[0]
            : undefined;
      const variable = place && rootVariable(program, place)?.variable;
      if (variable) stored.add(variable);
    });
  }
  return stored;
}

const atomicName = (program: Program, call: CallExpression) => builtinFunction(program, call) ?? "";
const isAtomic = (program: Program, call: CallExpression) => atomicName(program, call).startsWith("atomic");

/** One member or component of a variable of a function. */
interface Member {
  readonly kind: "member";
  readonly of: Target;
}

/** A variable, or one of its members. */
type Part = Target | Member;

/** The inputs of a value. */
interface Sources {
  /** The variables that keep values from one iteration to the next. */
  readonly carried: Set<Part>;
  /** The loaded memory that other invocations may change. */
  readonly memory: Set<GlobalVariable>;
}

/**
 * The ways in which control may leave statements without progress: without a change to the inputs
 * of the loop's conditions.
 */
interface Flow {
  /** True if control may reach the end of the statements. */
  readonly ends: boolean;
  /** True if control may continue with the next iteration. */
  readonly continues: boolean;
  /** True if control may leave the loop or `switch` by a `break`. */
  readonly breaks: boolean;
  /** True if control reaches such a change. */
  readonly changes: boolean;
}

/** The facts about one loop. */
class LoopFacts {
  readonly #program: Program;
  readonly #loop: Loop;
  readonly #stored: ReadonlySet<Target>;
  /**
   * The values that are assigned to each variable in the loop; undefined for any other change to
   * the variable.
   */
  readonly #assigned = new Map<Part, (Expression | undefined)[]>();
  /** The members of variables that the loop names, by their names. */
  readonly #members = new Map<Target, Map<string, Member>>();
  /** The variables that the loop declares. Each iteration has new ones. */
  readonly #own = new Set<Target>();
  /** The functions that the loop calls. */
  readonly #called = new Set<FunctionDeclaration>();
  /** The atomic operations whose results are unused. */
  readonly #unused = new Set<Expression>();
  readonly #hasBarrier: boolean;
  /** The inputs of all conditions in the loop. */
  readonly #relevant: Sources = { carried: new Set(), memory: new Set() };

  constructor(program: Program, loop: Loop, stored: ReadonlySet<Target>) {
    this.#program = program;
    this.#loop = loop;
    this.#stored = stored;
    let hasBarrier = false;
    for (const part of this.#parts()) {
      walk(part, (node) => {
        this.#note(node);
        if (node.kind === "call" && /^workgroup/.test(atomicName(program, node))) hasBarrier = true;
      });
    }
    // Bodies add the functions that they call, which follow in this iteration.
    for (const { body } of this.#called) walk(body, (node) => this.#note(node));
    this.#hasBarrier = hasBarrier;
    const { carried, memory } = this.#relevant;
    for (let before = -1; before < carried.size + memory.size; ) {
      before = carried.size + memory.size;
      for (const condition of this.#deciding()) this.#collect(condition, this.#relevant);
      for (const each of [...carried])
        for (const value of this.#assigned.get(each) ?? []) if (value) this.#collect(value, this.#relevant);
    }
  }

  /**
   * Returns the memory that the loop waits for, or undefined for a loop that progresses by itself.
   */
  waitsFor(): GlobalVariable | undefined {
    const [variable] = this.#relevant.memory;
    return variable && this.#canStall() ? variable : undefined;
  }

  /** Returns the parts that each iteration executes: all but the initializer of a `for`. */
  #parts(): AnyNode[] {
    const loop = this.#loop;
    const all =
      loop.kind === "for"
        ? [loop.condition, loop.body, loop.update]
        : loop.kind === "while"
          ? [loop.condition, loop.body]
          : [loop.body, loop.continuing, loop.breakIf];
    return all.filter((part) => part !== null);
  }

  /**
   * Returns the conditions that decide if the loop ends, or if its known inputs change. The delay
   * of a loop that backs off decides neither.
   */
  #deciding(): Expression[] {
    const found: Expression[] = [];
    const loop = this.#loop;
    const collect = (part: AnyNode, isInside: boolean) => {
      const condition = conditionOf(part);
      const isBranch = isLoop(part) || part.kind === "if" || part.kind === "switch";
      const matters = isInside || !isBranch || this.#matters(part);
      if (condition && matters) found.push(condition);
      if (matters) forEachChild(part, (child) => collect(child, isInside || isLoop(part)));
    };
    for (const part of this.#parts()) collect(part, false);
    const end = endOf(loop);
    return end ? [end, ...found] : found;
  }

  /** Returns true if a branch or an inner loop may leave the loop, or change its inputs. */
  #matters(part: AnyNode): boolean {
    let matters = this.#progresses(part);
    const look = (node: AnyNode, isInside: boolean) => {
      if (node.kind === "return" || node.kind === "discard") matters = true;
      if ((node.kind === "break" || node.kind === "continue") && !isInside) matters = true;
      if ((node.kind === "assign" || node.kind === "increment") && node.target)
        matters ||= this.#isRelevantPlace(node.target);
      forEachChild(node, (child) => look(child, isInside || isLoop(node)));
    };
    look(part, false);
    return matters;
  }

  #note(node: AnyNode): void {
    if (node.kind === "let" || node.kind === "var") {
      this.#own.add(node);
      this.#assign(node, node.initializer ?? undefined);
    }
    if (node.kind === "assign" && node.target) {
      const part = this.#partOf(node.target);
      const isWhole = node.operator === "=" && this.#isNamed(node.target);
      this.#assign(part, isWhole ? node.value : undefined);
      if (!isWhole) this.#assign(part, node.value);
    }
    if (node.kind === "increment") this.#assign(this.#partOf(node.target), undefined);
    if (node.kind === "callStatement") this.#unused.add(node.call);
    if (node.kind !== "call") return;
    const callee = this.#program.targetOf(node.callee);
    if (callee?.kind !== "function") return;
    for (const arg of node.args)
      if (arg.kind === "unary" && arg.operator === "&") this.#assign(this.#partOf(arg), undefined);
    for (const [i, parameter] of callee.parameters.entries()) {
      this.#own.add(parameter);
      this.#assign(parameter, node.args[i]);
    }
    this.#called.add(callee);
  }

  /** Returns the part of a variable that a place, or a pointer to one, belongs to. */
  #partOf(place: Expression): Part | undefined {
    if (place.kind === "memberAccess" && place.base.kind === "identifier")
      return this.#memberOf(place) ?? this.#program.targetOf(place.base);
    if (place.kind === "index" || place.kind === "memberAccess") return this.#partOf(place.base);
    const root = rootIdentifier(place);
    return root && this.#program.targetOf(root);
  }

  /** Returns true if a place is a variable or a member of one, and no part of these. */
  #isNamed(place: Expression): boolean {
    return (
      place.kind === "identifier" || (place.kind === "memberAccess" && this.#memberOf(place) !== undefined)
    );
  }

  /** Returns the member of a function's variable, or undefined for any other access. */
  #memberOf({ base, member }: MemberExpression): Member | undefined {
    const target = base.kind === "identifier" ? this.#program.targetOf(base) : undefined;
    if (target?.kind !== "var") return undefined;
    const isVector = this.#program.valueTypeOf(base).kind === "vector";
    // A swizzle of several components is no single part.
    if (isVector && member.length > 1) return undefined;
    const name = isVector ? `${"xyzwrgba".indexOf(member) % 4}` : member;
    const members = this.#members.get(target) ?? new Map<string, Member>();
    this.#members.set(target, members);
    const known = members.get(name) ?? { kind: "member", of: target };
    members.set(name, known);
    return known;
  }

  /** Returns the parts that share memory with a part, and the part itself. */
  #overlapping(part: Part): Part[] {
    return part.kind === "member" ? [part, part.of] : [part, ...(this.#members.get(part)?.values() ?? [])];
  }

  #assign(part: Part | undefined, value: Expression | undefined): void {
    if (part) this.#assigned.set(part, [...(this.#assigned.get(part) ?? []), value]);
  }

  #sourcesOf(expression: Expression): Sources {
    const sources: Sources = { carried: new Set(), memory: new Set() };
    this.#collect(expression, sources);
    return sources;
  }

  /** Adds the inputs of a value to `sources`. */
  #collect(root: AnyNode, sources: Sources, seen = new Set<unknown>()): void {
    const visit = (node: AnyNode): void => {
      const member = node.kind === "memberAccess" ? this.#memberOf(node) : undefined;
      const part = node.kind === "identifier" ? this.#program.targetOf(node) : member;
      if (!member) forEachChild(node, visit);
      if (!part || seen.has(part)) return;
      seen.add(part);
      if (part.kind === "function")
        for (const fn of reachableFrom(this.#program, [part])) this.#collect(fn.body, sources, seen);
      if (part.kind === "globalVariable" && this.#isAwaited(part)) sources.memory.add(part);
      const isOwn = this.#own.has(part.kind === "member" ? part.of : part);
      for (const each of this.#overlapping(part)) {
        if (!isOwn && this.#assigned.has(each)) sources.carried.add(each);
        if (!isOwn) continue;
        for (const value of this.#assigned.get(each) ?? []) if (value) this.#collect(value, sources, seen);
      }
    };
    visit(root);
  }

  /** Returns true if other invocations may change a variable during an iteration. */
  #isAwaited(variable: GlobalVariable): boolean {
    const space = addressSpaceOf(variable);
    if (!this.#stored.has(variable)) return false;
    return space === "storage" || (space === "workgroup" && !this.#hasBarrier);
  }

  /** Returns true if an iteration can end without progress. */
  #canStall(): boolean {
    const loop = this.#loop;
    const condition = endOf(loop);
    if (condition && this.#progresses(condition)) return false;
    const after = loop.kind === "for" ? loop.update : loop.kind === "loop" ? loop.continuing : null;
    if (after && !this.#flow(after.kind === "block" ? after.statements : [after]).ends) return false;
    const { ends, continues } = this.#flow(loop.body.statements);
    return ends || continues;
  }

  /** Returns the ways in which control may leave statements without progress. */
  #flow(statements: readonly Statement[]): Flow {
    let [continues, breaks] = [false, false];
    const changed = (): Flow => ({ ends: false, continues, breaks, changes: true });
    const inside = (block: Block | readonly Statement[]) => {
      const flow = this.#flow("kind" in block ? block.statements : block);
      continues ||= flow.continues;
      return flow;
    };
    for (const statement of statements) {
      let ends: boolean;
      switch (statement.kind) {
        case "block": {
          const flow = inside(statement);
          breaks ||= flow.breaks;
          if (flow.changes) return changed();
          ends = flow.ends;
          break;
        }
        case "if": {
          const { condition, then, otherwise } = statement;
          if (this.#progresses(condition)) return changed();
          const flows = [inside(then), inside(otherwise ? [otherwise] : [])];
          breaks ||= flows.some((flow) => flow.breaks);
          // Invocations that meet at a barrier progress together.
          const areTogether = this.#hasBarrier && this.#allSourcesOf(condition).memory.size === 0;
          if (areTogether && flows.some((flow) => flow.changes)) return changed();
          ends = flows.some((flow) => flow.ends);
          break;
        }
        case "switch": {
          if (this.#progresses(statement.selector)) return changed();
          const flows = statement.clauses.map(({ body }) => inside(body));
          ends = flows.some((flow) => flow.ends || flow.breaks);
          break;
        }
        case "loop":
          ends = statement.breakIf !== null || this.#flow(statement.body.statements).breaks;
          break;
        case "for":
        case "while":
          ends = !(statement.condition && this.#progresses(statement.condition));
          break;
        case "break":
          return { ends: false, continues, breaks: true, changes: false };
        case "continue":
          return { ends: false, continues: true, breaks, changes: false };
        case "return":
        case "discard":
          return { ends: false, continues, breaks, changes: false };
        default:
          if (this.#progresses(statement)) return changed();
          ends = true;
      }
      if (!ends) return { ends: false, continues, breaks, changes: false };
    }
    return { ends: true, continues, breaks, changes: false };
  }

  /**
   * Returns true if a statement or expression without blocks changes the inputs of the loop's
   * conditions.
   */
  #progresses(part: AnyNode): boolean {
    let progresses = false;
    walk(part, (node) => {
      if ((node.kind === "assign" || node.kind === "increment") && node.target) {
        progresses ||= this.#advances(node, node.target);
      }
      if (node.kind === "call" && this.#changes(node)) progresses = true;
    });
    return progresses;
  }

  /** Returns true if an assignment changes an input other than by loading it again. */
  #advances(node: Assignment | Increment, place: Expression): boolean {
    const isSimple = node.kind === "assign" && node.operator === "=";
    return this.#isRelevantPlace(place) && !(isSimple && this.#isOnlyLoaded(node.value, this.#partOf(place)));
  }

  #isRelevant(part: Part): boolean {
    const { carried, memory } = this.#relevant;
    return carried.has(part) || (part.kind === "globalVariable" && memory.has(part));
  }

  /**
   * Returns true if a value is loaded from memory and does not depend on the variable that it is
   * assigned to. It then changes only after the memory or another input has changed.
   */
  #isOnlyLoaded(value: Expression, part: Part | undefined): boolean {
    const { carried, memory } = this.#allSourcesOf(value);
    return memory.size > 0 && !(part && this.#overlapping(part).some((each) => carried.has(each)));
  }

  /** Returns the inputs of a value, and those of the variables that it depends on. */
  #allSourcesOf(value: Expression): Sources {
    const sources = this.#sourcesOf(value);
    for (const each of sources.carried)
      for (const assigned of this.#assigned.get(each) ?? []) if (assigned) this.#collect(assigned, sources);
    return sources;
  }

  /** Returns true if a call changes memory or variables in a way that is progress. */
  #changes(call: CallExpression): boolean {
    const callee = this.#program.targetOf(call.callee);
    if (callee?.kind === "function") {
      const passesOn = call.args.some(
        (arg) => arg.kind === "unary" && arg.operator === "&" && this.#isRelevantPlace(arg),
      );
      return passesOn || [...reachableFrom(this.#program, [callee])].some((fn) => this.#changesIn(fn, call));
    }
    if (!isAtomic(this.#program, call)) return false;
    return this.#operates(call, this.#unused.has(call), (comparand) => {
      const { carried, memory } = this.#sourcesOf(comparand);
      return carried.size + memory.size > 0;
    });
  }

  #isRelevantPlace(place: Expression): boolean {
    const part = this.#partOf(place);
    return part !== undefined && this.#overlapping(part).some((each) => this.#isRelevant(each));
  }

  /** Returns true if a called function changes memory in a way that is progress. */
  #changesIn(fn: FunctionDeclaration, call: CallExpression): boolean {
    const given = call.args.some((arg) => {
      const { carried, memory } = this.#sourcesOf(arg);
      return carried.size + memory.size > 0;
    });
    const unused = new Set<Expression>();
    let changes = false;
    walk(fn.body, (node) => {
      if (node.kind === "callStatement") unused.add(node.call);
      if ((node.kind === "assign" || node.kind === "increment") && node.target)
        changes ||= this.#advances(node, node.target);
      if (node.kind !== "call" || !isAtomic(this.#program, node)) return;
      // A value that is neither constant nor computed from unchanged arguments comes from memory.
      const varies = (comparand: Expression) => {
        let isFixed = !given;
        walk(comparand, (part) => {
          const target = part.kind === "identifier" ? this.#program.targetOf(part) : undefined;
          if (target?.kind === "let" || target?.kind === "var") isFixed = false;
        });
        return !isFixed && this.#program.stageOf(comparand) === "runtime";
      };
      changes ||= this.#operates(node, unused.has(node), varies);
    });
    return changes;
  }

  /** Returns true if an atomic operation changes memory such that some invocation progresses. */
  #operates(call: CallExpression, isUnused: boolean, varies: (comparand: Expression) => boolean): boolean {
    const [place, operand] = call.args;
    const isRelevant = place !== undefined && this.#isRelevantPlace(place);
    switch (atomicName(this.#program, call)) {
      case "atomicLoad":
        return false;
      case "atomicStore":
        return isRelevant;
      case "atomicAdd":
      case "atomicSub":
      case "atomicXor":
        return !(operand && isZero(this.#program, operand)) && isRelevant;
      case "atomicCompareExchangeWeak":
        return operand !== undefined && varies(operand);
      default:
        // Repeating these operations changes nothing more. If the result is used, the loop waits
        // for it.
        return isUnused && isRelevant;
    }
  }
}

/** Returns the condition on which a loop ends or goes on. */
const endOf = (loop: Loop): Expression | null => (loop.kind === "loop" ? loop.breakIf : loop.condition);

/** Returns the value on which a branch or a loop decides. */
function conditionOf(node: AnyNode): Expression | null {
  if (node.kind === "switch") return node.selector;
  if (node.kind === "if") return node.condition;
  return isLoop(node) ? endOf(node) : null;
}

function isZero(program: Program, operand: Expression): boolean {
  const constant = program.constantOf(operand);
  return constant !== undefined && "value" in constant && Number(constant.value) === 0;
}
