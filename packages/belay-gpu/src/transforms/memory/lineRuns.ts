/**
 * Rewrites loads from lines so that consecutive ones are checked together, and stores to lines so
 * that consecutive ones encode their check words together.
 *
 * Before:   let x = a[i] + a[i + 64];   b[i] = x;   b[i + 64] = y;
 * After:    let n = note_1(i);
 *           let m = note_1(i + 64);
 *           bad |= u32(is_wrong_2(array(n.part, m.part), array(n.number, m.number)));
 *           bad |= u32(!in_order(n.piece));
 *           if (bad != 0) { … }
 *           let together = in_order(piece_1(i)) & subgroupAll(fits_1(i) & fits_1(i + 64));
 *           if (together) {
 *             let p = put_1(i, x);
 *             let q = put_1(i + 64, y);
 *             keep_2(array(p.x, q.x), array(p.y, q.y));
 *           } else { store_1(i, x); store_1(i + 64, y); }
 */
import type { CallExpression, Expression, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { ArenaAccess } from "./checkWords.ts";
import type { FindingFunctions } from "./findingFunctions.ts";
import type { LineAccess, LineAccessFunctions } from "./lineAccess.ts";
import type { LineSums } from "./lineSums.ts";

/** A speculative load of a piece of a line. */
export interface NotedLoad extends LineAccess {
  /** The name of the variable of the value. */
  readonly name: string;
  readonly note: Expression;
  /** The load that is executed again after an error. */
  readonly load: Expression;
}

/** A store to a piece of a line, as calls of the functions that execute parts of it. */
interface LineStore extends LineAccess {
  readonly piece: Expression;
  readonly fits: Expression;
  readonly put: Expression;
  /**
   * The contribution of the piece before the store. Undefined if the store replaces the whole
   * piece.
   */
  readonly kept: Expression | undefined;
  /** The store by a lane that works alone. */
  readonly alone: CallExpression;
}

/** The functions that a kernel's line accesses call. */
export interface LineRunsOptions {
  readonly sums: LineSums;
  readonly access: LineAccessFunctions;
  readonly findings: FindingFunctions;
  readonly arena: ArenaAccess;
}

/** The line accesses of one kernel. */
export class LineRuns {
  readonly #names: Names;
  readonly #options: LineRunsOptions;
  readonly #stores = new Map<Statement, LineStore>();

  constructor(names: Names, options: LineRunsOptions) {
    this.#names = names;
    this.#options = options;
  }

  /**
   * Returns the line access of a load and the call that notes it, or undefined if lanes do not load
   * a line together.
   */
  note(
    expression: Expression,
    args: readonly Expression[],
  ): (LineAccess & Pick<NotedLoad, "note">) | undefined {
    const { access } = this.#options;
    const line = access.of(expression);
    return (
      line && { ...line, note: quote(expression.span).expression`${access.note(expression).name}(${args})` }
    );
  }

  /** Remembers the store of a statement if lanes store a line together. */
  remember(statement: Statement, target: Expression, args: readonly Expression[]): void {
    const { access } = this.#options;
    const line = access.of(target);
    if (!line || statement.kind !== "callStatement") return;
    const { expression } = quote(target.span);
    const call = (name: string, own: readonly Expression[]) => expression`${name}(${structuredClone(own)})`;
    const kept = access.kept(target);
    this.#stores.set(statement, {
      ...line,
      kept: kept && call(kept.name, args.slice(0, -1)),
      piece: call(access.pieceOf(target).name, args.slice(0, -1)),
      fits: call(access.fits(target).name, args.slice(0, -1)),
      put: call(access.put(target).name, args),
      alone: statement.call,
    });
  }

  /** Returns statements that execute speculative loads and check all of them together. */
  noted(loads: readonly NotedLoad[]): Statement[] {
    const { sums, findings, arena } = this.#options;
    const bad = findings.bad();
    const notes = new Map(loads.map((load) => [load, this.#names.fresh("noted")]));
    const orders = new Map(loads.map((load) => [load.order, load]));
    return [
      ...loads.flatMap((load) => quote(load.note.span).statements`let ${notes.get(load)!} = ${load.note};`),
      ...loads.flatMap((load) => quote().statements`var ${load.name} = ${notes.get(load)!}.value;`),
      ...batches(loads).flatMap((batch) => {
        const list = (part: string) =>
          `array<u32, ${batch.length}>(${batch.map((load) => `${notes.get(load)!}.${part}`).join(", ")})`;
        const isWrong = sums.isWrong(batch[0]!.pieces, batch.length, arena);
        return quote().statements`${bad} |= u32(${isWrong}(${list("part")}, ${list("number")}));`;
      }),
      ...[...orders.values()].flatMap(
        (load) =>
          quote().statements`${bad} |= u32(!${sums.inOrder(load.pieces)}(${notes.get(load)!}.piece));`,
      ),
    ];
  }

  /**
   * Returns statements that call one function with different arguments, in a loop. They run only
   * after an error. A loop takes few instructions and registers, which the rest of the kernel would
   * lack.
   */
  #inLoop(calls: readonly CallExpression[]): Statement[] {
    const [first] = calls;
    if (calls.length === 1) return quote().statements`${first!};`;
    const i = this.#names.fresh("i");
    const lists = first!.args.map((_, at) => ({
      name: this.#names.fresh("list"),
      values: calls.map(({ args }) => args[at]!),
    }));
    const args = lists.map(({ name }) => quote().expression`${name}[${i}]`);
    return [
      ...lists.flatMap(({ name, values }) => quote().statements`var ${name} = array(${values});`),
      ...quote()
        .statements`for (var ${i} = 0u; ${i} < ${`${calls.length}u`}; ${i}++) { ${{ ...first!, args }}; }`,
    ];
  }

  /**
   * Returns the statements of a block in which consecutive stores encode their check words
   * together. `pure` declarations between the stores move before them: a kernel never loads lines
   * that it stores.
   */
  stored(statements: readonly Statement[], pure: ReadonlySet<Statement>): Statement[] {
    const result: Statement[] = [];
    let run: Statement[] = [];
    const close = () => {
      result.push(...this.#run(run));
      run = [];
    };
    for (const statement of statements) {
      const isStore = this.#stores.has(statement);
      if (!isStore && !pure.has(statement)) close();
      if (isStore || run.length > 0) run.push(statement);
      else result.push(statement);
    }
    close();
    return result;
  }

  #run(run: readonly Statement[]): Statement[] {
    const stores = run.flatMap((statement) => this.#stores.get(statement) ?? []);
    if (stores.length === 0) return [...run];
    const { sums, arena } = this.#options;
    const orders = new Map(stores.map((store) => [store.order, store]));
    const together = this.#names.fresh("together");
    const puts = new Map(stores.map((store) => [store, this.#names.fresh("put")]));
    const { expression } = quote();
    const all = (each: readonly Expression[]) => each.reduce((left, right) => expression`${left} & ${right}`);
    const inOrder = all(
      [...orders.values()].map(({ pieces, piece }) => expression`${sums.inOrder(pieces)}(${piece})`),
    );
    const kept = [
      ...stores.flatMap((store) => quote(store.put.span).statements`let ${puts.get(store)!} = ${store.put};`),
      ...batches(stores).flatMap((batch) => {
        const list = (part: string) =>
          `array<u32, ${batch.length}>(${batch.map((store) => `${puts.get(store)!}.${part}`).join(", ")})`;
        const keep = sums.keep(batch[0]!.pieces, batch.length, arena);
        return quote().statements`${keep}(${list("x")}, ${list("y")});`;
      }),
    ];
    const alone = byFunction(stores.map((store) => store.alone)).flatMap((calls) => this.#inLoop(calls));
    const isSafe = expression`${inOrder} & subgroupAll(${all(stores.map(({ fits }) => fits))})`;
    const verified = this.#verified(stores, together);
    return [
      ...run.filter((statement) => !this.#stores.has(statement)),
      ...(verified
        ? quote().statements`var ${together} = ${isSafe}; ${verified}`
        : quote().statements`let ${together} = ${isSafe};`),
      ...quote().statements`if (${together}) { ${kept} } else { ${alone} }`,
    ];
  }

  /**
   * Returns statements that clear `together` if a line does not fit its check word and a store
   * keeps a part of it. Lanes then store alone. Returns undefined if no store keeps a part.
   */
  #verified(stores: readonly LineStore[], together: string): Statement[] | undefined {
    const { sums, arena } = this.#options;
    const keeping = stores.flatMap(({ kept, pieces }) => (kept ? [{ kept, pieces }] : []));
    if (keeping.length === 0) return undefined;
    const looks = batches(keeping).flatMap((batch) => {
      const names = batch.map(() => this.#names.fresh("kept"));
      const list = (part: string) =>
        `array<u32, ${batch.length}>(${names.map((name) => `${name}.${part}`).join(", ")})`;
      const isWrong = sums.isWrong(batch[0]!.pieces, batch.length, arena);
      return [
        ...batch.flatMap(({ kept }, i) => quote(kept.span).statements`let ${names[i]!} = ${kept};`),
        ...quote().statements`${together} &= !${isWrong}(${list("x")}, ${list("y")});`,
      ];
    });
    return quote().statements`if (${together}) { ${looks} }`;
  }
}

/** Returns the calls, grouped by function. */
function byFunction(calls: readonly CallExpression[]): CallExpression[][] {
  const groups = new Map<string, CallExpression[]>();
  for (const call of calls) groups.set(call.callee.name, [...(groups.get(call.callee.name) ?? []), call]);
  return [...groups.values()];
}

/**
 * Returns the accesses in batches that lanes can add up at once. Their sizes are powers of two, at
 * most the pieces of a line.
 */
function batches<T extends Pick<LineAccess, "pieces">>(accesses: readonly T[]): T[][] {
  const result: T[][] = [];
  for (const pieces of new Set(accesses.map((each) => each.pieces))) {
    let rest = accesses.filter((each) => each.pieces === pieces);
    while (rest.length > 0) {
      const count = Math.min(pieces, 2 ** Math.floor(Math.log2(rest.length)));
      result.push(rest.slice(0, count));
      rest = rest.slice(count);
    }
  }
  return result;
}
