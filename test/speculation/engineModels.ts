/**
 * Models of the engines' rules, without a GPU: the decision of each phase from the results of
 * earlier phases. A phase visits iterations in a given order, because a GPU may run them in any
 * order.
 */
import {
  type AbstractLoop,
  apply,
  execute,
  initialState,
  type Log,
  leaveNote,
  type State,
} from "./abstractLoops.ts";

export interface ModelConditions {
  /** The largest number of iterations of one round. */
  readonly window: number;
  /**
   * The order in which a phase visits the iterations of a window, given as ranks below `window`.
   */
  readonly order: readonly number[];
}

export interface ModelOutcome {
  readonly state: State;
  readonly rounds: number;
  /** The number of executions of iterations beyond the first one each. */
  readonly reexecutions: number;
}

export type EngineModel = (loop: AbstractLoop, conditions: ModelConditions) => ModelOutcome;

const none = -1;

/** Returns the iterations of a window, in the order in which a phase visits them. */
const visited = ({ order }: ModelConditions, first: number, last: number) =>
  order.map((rank) => first + rank).filter((i) => i < last);

const fromSnapshot = (state: State) => ({ load: (element: number) => state.values[element]!, state });

/** Returns the members of a set of up to eight that is a bit mask. */
const memberLists = Array.from({ length: 256 }, (_, mask) =>
  Array.from({ length: 8 }, (_, member) => member).filter((member) => (mask >> member) & 1),
);
const membersOf = (mask: number) => memberLists[mask]!;

/** Returns the first of the chosen iterations that ends the loop. */
function firstEnd(logs: readonly Log[], chosen: (log: Log) => boolean, otherwise: number): number {
  let end = otherwise;
  for (const log of logs) if (log.endsLoop && chosen(log)) end = Math.min(end, log.iteration);
  return end;
}

/**
 * The default engine's log: commits the iterations before the first that read an element which an
 * earlier one wrote.
 */
export const prefixCommit: EngineModel = (loop, conditions) => {
  const state = initialState(loop);
  const count = loop.iterations.length;
  let [first, rounds, executions] = [0, 0, 0];
  let committed = 0;
  while (first < count) {
    const last = Math.min(first + conditions.window, count);
    const iterations = visited(conditions, first, last);
    const logs = iterations.map((i) => execute(loop, i, fromSnapshot(state)));
    executions += logs.length;
    rounds++;

    const firstWriter = new Array<number>(loop.elements).fill(count);
    for (const { iteration, written } of logs) {
      for (const e of membersOf(written)) {
        firstWriter[e] = Math.min(firstWriter[e]!, iteration);
      }
    }
    let bad = last;
    for (const { iteration, read, named } of logs) {
      for (const e of membersOf(read)) {
        if (firstWriter[e]! < iteration) bad = Math.min(bad, iteration);
      }
      for (const i of membersOf(named)) {
        if (i > first) bad = Math.min(bad, i);
      }
    }
    const end = firstEnd(logs, () => true, count);
    const commits = logs.filter(({ iteration }) => iteration < bad && iteration <= end);
    const lastWriter = new Array<number>(loop.elements).fill(none);
    for (const { iteration, written } of commits) {
      for (const e of membersOf(written)) {
        lastWriter[e] = Math.max(lastWriter[e]!, iteration);
      }
    }
    for (const log of commits) {
      let wins = 0;
      for (const e of membersOf(log.written)) {
        if (lastWriter[e] === log.iteration) wins |= 1 << e;
      }
      apply(state, log, wins);
    }
    committed += commits.length;
    if (end < bad) break;
    first = bad;
  }
  return { state, rounds, reexecutions: executions - committed };
};

/**
 * Execution in place of the iterations before the first that depends on an earlier one in any way,
 * found with marks of first writers. The model requires accesses that do not depend on values, and
 * no branches that misspeculate or end.
 */
export const inPlace: EngineModel = (loop, conditions) => {
  const state = initialState(loop);
  const count = loop.iterations.length;
  let [first, rounds, looked] = [0, 0, 0];
  while (first < count) {
    const last = Math.min(first + conditions.window, count);
    const iterations = visited(conditions, first, last);
    const accesses = iterations.map((i) => execute(loop, i, fromSnapshot(state)));
    looked += iterations.length;
    rounds++;
    const firstWriter = new Array<number>(loop.elements).fill(none);
    let cut = last;
    for (const { iteration, written } of accesses) {
      for (const e of membersOf(written)) {
        const before = firstWriter[e]!;
        if (before !== none) cut = Math.min(cut, Math.max(before, iteration));
        firstWriter[e] = before === none ? iteration : Math.min(before, iteration);
      }
    }
    for (const { iteration, read } of accesses) {
      for (const e of membersOf(read)) {
        const writer = firstWriter[e]!;
        if (writer !== none && writer !== iteration) cut = Math.min(cut, Math.max(writer, iteration));
      }
    }
    for (const i of iterations) if (i < cut) apply(state, execute(loop, i, fromSnapshot(state)));
    first = cut;
  }
  return { state, rounds, reexecutions: looked - count };
};

/**
 * Commits past conflicts: an iteration commits if it holds every element that it accesses against
 * the earlier remaining ones. The model requires accesses that do not depend on values, and no
 * branches that misspeculate or end.
 * Source: Blelloch, Fineman, Gibbons, Shun, "Internally deterministic parallel algorithms can be
 * fast", 2012, section 4.
 */
export const reservations: EngineModel = (loop, conditions) => {
  const state = initialState(loop);
  const count = loop.iterations.length;
  let [rounds, executions] = [0, 0];
  let left = loop.iterations.map((_, i) => i);
  while (left.length > 0) {
    const candidates = left.slice(0, conditions.window);
    const logs = conditions.order
      .filter((rank) => rank < candidates.length)
      .map((rank) => execute(loop, candidates[rank]!, fromSnapshot(state)));
    executions += logs.length;
    rounds++;
    const firstWriter = new Array<number>(loop.elements).fill(count);
    const firstAccess = new Array<number>(loop.elements).fill(count);
    for (const { iteration, read, written } of logs) {
      for (const e of membersOf(written)) {
        firstWriter[e] = Math.min(firstWriter[e]!, iteration);
      }
      for (const e of membersOf(read | written)) {
        firstAccess[e] = Math.min(firstAccess[e]!, iteration);
      }
    }
    const done = new Set<number>();
    for (const log of logs) {
      let holds = true;
      for (const e of membersOf(log.read)) {
        holds &&= firstWriter[e]! >= log.iteration;
      }
      for (const e of membersOf(log.written)) {
        holds &&= firstAccess[e]! >= log.iteration;
      }
      if (!holds) continue;
      apply(state, log);
      done.add(log.iteration);
    }
    left = left.filter((i) => !done.has(i));
  }
  return { state, rounds, reexecutions: executions - count };
};

/** The rules that {@link multiVersionWithout} leaves out. */
export interface BrokenMultiVersion {
  /** True to commit iterations after more writers of an element than there are versions. */
  readonly ignoresWriters?: boolean;
  /** True to validate iterations that did not see the versions of all writers. */
  readonly ignoresMissingVersions?: boolean;
  /** True to commit iterations that still change. */
  readonly commitsChanges?: boolean;
  /** True to keep the first writer's store in place of the last one's. */
  readonly keepsFirst?: boolean;
}

/**
 * Multi-versioning: executes the iterations of a window again and again. Each sees the store of the
 * last earlier writer in the previous round, among an element's first `versions` writers.
 * Iterations are committed up to the first whose stores changed. The model requires no branches
 * that misspeculate.
 */
export function multiVersionWithout(broken: BrokenMultiVersion, versions = 1): EngineModel {
  return (loop, conditions) => {
    const state = initialState(loop);
    const count = loop.iterations.length;
    let [first, rounds, executions] = [0, 0, 0];
    let before: Log[] = [];
    let validLimit = count;
    const writersIn = (inOrder: readonly Log[], e: number) =>
      inOrder.filter(({ written }) => (written >> e) & 1);
    const isSame = (one: Log, other: Log | undefined) =>
      one.written === (other?.written ?? 0) &&
      membersOf(one.written).every((e) => one.values[e] === other!.values[e]);
    while (first < count) {
      const last = Math.min(first + conditions.window, count);
      const known: Log[][] = [];
      for (let e = 0; e < loop.elements; e++) known.push(writersIn(before, e).slice(0, versions));
      const logs = visited(conditions, first, last).map((i) =>
        execute(loop, i, {
          load: (e) => known[e]!.findLast(({ iteration }) => iteration < i)?.values[e] ?? state.values[e]!,
          state,
        }),
      );
      executions += logs.length;
      rounds++;
      logs.sort((a, b) => a.iteration - b.iteration);
      let [changed, extra] = [count, count];
      for (const log of logs) {
        const same = before.find(({ iteration }) => iteration === log.iteration);
        if (!isSame(log, same)) changed = Math.min(changed, log.iteration);
      }
      for (let e = 0; e < loop.elements; e++)
        extra = Math.min(extra, writersIn(logs, e)[versions]?.iteration ?? count);
      const end = firstEnd(logs, () => true, count);
      const limit = Math.min(
        last,
        end + 1,
        broken.commitsChanges ? count : changed + 1,
        broken.ignoresWriters ? count : extra,
        broken.ignoresMissingVersions ? count : validLimit,
      );
      before = logs;
      const committed = logs.filter(({ iteration }) => iteration < limit);
      for (const log of broken.keepsFirst ? committed.reverse() : committed) apply(state, log);
      validLimit = extra + 1;
      first = limit;
      if (limit === end + 1) break;
    }
    return { state, rounds, reexecutions: executions - first };
  };
}

export const multiVersion = multiVersionWithout({});
export const twiceMultiVersion = multiVersionWithout({}, 2);

/**
 * The published rules as printed. A write leaves its iteration's stamp, and an iteration that meets
 * another's stamp is marked. The others commit, and the marked ones run again, in order, on the
 * resulting memory. The rules are unsound, and kept to show it.
 */
export const publishedAsPrinted: EngineModel = (loop, conditions) => {
  const state = initialState(loop);
  const count = loop.iterations.length;
  let reexecutions = 0;
  let rounds = 0;
  for (let first = 0; first < count; first += conditions.window) {
    const last = Math.min(first + conditions.window, count);
    const logs = visited(conditions, first, last).map((i) => execute(loop, i, fromSnapshot(state)));
    rounds++;
    const stamp = new Array<number>(loop.elements).fill(none);
    for (const { iteration, written } of logs) {
      for (const e of membersOf(written)) {
        stamp[e] = iteration;
      }
    }
    let marked = 0;
    for (const { iteration, read, written, named } of logs) {
      for (const e of membersOf(read | written)) {
        if (stamp[e] !== none && stamp[e] !== iteration) marked |= 1 << iteration;
      }
      marked |= named;
    }
    for (const log of logs) if (!((marked >> log.iteration) & 1)) apply(state, log);
    for (let i = first; i < last; i++) {
      if (!((marked >> i) & 1)) continue;
      apply(state, execute(loop, i, fromSnapshot(state)));
      reexecutions++;
    }
  }
  return { state, rounds, reexecutions };
};

/** The rules that {@link published} leaves out, to show that each is needed. */
export interface Broken {
  /**
   * True to mark only iterations that meet the last writer's stamp, and not all iterations at an
   * element that is written and shared.
   */
  readonly marksOneSide?: boolean;
  /** True to let re-executed iterations see the stores of later ones. */
  readonly seesLater?: boolean;
  /** True to skip the search for iterations that a re-execution makes wrong. */
  readonly cascadesNot?: boolean;
}

/**
 * The published engine, made sound.
 * An element that is written and accessed by two iterations marks them both. Unmarked iterations
 * are therefore independent of each other, and each element has at most one unmarked writer. The
 * marked iterations run again, in order. For them an element has two versions, before and after its
 * unmarked writer. If one of them writes an element that a later unmarked one read, or names that
 * iteration, the later one is marked too. Then the unmarked ones commit. If any iteration, right or
 * wrong, ends the loop or names all later ones, the round ends.
 */
export function publishedWithout(broken: Broken): EngineModel {
  return (loop, conditions) => {
    const state = initialState(loop);
    const count = loop.iterations.length;
    let [first, rounds, reexecutions, ended] = [0, 0, 0, false];
    while (first < count && !ended) {
      const last = Math.min(first + conditions.window, count);
      const logs = visited(conditions, first, last).map((i) => execute(loop, i, fromSnapshot(state)));
      rounds++;
      let stop = last;
      const stopAfter = ({ endsLoop, namesAll, iteration }: Log) => {
        if (endsLoop || namesAll) stop = Math.min(stop, iteration + 1);
      };
      for (const log of logs) stopAfter(log);
      let marked = markConflicts(loop, logs, broken);
      const isMarked = (i: number) => ((marked >> i) & 1) !== 0;

      const writer = new Array<Log | undefined>(loop.elements).fill(undefined);
      const lastReader = new Array<number>(loop.elements).fill(none);
      for (const log of logs) {
        if (isMarked(log.iteration)) continue;
        for (const e of membersOf(log.written)) writer[e] = log;
        for (const e of membersOf(log.read)) lastReader[e] = Math.max(lastReader[e]!, log.iteration);
        leaveNote(state, log);
      }
      /** An unmarked iteration proves wrong. For the others it has not run. */
      const mark = (log: Log) => {
        marked |= 1 << log.iteration;
        for (const e of membersOf(log.written)) if (writer[e] === log) writer[e] = undefined;
        state.noted[log.iteration] = 0;
      };

      for (let i = first; i < stop; i++) {
        if (!isMarked(i)) continue;
        reexecutions++;
        const version = (e: number) =>
          writer[e] && (writer[e].iteration < i || broken.seesLater) ? writer[e] : state;
        const log = execute(loop, i, {
          load: (e) => version(e).values[e]!,
          store: (e, value) => {
            version(e).values[e] = value;
          },
          state,
        });
        leaveNote(state, log);
        stopAfter(log);
        ended = log.endsLoop;
        const wronged = membersOf(log.written).some((e) => lastReader[e]! > i);
        if ((!wronged && log.named === 0) || broken.cascadesNot) continue;
        for (const later of logs) {
          const affected = later.read & log.written || (log.named >> later.iteration) & 1;
          if (later.iteration > i && !isMarked(later.iteration) && affected) mark(later);
        }
      }
      for (const log of logs) {
        if (log.iteration >= stop) state.noted[log.iteration] = 0;
        else if (!isMarked(log.iteration)) {
          apply(state, log);
          if (log.iteration === stop - 1) ended = log.endsLoop;
        }
      }
      first = stop;
    }
    return { state, rounds, reexecutions };
  };
}

export const published = publishedWithout({});

/** Returns the iterations, as bits, that share a written element, or that a branch names. */
function markConflicts(loop: AbstractLoop, logs: readonly Log[], broken: Broken): number {
  const firstAccess = new Array<number>(loop.elements).fill(loop.iterations.length);
  const lastAccess = new Array<number>(loop.elements).fill(none);
  const lastWriter = new Array<number>(loop.elements).fill(none);
  for (const { iteration, read, written } of logs) {
    for (const e of membersOf(read | written)) {
      firstAccess[e] = Math.min(firstAccess[e]!, iteration);
      lastAccess[e] = Math.max(lastAccess[e]!, iteration);
    }
    for (const e of membersOf(written)) {
      lastWriter[e] = Math.max(lastWriter[e]!, iteration);
    }
  }
  let marked = 0;
  for (const { iteration, read, written, named } of logs) {
    for (const e of membersOf(read | written)) {
      const wrong = broken.marksOneSide ? lastWriter[e]! !== iteration : firstAccess[e]! < lastAccess[e]!;
      if (lastWriter[e]! !== none && wrong) marked |= 1 << iteration;
    }
    marked |= named;
  }
  return marked;
}
