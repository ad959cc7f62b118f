/**
 * The parts that all transforms of output comparison use: values as words, the running signature,
 * and the channel between the replicas.
 */
import type { PlaceAddress } from "../../../analysis/addresses.ts";
import type { Span } from "../../../diagnostics/diagnostic.ts";
import type { Declaration, Expression, Statement } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Type } from "../../../wgsl/types.ts";
import type { Names } from "../../shared/names.ts";
import { distanceOf, type Pairing } from "../pairing.ts";
import { balance, type Cells } from "./cells.ts";
import type { ReplicaChannel } from "./channel.ts";
import {
  concludeByBarrier,
  concludeByExchange,
  finalOf,
  laneVariable,
  type Succession,
  succeedByBarrier,
  succeedByExchange,
} from "./conclusion.ts";
import { interGroupChannel } from "./interGroupChannel.ts";
import { Library } from "./library.ts";
import { subgroupChannel } from "./subgroupChannel.ts";
import { storedOnce, tallied, tallyVariable } from "./tally.ts";
import { fold, valueWords, type Words } from "./valueWords.ts";
import { workgroupChannel } from "./workgroupChannel.ts";

/** The values that a replica presents for comparison at a check site. */
export interface Presented {
  readonly site: number;
  /** The byte offset in the variable. It is compared only if it can differ. */
  readonly address: PlaceAddress | null;
  readonly words: Words | null;
}

/**
 * The code of replicas in place of a comparison. Without it a compiler would leave out a replica
 * whose results nobody uses.
 */
export interface Uncompared {
  /** Returns the statements before an output is stored. */
  keep(comparison: Comparison, address: PlaceAddress | null, words: Words | null): Statement[];
  /** Returns the statements that end an entry point. They use the report. */
  use(comparison: Comparison, names: Names): Statement[];
}

/** The way in which the replicas of a module are compared. */
export interface ComparisonOptions {
  readonly channel: "subgroup" | "workgroup" | "mailbox";
  /**
   * The comparison: signatures once at the end, or each output before its store. Default
   * `"signature"`.
   */
  readonly check?: "store" | "signature";
  /** The code that replaces the comparison. Default: replicas are compared. */
  readonly uncompared?: Uncompared | undefined;
  /**
   * The pairing of the replicas. Default `"adjacent"`. Replicas in different subgroups or in passes
   * are compared at the end only.
   */
  readonly pairing?: Pairing;
  /**
   * The invocations of the workgroup as it runs, as a WGSL expression. If several entry points
   * share it, the largest.
   */
  readonly lanes: string;
  /**
   * The cells to which replicas add their results if they do not wait for each other at the end.
   */
  readonly cells?: Cells;
  /** True if all bits of NaN count as one value, and so do both zeros. Default false. */
  readonly isCanonical?: boolean;
}

/** The code of output comparison in one module. Declarations are generated on first use. */
export class Comparison {
  readonly #library: Library;
  readonly #channel: ReplicaChannel;
  readonly #check: "store" | "signature";
  /** Set where nothing is compared. */
  readonly uncompared: Uncompared | undefined;
  readonly #meets: boolean;
  /** Returns the call that compares the replicas' results at a site. */
  readonly #conclude: (site: string) => string;
  /** Returns the functions by which the first pass keeps its signature for the second. */
  readonly #succession: () => Succession;

  constructor(
    names: Names,
    {
      channel,
      check = "signature",
      uncompared,
      pairing = "adjacent",
      lanes,
      cells,
      isCanonical,
    }: ComparisonOptions,
  ) {
    const library = new Library(names, isCanonical);
    const distance = distanceOf(pairing, names);
    this.#library = library;
    this.#check = check;
    this.uncompared = uncompared;
    const channels = {
      subgroup: () => subgroupChannel(library, distance),
      workgroup: () => workgroupChannel(library, lanes),
      mailbox: () => interGroupChannel(library),
    };
    this.#channel = channels[channel]();
    this.#meets = !cells;
    const final = () => finalOf(library, check === "signature" ? this.#signature() : undefined);
    this.#succession = () =>
      channel === "subgroup"
        ? succeedByExchange(library, final())
        : succeedByBarrier(library, final(), lanes);
    this.#conclude = (site) => {
      if (pairing === "passes") return `${this.#succession().conclude}(${site})`;
      if (cells) return `${balance(library, final(), cells)}()`;
      return channel === "subgroup"
        ? `${concludeByExchange(library, final(), distance)}(${site})`
        : `${concludeByBarrier(library, final(), lanes)}(${site})`;
    };
  }

  /** Returns the declarations generated since the last call, to be added to the module. */
  takeDeclarations(): Declaration[] {
    return this.#library.takeDeclarations();
  }

  /** Returns the value `name` of type `type` as words. */
  wordsOf(name: string, type: Type): Words {
    return valueWords(this.#library, name, type);
  }

  /** Returns `hash` with all of `words` folded in. */
  fold(hash: Expression, words: Words): Expression {
    return fold(this.#library, hash, words);
  }

  /** Returns the replica's running signature: a hash of all that it has presented. */
  signature(): Words {
    return { expression: quote().expression`${this.#signature()}`, count: 1, scalar: "hash" };
  }

  #signature(): string {
    return this.#library.once("signature", (name) => `var<private> ${name}: u32;`);
  }

  /**
   * Returns the statement that folds presented values into the replica's signature. The site and
   * the first index enter by an exclusive or, because the following fold mixes them. The site is
   * spread over the word, so that no index compensates for another site.
   */
  foldIntoSignature({ site, address, words }: Presented): Statement[] {
    const { statements, expression } = quote();
    const signature = this.signature().expression;
    const word = (expression: Expression): Words => ({ expression, count: 1, scalar: "u32" });
    const presented = [...(address?.indices.map(word) ?? []), ...(words ? [words] : [])];
    // An output without a dynamic word is folded in too, because the number of its executions must
    // agree.
    if (presented.length === 0) presented.push(word(expression`1u`));
    const start = expression`${signature} ^ ${`${Math.imul(site, SPREAD) >>> 0}u`}`;
    const begun = presented.length > 1 ? expression`${start} ^ ${presented.shift()!.expression}` : start;
    const hash = presented.reduce((hash, words) => this.fold(hash, words), begun);
    return statements`${signature} = ${hash};`;
  }

  /** Returns a condition: both replicas are here with the same signature. */
  signaturesAgree(site: number): Expression {
    const words = this.signature();
    const agree = this.#channel.agree({ address: false, words });
    return quote().expression`${agree}(${`${site}u`}, 0u, ${words.expression})`;
  }

  /**
   * Returns the private variable of a lane's number in its workgroup, for invocations that swap
   * lanes.
   */
  lane(): string {
    return laneVariable(this.#library);
  }

  /**
   * Returns the last statement of the first of two passes. It keeps the signature and the tally and
   * resets both.
   */
  keepFinal(): Statement[] {
    return quote().statements`${this.#succession().keep}();`;
  }

  /**
   * Returns statements that run `stored` in one replica and `passed` in the other. The comparison
   * at the end detects if the replicas did not do so (tally.ts).
   */
  inFirst(
    stored: readonly Statement[],
    { passed = [], isFirst = this.isFirst() }: { passed?: readonly Statement[]; isFirst?: Expression } = {},
  ): Statement[] {
    return this.uncompared
      ? storedOnce(isFirst, stored, passed)
      : tallied(this.#library, isFirst, stored, passed);
  }

  /** True if a store or operation was assigned to only one of the replicas so far. */
  get isTallied(): boolean {
    return this.#library.has("tally");
  }

  /** Returns a condition that is true for the first replica. */
  isFirst(): Expression {
    return quote().expression`${this.#library.names.the("replica")} == 0u`;
  }

  /** Returns a condition that is true for the second replica, which runs in the first pass. */
  isSecond(): Expression {
    return quote().expression`${this.#library.names.the("replica")} == 1u`;
  }

  /**
   * Returns the last statement of an entry point, which compares the results of the replicas.
   *
   * If replicas do not wait for each other, an invocation that has presented nothing leaves
   * nothing. Most invocations do so in a kernel in which one stores for all. With `alwaysPresents`
   * the test is omitted. The test reads the signature, which is zero then, and otherwise once in
   * 2³².
   */
  conclude(site: number, span: Span, { alwaysPresents = false } = {}): Statement[] {
    const { statements } = quote(span);
    const conclude = statements`${this.#conclude(`${site}u`)};`;
    if (this.#meets || alwaysPresents) return conclude;
    const presented = this.#check === "signature" ? this.#signature() : tallyVariable(this.#library);
    return statements`if (${presented} != 0u) { ${conclude} }`;
  }

  /**
   * Returns a condition: both replicas are here with the same address and value. A disagreement is
   * recorded.
   */
  agree({ site, address, words }: Presented): Expression {
    const agree = this.#channel.agree({ address: isDynamic(address), words });
    const { expression } = quote();
    const at = address?.expression ?? expression`0u`;
    return words
      ? expression`${agree}(${`${site}u`}, ${at}, ${words.expression})`
      : expression`${agree}(${`${site}u`}, ${at})`;
  }

  /** True if an agreement must stand just before `share`. */
  get shareNeedsAgreement(): boolean {
    return this.#channel.shareNeedsAgreement;
  }

  /** Returns a condition that is true for the one replica that executes what must happen once. */
  leads(): Expression {
    return quote().expression`(${this.isFirst()}) | ${this.#channel.isAlone()}`;
  }

  /** Returns the leading replica's words, for both replicas. */
  share(site: number, words: Words): Expression {
    const share = this.#channel.share(words.count);
    return quote(words.expression.span).expression`${share}(${`${site}u`}, ${words.expression})`;
  }
}

/**
 * The number 2³² divided by the golden ratio, odd. Sites count from one, and their products with it
 * are far apart.
 */
const SPREAD = 0x9e3779b1;

const isDynamic = (address: PlaceAddress | null) => (address?.indices.length ?? 0) > 0;
