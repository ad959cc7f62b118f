/**
 * What the transforms of output comparison share: values as words, the running signature, and the channel between
 * the replicas.
 */
import type { Address } from "../../analysis/addresses.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import type { Declaration, Expression, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../names.ts";
import { distanceOf, type Pairing } from "../pairing.ts";
import { balance, type Cells } from "./cells.ts";
import type { Channel } from "./channel.ts";
import {
  concludeByBarrier,
  concludeByExchange,
  type Succession,
  succeedByBarrier,
  succeedByExchange,
} from "./conclusion.ts";
import { interGroupChannel } from "./interGroupChannel.ts";
import { Library } from "./library.ts";
import { subgroupChannel } from "./subgroupChannel.ts";
import { fold, valueWords, type Words } from "./valueWords.ts";
import { workgroupChannel } from "./workgroupChannel.ts";

/** What a replica presents for comparison at a check site. */
export interface Presented {
  readonly site: number;
  /** Byte offset in the variable; compared only when it can differ. */
  readonly address: Address | null;
  readonly words: Words | null;
}

export interface ComparisonOptions {
  readonly channel: "subgroup" | "workgroup" | "mailbox";
  /** Default `"adjacent"`. Replicas in different subgroups, or passes, meet at the end only. */
  readonly pairing?: Pairing;
  /** Invocations of the workgroup as it runs, as a WGSL expression (the largest, when several entry points share it). */
  readonly lanes: string;
  /** Where replicas that never meet leave their final signatures; without it they meet at the end. */
  readonly cells?: Cells;
}

export class Comparison {
  readonly #library: Library;
  readonly #channel: Channel;
  readonly #meets: boolean;
  /** The function that compares the final signatures, for a site where it needs one. */
  readonly #conclude: (site: string) => string;
  /** How one replica's signature waits for the other replica. */
  readonly #succession: () => Succession;

  constructor(names: Names, { channel, pairing = "adjacent", lanes, cells }: ComparisonOptions) {
    const library = new Library(names);
    const distance = distanceOf(pairing, names);
    this.#library = library;
    const channels = {
      subgroup: () => subgroupChannel(library, distance),
      workgroup: () => workgroupChannel(library, lanes),
      mailbox: () => interGroupChannel(library),
    };
    this.#channel = channels[channel]();
    this.#meets = !cells;
    this.#succession = () =>
      channel === "subgroup"
        ? succeedByExchange(library, this.#signature())
        : succeedByBarrier(library, this.#signature(), lanes);
    this.#conclude = (site) => {
      if (pairing === "passes") return `${this.#succession().conclude}(${site})`;
      if (cells) return `${balance(library, this.#signature(), cells)}()`;
      return channel === "subgroup"
        ? `${concludeByExchange(library, this.#signature(), distance)}(${site})`
        : `${concludeByBarrier(library, this.#signature(), lanes)}(${site})`;
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
   * The statement that folds what a replica presents into its signature. Site and first index come in as they are: the fold that
   * follows mixes them, and a site is spread over the word, so that no index makes up for another site.
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

  /** The statement, last in the first of two passes, that keeps its signature, and begins another one. */
  keepSignature(): Statement[] {
    return quote().statements`${this.#succession().keep}();`;
  }

  /**
   * The statement, last in an entry point, that has the final signatures compared. Replicas that never meet leave none where
   * they have presented nothing, as most do where one stores for all; who `alwaysPresents` need not look. (A signature is
   * zero then, and else once in 2³².)
   */
  conclude(site: number, span: Span, { alwaysPresents = false } = {}): Statement[] {
    const { statements } = quote(span);
    const conclude = statements`${this.#conclude(`${site}u`)};`;
    if (this.#meets || alwaysPresents) return conclude;
    return statements`if (${this.#signature()} != 0u) { ${conclude} }`;
  }

  /** A condition: both replicas are here with the same address and value. A disagreement is recorded. */
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
    const { names } = this.#library;
    return quote().expression`(${names.the("replica")} == 0u) | ${this.#channel.isAlone()}`;
  }

  /** The leading replica's words, for both. */
  share(site: number, words: Words): Expression {
    const share = this.#channel.share(words.count);
    return quote(words.expression.span).expression`${share}(${`${site}u`}, ${words.expression})`;
  }
}

/** 2^32 divided by the golden ratio, odd: sites count from one, and their products are far apart. */
const SPREAD = 0x9e3779b1;

const isDynamic = (address: Address | null) => (address?.indices.length ?? 0) > 0;
