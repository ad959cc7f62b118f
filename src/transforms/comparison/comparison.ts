/**
 * What the transforms of output comparison share: values as words, the running signature, and the channel between
 * the replicas.
 */
import type { Address } from "../../analysis/addresses.ts";
import type { Declaration, Expression, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../names.ts";
import type { Channel } from "./channel.ts";
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
  readonly channel: "subgroup" | "workgroup";
  /** Invocations of the doubled workgroup, as a WGSL expression (the largest, when several entry points share it). */
  readonly lanes: string;
}

export class Comparison {
  readonly #library: Library;
  readonly #channel: Channel;

  constructor(names: Names, { channel, lanes }: ComparisonOptions) {
    this.#library = new Library(names);
    this.#channel =
      channel === "subgroup" ? subgroupChannel(this.#library) : workgroupChannel(this.#library, lanes);
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
    const signature = this.#library.once("signature", (name) => `var<private> ${name}: u32;`);
    return { expression: quote().expression`${signature}`, count: 1, scalar: "hash" };
  }

  /** The statement that folds what a replica presents into its signature. */
  foldIntoSignature({ site, address, words }: Presented): Statement[] {
    const { statements, expression } = quote();
    const signature = this.signature().expression;
    // An output without a dynamic word still counts: how often it happens must agree too.
    const presented: Words[] = words ? [words] : [];
    if (address?.dynamic) presented.unshift({ expression: address.expression, count: 1, scalar: "u32" });
    if (presented.length === 0) presented.push({ expression: expression`1u`, count: 1, scalar: "u32" });
    const hash = presented.reduce(
      (hash, words) => this.fold(hash, words),
      expression`${signature} ^ ${`${site}u`}`,
    );
    return statements`${signature} = ${hash};`;
  }

  /** A condition: both replicas are here with the same signature. At the end of an entry point both always are. */
  signaturesAgree(site: number, { atEnd = false } = {}): Expression {
    const signature = this.signature();
    const agree = this.#channel.agree({ address: false, words: signature, bothAreHere: atEnd });
    return quote().expression`${agree}(${`${site}u`}, 0u, ${signature.expression})`;
  }

  /** A condition: both replicas are here with the same address and value. A disagreement is recorded. */
  agree({ site, address, words }: Presented): Expression {
    const agree = this.#channel.agree({ address: address?.dynamic ?? false, words });
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
