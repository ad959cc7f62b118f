import type { BodyStatement, Loop, LoopExpression } from "../../tree/ir.ts";
import { oncePerLoop } from "../../tree/oncePerLoop.ts";
import { everyStatement } from "../../tree/walk.ts";
import { insideOf, type KnownFacts, type LoopNumbers, prove } from "../prove.ts";
import { asType, hull, type IntegerRange, rangeOfElements } from "../ranges.ts";
import { counterOf } from "./innerCounter.ts";
import { unroll } from "./unroll.ts";

/** The largest number of variants of one loop. Each variant is compiled. */
const mostVariants = 8;

interface Variants {
  /** The variants by the JSON text of their bodies. */
  readonly all: Map<string, Loop>;
  /** The variant for the latest numbers. The next call is likely to have the same numbers. */
  latest: { readonly numbers: string; readonly variant: Loop } | null;
}

const variantsOf = oncePerLoop(
  (loop): Variants => ({ all: new Map([[JSON.stringify(loop.body), loop]]), latest: null }),
);

/**
 * Returns the loop with the facts that these numbers prove about it. Accesses that stay in their
 * arrays are `inside`, products of at most 53 bits are `small`, and inner loops have a bound
 * `most`. Kernels check everything else. Returns the same object for the same facts, so that caches
 * per loop keep working.
 */
export function specialize(loop: Loop, numbers: LoopNumbers): Loop {
  const variants = variantsOf(loop);
  const given = textOf(loop, numbers);
  if (variants.latest?.numbers === given) return variants.latest.variant;
  const variant = variantOf(loop, numbers, variants.all);
  variants.latest = { numbers: given, variant };
  return variant;
}

function textOf(loop: Loop, { inputs, lengths, first, step, count }: LoopNumbers): string {
  const values = [
    ...loop.inputs.map(({ name }) => inputs[name]),
    ...loop.arrays.map(({ name }) => lengths[name]),
  ];
  return [first, step, count, ...values].join();
}

function variantOf(loop: Loop, numbers: LoopNumbers, variants: Map<string, Loop>): Loop {
  const body = new Specializer(loop, numbers).iteration();
  const key = JSON.stringify(body);
  const variant = variants.get(key);
  if (variant || variants.size > mostVariants) return variant ?? loop;
  const made = { ...loop, body };
  variants.set(key, made);
  return made;
}

type Block = readonly BodyStatement[];
type InnerLoop = Extract<BodyStatement, { kind: "loop" }>;
/** The ranges of locals at one place. A missing local may have any value. */
type Locals = Map<string, IntegerRange | null>;

/** A pass over a body, in order, that tracks the ranges of its locals. */
class Specializer {
  readonly #loop: Loop;
  readonly #numbers: LoopNumbers;
  readonly #elements: ReadonlyMap<string, IntegerRange | null>;
  #locals: Locals = new Map();

  constructor(loop: Loop, numbers: LoopNumbers) {
    this.#loop = loop;
    this.#numbers = numbers;
    this.#elements = new Map(loop.arrays.map(({ name, element }) => [name, rangeOfElements(element)]));
  }

  get #known(): KnownFacts {
    return { numbers: this.#numbers, elements: this.#elements, locals: this.#locals };
  }

  #prove(expression: LoopExpression): [LoopExpression, IntegerRange | null] {
    return prove(expression, this.#known);
  }

  iteration(): Block {
    return this.#block(this.#loop.body);
  }

  /** Specializes a block and forgets the block's own locals at its end. */
  #block(statements: Block): Block {
    const before = new Map(this.#locals);
    const own = new Set<string>();
    const result = statements.flatMap((statement) => {
      if (statement.kind === "declare") own.add(statement.name);
      return statement.kind === "loop" ? this.#inner(statement) : this.#statement(statement);
    });
    for (const name of own) this.#set(name, before.get(name));
    return result;
  }

  #statement(statement: BodyStatement): BodyStatement {
    switch (statement.kind) {
      case "declare": {
        const [value, range] = this.#prove(statement.value);
        this.#set(statement.name, asType(statement.type, range));
        return { ...statement, value };
      }
      case "assign": {
        const [value, range] = this.#prove(statement.value);
        this.#set(statement.name, range);
        return { ...statement, value };
      }
      case "assignCarried":
        return { ...statement, value: this.#prove(statement.value)[0] };
      case "reduce": {
        const [value] = this.#prove(statement.value);
        const companions = statement.companions?.map((each) => this.#prove(each)[0]);
        return { ...statement, value, ...(companions && { companions }) };
      }
      case "store": {
        const [index, range] = this.#prove(statement.index);
        const [value] = this.#prove(statement.value);
        return { ...statement, index, value, ...insideOf(statement.array, range, this.#known) };
      }
      case "if": {
        const [test] = this.#prove(statement.test);
        const before = new Map(this.#locals);
        const yes = this.#block(statement.yes);
        const afterYes = this.#locals;
        this.#locals = before;
        const no = this.#block(statement.no);
        for (const [name, range] of this.#locals) {
          const other = afterYes.get(name);
          this.#set(name, other === undefined ? undefined : hull(range, other));
        }
        return { ...statement, test, yes, no };
      }
      case "misspeculate":
        return statement.which.kind === "absolute"
          ? { ...statement, which: { ...statement.which, index: this.#prove(statement.which.index)[0] } }
          : statement;
      default:
        return statement;
    }
  }

  /**
   * Specializes an inner loop. In the loop and after it, the locals that it assigns have unknown
   * ranges, except for its counter.
   */
  #inner(statement: InnerLoop): BodyStatement[] {
    const inside = [...everyStatement([...statement.body, ...statement.update])];
    const changed = inside.flatMap((each) => (each.kind === "assign" ? [each.name] : []));
    const counter = counterOf(statement, changed, this.#known);
    for (const name of changed) this.#set(name, undefined);
    if (counter) this.#set(counter.counter.name, counter.values);
    // The test itself sees one more value, which decides nothing about elements.
    const [test, ...rest] = statement.body;
    const body = this.#block(counter ? rest : statement.body);
    const update = this.#block(statement.update);
    for (const name of changed) this.#set(name, undefined);
    if (!counter) return [{ ...statement, body, update }];
    // Rounded up to a power of two, so that loops of similar length share a variant.
    const tripCount = Math.min(statement.most ?? Infinity, 2 ** Math.ceil(Math.log2(counter.tripCount)));
    const loop = { ...statement, body: [test!, ...body], update, most: tripCount };
    return unroll({ ...counter, loop, body, tripCount });
  }

  #set(name: string, range: IntegerRange | null | undefined): void {
    if (range === undefined) this.#locals.delete(name);
    else this.#locals.set(name, range);
  }
}
