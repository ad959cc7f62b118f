/**
 * What the transforms of output comparison share: values as words, the running signature, and the
 * channel between the replicas.
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

/** What a replica presents for comparison at a check site. */
export interface Presented {
  readonly site: number;
  /** Byte offset in the variable; compared only when it can differ. */
  readonly address: PlaceAddress | null;
  readonly words: Words | null;
}

export interface ComparisonOptions {
  readonly channel: "subgroup" | "workgroup" | "mailbox";
  /**
   * What is compared: signatures once at the end, or what is stored before each store. Default
   * `"signature"`.
   */
  readonly check?: "store" | "signature" | "none";
  /** Default `"adjacent"`. Replicas in different subgroups, or passes, meet at the end only. */
  readonly pairing?: Pairing;
  /**
   * Invocations of the workgroup as it runs, as a WGSL expression (the largest, when several entry
   * points share it).
   */
  readonly lanes: string;
  /** Where replicas that don't meet at the end leave what they have come to. */
  readonly cells?: Cells;
}

export class Comparison {
  readonly #library: Library;
  readonly #channel: ReplicaChannel;
  readonly #check: "store" | "signature" | "none";
  readonly #meets: boolean;
  /** The call that compares what the replicas have come to, for a site where it needs one. */
  readonly #conclude: (site: string) => string;
  /** How one replica's signature waits for the other replica. */
  readonly #succession: () => Succession;

  constructor(
    names: Names,
    { channel, check = "signature", pairing = "adjacent", lanes, cells }: ComparisonOptions,
  ) {
    const library = new Library(names);
    const distance = distanceOf(pairing, names);
    this.#library = library;
    this.#check = check;
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

  /** The declarations that what was asked for needs, to be added to the module. */
  takeDeclarations(): Declaration[] {
    return this.#library.takeDeclarations();
  }

  /** The named value, of type `type`, as words. */
  wordsOf(name: string, type: Type): Words {
    return valueWords(this.#library, name, type);
  }

  /** `hash` with all of `words` folded in. */
  fold(hash: Expression, words: Words): Expression {
    return fold(this.#library, hash, words);
  }

  /** The replica's running signature: a hash of all it has presented. */
  signature(): Words {
    return { expression: quote().expression`${this.#signature()}`, count: 1, scalar: "hash" };
  }

  #signature(): string {
    return this.#library.once("signature", (name) => `var<private> ${name}: u32;`);
  }

  /**
   * The statement that folds what a replica presents into its signature. Site and first index come
   * in as they are: the fold that follows mixes them, and a site is spread over the word, so that
   * no index makes up for another site.
   */
  foldIntoSignature({ site, address, words }: Presented): Statement[] {
    const { statements, expression } = quote();
    const signature = this.signature().expression;
    const word = (expression: Expression): Words => ({ expression, count: 1, scalar: "u32" });
    const presented = [...(address?.indices.map(word) ?? []), ...(words ? [words] : [])];
    // An output without a dynamic word still counts: how often it happens must agree too.
    if (presented.length === 0) presented.push(word(expression`1u`));
    const start = expression`${signature} ^ ${`${Math.imul(site, SPREAD) >>> 0}u`}`;
    const begun = presented.length > 1 ? expression`${start} ^ ${presented.shift()!.expression}` : start;
    const hash = presented.reduce((hash, words) => this.fold(hash, words), begun);
    return statements`${signature} = ${hash};`;
  }

  /** A condition: both replicas are here with the same signature. */
  signaturesAgree(site: number): Expression {
    const words = this.signature();
    const agree = this.#channel.agree({ address: false, words });
    return quote().expression`${agree}(${`${site}u`}, 0u, ${words.expression})`;
  }

  /**
   * The private variable that tells a lane's number in its workgroup, where invocations swap lanes.
   */
  lane(): string {
    return laneVariable(this.#library);
  }

  /**
   * The statement, last in the first of two passes, that keeps what it has come to, and begins
   * anew.
   */
  keepFinal(): Statement[] {
    return quote().statements`${this.#succession().keep}();`;
  }

  /**
   * Runs `stored` in one replica and `passed` in the other, such that the end shows if it was not
   * so (see tally.ts).
   */
  inFirst(
    stored: readonly Statement[],
    { passed = [], isFirst = this.isFirst() }: { passed?: readonly Statement[]; isFirst?: Expression } = {},
  ): Statement[] {
    return this.#check === "none"
      ? storedOnce(isFirst, stored, passed)
      : tallied(this.#library, isFirst, stored, passed);
  }

  /** Whether something was left to one of the replicas so far. */
  get isTallied(): boolean {
    return this.#library.has("tally");
  }

  /** A condition, true for the first replica. */
  isFirst(): Expression {
    return quote().expression`${this.#library.names.the("replica")} == 0u`;
  }

  /**
   * The statement, last in an entry point, that has compared what the replicas have come to.
   * Replicas that never meet leave nothing where they have presented nothing, as most do where one
   * stores for all; who `alwaysPresents` need not look. (A signature is zero then, and else once in
   * 2³².)
   */
  conclude(site: number, span: Span, { alwaysPresents = false } = {}): Statement[] {
    const { statements } = quote(span);
    const conclude = statements`${this.#conclude(`${site}u`)};`;
    if (this.#meets || alwaysPresents) return conclude;
    const presented = this.#check === "signature" ? this.#signature() : tallyVariable(this.#library);
    return statements`if (${presented} != 0u) { ${conclude} }`;
  }

  /**
   * A condition: both replicas are here with the same address and value. A disagreement is
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

  /** True when an agreement must stand just before `share`. */
  get shareNeedsAgreement(): boolean {
    return this.#channel.shareNeedsAgreement;
  }

  /** A condition, true for the one replica that executes what must happen once. */
  leads(): Expression {
    return quote().expression`(${this.isFirst()}) | ${this.#channel.isAlone()}`;
  }

  /** The leading replica's words, for both. */
  share(site: number, words: Words): Expression {
    const share = this.#channel.share(words.count);
    return quote(words.expression.span).expression`${share}(${`${site}u`}, ${words.expression})`;
  }
}

/**
 * 2^32 divided by the golden ratio, odd: sites count from one, and their products are far apart.
 */
const SPREAD = 0x9e3779b1;

const isDynamic = (address: PlaceAddress | null) => (address?.indices.length ?? 0) > 0;
