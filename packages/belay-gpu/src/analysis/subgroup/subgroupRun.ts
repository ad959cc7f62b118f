/** Simulates one subgroup of a kernel: executes its source once with invented memory contents. */
import type { Block, Expression, FunctionDeclaration, IfStatement, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { builtinValueOf } from "../builtinValueOf.ts";
import { assumedTrips, tripsOf } from "../loopTrips.ts";
import { workgroupSize } from "../workgroupSize.ts";
import { LaneEvaluator } from "./laneEvaluator.ts";
import type { LaneAccess, LaneMemory } from "./laneMemory.ts";
import { allLanes, eachLane, isGuess, type LaneValue, laneCount, unknown } from "./laneValues.ts";

/** The operations and accesses of a simulated subgroup. */
export interface SubgroupRun {
  /** The integer operations of one invocation on 32-bit words. A division counts as several. */
  readonly integerOperations: number;
  /**
   * The floating-point operations of one invocation. A transcendental function counts as several.
   */
  readonly floatOperations: number;
  readonly accesses: readonly LaneAccess[];
}

/** The options of a simulation. */
export interface RunOptions {
  /**
   * Returns true for functions that are hardly ever called. Blocks that call one as a statement are
   * skipped as well.
   */
  readonly isCold?: (fn: FunctionDeclaration) => boolean;
  /** The workgroup index of the subgroup's first lane. Default 0. */
  readonly first?: number;
}

/**
 * Simulates the first subgroup of a workgroup and the middle one, if there is one. In a reduction,
 * the first subgroup does more work than the others.
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
 * Simulates one subgroup of an entry point. Of each loop, it executes some iterations, which stand
 * for the others. A branch is executed with the lanes that take it. If an invented value would send
 * all lanes to the same side, both sides are executed.
 */
export function runSubgroup(
  program: Program,
  kernel: FunctionDeclaration,
  { isCold = () => false, first = 0 }: RunOptions = {},
): SubgroupRun {
  return new Run(program, kernel, isCold, first).result();
}

/** Returns the size of a workgroup; dimensions that an override decides count as one. */
function sizeOf(program: Program, kernel: FunctionDeclaration): [number, number, number] {
  const [x = 1, y = 1, z = 1] = workgroupSize(program, kernel);
  return [x, y, z];
}

/** The largest number of iterations that are executed of an outer loop. */
const mostTrips = 16;
/** The largest number of iterations that are executed of a loop inside a loop. */
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
      parameters.map(({ attributes }) => this.#builtin(builtinValueOf(attributes))),
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
        // A body that ends in a `break` is a block that can be left early.
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
   * Executes a loop while a lane is active, up to a limit; the executed iterations then stand for
   * all. The first iteration is always executed if invented memory decides.
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

/** The index of the simulated workgroup: not the first, as that one is special in many kernels. */
const workgroup = 1;
/** The assumed number of workgroups. */
const workgroups = 2 ** 12;

/** Returns a built-in value for the lanes from index `first` on in a workgroup of size `x`, `y`. */
function builtinValue(name: string, [x, y]: readonly [number, number, number], first: number): LaneValue {
  const index = eachLane((lane) => first + lane);
  const local = [
    eachLane((lane) => index[lane]! % x),
    eachLane((lane) => Math.floor(index[lane]! / x) % y),
    eachLane((lane) => Math.floor(index[lane]! / x / y)),
  ];
  switch (name) {
    case "local_invocation_index":
      return [index];
    case "local_invocation_id":
      return local;
    case "global_invocation_id":
      return local.map((lanes, i) => (i === 0 ? eachLane((lane) => workgroup * x + lanes[lane]!) : lanes));
    case "workgroup_id":
      return [workgroup, 0, 0].map(allLanes);
    case "num_workgroups":
      return [workgroups, workgroups, 1].map(allLanes);
    case "subgroup_invocation_id":
      return [eachLane((lane) => lane)];
    case "subgroup_size":
      return [allLanes(laneCount)];
    default:
      return unknown;
  }
}
