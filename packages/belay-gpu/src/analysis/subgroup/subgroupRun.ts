/**
 * What one subgroup of a kernel does: its text is run once, with integers that memory might hold.
 */
import type { Block, Expression, FunctionDeclaration, IfStatement, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { builtinOf } from "../builtinOf.ts";
import { assumedTrips, tripsOf } from "../loopTrips.ts";
import { workgroupSize } from "../workgroupSize.ts";
import { builtinValue } from "./laneBuiltins.ts";
import { LaneEvaluator } from "./laneEvaluator.ts";
import type { LaneAccess, LaneMemory } from "./laneMemory.ts";
import { isGuess, type LaneValue, laneCount, unknown } from "./laneValues.ts";

export interface SubgroupRun {
  /**
   * Of an invocation, on words of 32 bits, a division or a transcendental function counting as
   * many.
   */
  readonly integerOperations: number;
  readonly floatOperations: number;
  readonly accesses: readonly LaneAccess[];
}

export interface RunOptions {
  /** Functions that are hardly ever called: neither are blocks that call one by itself. */
  readonly isCold?: (fn: FunctionDeclaration) => boolean;
  /** The index in the workgroup of its first lane; default 0. */
  readonly first?: number;
}

/**
 * Runs the first subgroup of a workgroup and the one in its middle, if there is one: where a
 * workgroup adds up, the first has more to do than the others.
 */
export function runSubgroups(
  program: Program,
  kernel: FunctionDeclaration,
  options: Pick<RunOptions, "isCold"> = {},
): SubgroupRun[] {
  const [x, y, z] = sizeOf(program, kernel);
  const middle = Math.floor((x * y * z) / laneCount / 2) * laneCount;
  return [...new Set([0, middle])].map((first) => runSubgroup(program, kernel, { ...options, first }));
}

/**
 * Runs an entry point, and the first trips of each loop, which stand for the others. Branches are
 * taken by the lanes that would; where all lanes would take the same side because of what memory
 * holds, both are run.
 */
export function runSubgroup(
  program: Program,
  kernel: FunctionDeclaration,
  { isCold = () => false, first = 0 }: RunOptions = {},
): SubgroupRun {
  return new Run(program, kernel, isCold, first).result();
}

/** What an override decides counts as one. */
function sizeOf(program: Program, kernel: FunctionDeclaration): [number, number, number] {
  const [x = 1, y = 1, z = 1] = workgroupSize(program, kernel);
  return [x, y, z];
}

/** Most trips that are run of a loop, and of one within another. */
const mostTrips = 16;
const mostInnerTrips = 4;

class Run {
  readonly #program: Program;
  readonly #kernel: FunctionDeclaration;
  readonly #isCold: (fn: FunctionDeclaration) => boolean;
  readonly #builtin: (name: string) => LaneValue;
  readonly #lanes: LaneEvaluator;
  readonly #memory: LaneMemory;
  #depth = 0;
  #trips = 0;
  #returned: LaneValue = unknown;

  constructor(
    program: Program,
    kernel: FunctionDeclaration,
    isCold: (fn: FunctionDeclaration) => boolean,
    first: number,
  ) {
    this.#program = program;
    this.#kernel = kernel;
    this.#isCold = isCold;
    const size = sizeOf(program, kernel);
    this.#builtin = (name) => builtinValue(name, size, first);
    this.#lanes = new LaneEvaluator({
      program,
      builtin: this.#builtin,
      call: (fn, args) => (isCold(fn) ? unknown : this.#call(fn, args)),
    });
    this.#memory = this.#lanes.memory;
  }

  result(): SubgroupRun {
    const { parameters } = this.#kernel;
    this.#call(
      this.#kernel,
      parameters.map(({ attributes }) => this.#builtin(builtinOf(attributes))),
    );
    const { integerOperations, floatOperations, memory } = this.#lanes;
    return { integerOperations, floatOperations, accesses: memory.accesses };
  }

  #call(fn: FunctionDeclaration, args: readonly LaneValue[]): LaneValue {
    fn.parameters.forEach((parameter, i) => {
      this.#lanes.declare(parameter, args[i]!);
    });
    const outer = this.#returned;
    this.#returned = unknown;
    this.#block(fn.body);
    const returned = this.#returned;
    this.#returned = outer;
    return returned;
  }

  #block({ statements }: Block): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case "block":
        this.#block(statement);
        return;
      case "let":
      case "var":
        this.#lanes.declare(
          statement,
          statement.initializer ? this.#lanes.value(statement.initializer) : unknown,
        );
        return;
      case "assign":
        this.#lanes.assign(statement);
        return;
      case "increment":
        this.#lanes.increment(statement.target, statement.operator === "++" ? 1 : -1);
        return;
      case "callStatement":
        this.#lanes.value(statement.call);
        return;
      case "if":
        this.#branch(statement);
        return;
      case "switch":
        this.#lanes.value(statement.selector);
        for (const { body } of statement.clauses) this.#block(body);
        return;
      case "loop":
        // A body that breaks off at its end is a block to leave early.
        if (statement.body.statements.at(-1)?.kind === "break") {
          this.#block(statement.body);
          return;
        }
        this.#repeat(assumedTrips, null, () => {
          this.#block(statement.body);
          if (statement.continuing) this.#block(statement.continuing);
          if (statement.breakIf) this.#lanes.value(statement.breakIf);
        });
        return;
      case "for":
        if (statement.initializer) this.#statement(statement.initializer);
        this.#repeat(tripsOf(this.#program, statement), statement.condition, () => {
          this.#block(statement.body);
          if (statement.update) this.#statement(statement.update);
        });
        return;
      case "while":
        this.#repeat(assumedTrips, statement.condition, () => this.#block(statement.body));
        return;
      case "return": {
        const value = statement.value ? this.#lanes.value(statement.value) : unknown;
        if (this.#returned.length === 0) this.#returned = value;
        return;
      }
      default:
        return;
    }
  }

  #branch({ condition, then, otherwise }: IfStatement): void {
    const [value] = this.#lanes.value(condition);
    const divides = value?.some((each) => each !== value[0]);
    const isKnown = value && (divides || !isGuess(value));
    const where = (isTaken: boolean, side: () => void) => {
      const active = this.#memory.active;
      if (isKnown) this.#memory.active = active.map((each, lane) => each && (value[lane] !== 0) === isTaken);
      if (this.#memory.active.includes(true)) side();
      this.#memory.active = active;
    };
    const isCold = then.statements.some((each) => {
      const target = each.kind === "callStatement" && this.#program.targetOf(each.call.callee);
      return target && target.kind === "function" && this.#isCold(target);
    });
    if (!isCold) where(true, () => this.#block(then));
    if (otherwise) where(false, () => this.#statement(otherwise));
  }

  /**
   * Runs a loop while a lane goes on; where that takes too many trips, some stand for all. Its
   * first trip is always run where memory decides.
   */
  #repeat(trips: number, condition: Expression | null, body: () => void): void {
    const [lanes, memory] = [this.#lanes, this.#memory];
    const [outer, active] = [memory.trip, memory.active];
    const runs = Math.min(trips, [mostTrips, mostInnerTrips][this.#depth++] ?? 1);
    const end = lanes.repeatedly(trips / runs);
    let run = 0;
    for (; run < runs && memory.active.includes(true); run++) {
      memory.trip = ++this.#trips;
      const [goesOn] = condition ? lanes.value(condition) : [];
      const isOver = goesOn?.every((each) => each === 0) ?? false;
      if (isOver && (run > 0 || !isGuess(goesOn!))) break;
      if (goesOn && !isOver) memory.active = memory.active.map((each, lane) => each && goesOn[lane] !== 0);
      body();
    }
    end(run === runs);
    this.#depth--;
    [memory.trip, memory.active] = [outer, active];
  }
}
