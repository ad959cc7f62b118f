/**
 * The WGSL functions that compare the replicas' words, each emitted once, when a transform first asks for it.
 *
 * A replica pair talks through a channel:
 * - `subgroup`: the replicas are neighbouring lanes and exchange registers (`subgroupShuffleXor`); a ballot tells
 *   whether the partner is there.
 * - `workgroup`: each replica publishes a word in workgroup memory and waits, bounded, until the partner's word equals
 *   its own. The word carries a turn number, so equality is the handshake and no fence is needed; banks of slots
 *   alternate, so nobody overwrites what the partner still waits for.
 *
 * Neither needs a barrier: stores stand in divergent control flow.
 * Source: Wadden et al. 2014, sections 6.2 and 8 (register exchange).
 */

import type { Address } from "../analysis/addresses.ts";
import type { Declaration, Expression, Statement } from "../wgsl/ast.ts";
import { quote } from "../wgsl/quote.ts";
import type { Type } from "../wgsl/types.ts";
import type { Names } from "./names.ts";
import { recordCause } from "./reportBuffer.ts";
import { type Words, WordWriter, wordType } from "./valueWords.ts";

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

/** How often a replica looks for its partner's word before it gives up. */
const patience = 65536;

/**
 * A replica can be three turns ahead of a partner who still reads the oldest bank: it leaves an agreement, shares two
 * words without waiting, and enters the next agreement.
 */
export const banks = 4;

export class Comparison {
  readonly #names: Names;
  readonly #options: ComparisonOptions;
  readonly #words: WordWriter;
  readonly #emitted = new Set<string>();
  #pending: Declaration[] = [];

  constructor(names: Names, options: ComparisonOptions) {
    this.#names = names;
    this.#options = options;
    this.#words = new WordWriter(names);
  }

  /** The declarations asked for since the last call, to be added to the module. */
  takeDeclarations(): Declaration[] {
    const declarations = [...this.#words.takeDeclarations(), ...this.#pending];
    this.#pending = [];
    return declarations;
  }

  /** The named value, of type `type`, as words. */
  wordsOf(name: string, type: Type): Words {
    return this.#words.of(name, type);
  }

  /** `hash` with all of `words` folded in. */
  fold(hash: Expression, words: Words): Expression {
    return this.#words.fold(hash, words);
  }

  /** The replica's running signature: a hash of all it has presented. */
  signature(): Words {
    const signature = this.#once("signature", (name) => `var<private> ${name}: u32;`);
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

  /** A condition: both replicas are here with the same signature. */
  signaturesAgree(site: number): Expression {
    return this.agree({ site, address: null, words: this.signature() });
  }

  /** A condition: both replicas are here with the same address and value. A disagreement is recorded. */
  agree({ site, address, words }: Presented): Expression {
    const exchanged = address?.dynamic ? ["address"] : [];
    const agree =
      this.#options.channel === "subgroup"
        ? this.#exchange(exchanged, words)
        : this.#handshake(exchanged, words);
    const { expression } = quote();
    const at = address?.expression ?? expression`0u`;
    return words
      ? expression`${agree}(${`${site}u`}, ${at}, ${words.expression})`
      : expression`${agree}(${`${site}u`}, ${at})`;
  }

  /** True when `share` relies on an agreement just before it, which keeps the replicas within a turn of each other. */
  get shareNeedsAgreement(): boolean {
    return this.#options.channel === "workgroup";
  }

  /** A condition, true for the one replica that executes what must happen once. */
  leads(): Expression {
    const alone = this.#options.channel === "subgroup" ? `!${this.#together()}()` : this.#alone();
    return quote().expression`(${this.#names.the("replica")} == 0u) | ${alone}`;
  }

  /** The leading replica's words, for both. */
  share(site: number, words: Words): Expression {
    const share =
      this.#options.channel === "subgroup"
        ? this.#shareByExchange(words.count)
        : this.#shareBySlots(words.count);
    return quote(words.expression.span).expression`${share}(${`${site}u`}, ${words.expression})`;
  }

  /** Emits declarations once, under the name they are called by. */
  #once(thing: string, wgsl: (name: string) => string): string {
    const name = this.#names.the(thing);
    if (!this.#emitted.has(name)) {
      this.#emitted.add(name);
      // What the text refers to is emitted while the text is built, and so stands before it.
      const text = wgsl(name);
      this.#pending.push(...quote().declarations`${text}`);
    }
    return name;
  }

  // Register exchange

  #together(): string {
    const partner = this.#names.the("partner");
    return this.#once(
      "together",
      (name) => `
      fn ${name}() -> bool { return any((subgroupBallot(true) & ${partner}) != vec4<u32>()); }`,
    );
  }

  #exchange(exchanged: readonly string[], words: Words | null): string {
    const count = words?.count ?? 0;
    const compared = [...exchanged, ...(words ? ["value"] : [])];
    return this.#once(
      `agree${count}${exchanged.length > 0 ? "at" : ""}`,
      (name) => `
      fn ${name}(${parameters(words)}) -> bool {
        ${compared.map((word) => `let their_${word} = subgroupShuffleXor(${word}, 1u);`).join("\n")}
        let together = ${this.#together()}();
        if (${["together", ...compared.map((word) => `all(${word} == their_${word})`)].join(" && ")}) { return true; }
        ${this.#names.the("record")}(site, select(${recordCause.partnerAbsent}u, ${recordCause.mismatch}u, together), address, ${fourWords(count)});
        return false;
      }`,
    );
  }

  #shareByExchange(count: Words["count"]): string {
    const type = wordType(count);
    return this.#once(
      `share${count}`,
      (name) => `
      fn ${name}(site: u32, value: ${type}) -> ${type} {
        let theirs = subgroupShuffleXor(value, 1u);
        return select(value, theirs, (${this.#names.the("replica")} == 1u) & ${this.#together()}());
      }`,
    );
  }

  // Handshake in workgroup memory

  /** True once the partner did not answer: the pair has a record, and neither waits again. */
  #alone(): string {
    return this.#once("alone", (name) => `var<private> ${name}: bool;`);
  }

  #turn(): string {
    return this.#once("turn", (name) => `var<private> ${name}: u32;`);
  }

  #slots(): string {
    return this.#once(
      "slots",
      (name) => `var<workgroup> ${name}: array<atomic<u32>, ${banks}u * (${this.#options.lanes})>;`,
    );
  }

  #handshake(exchanged: readonly string[], words: Words | null): string {
    const n = this.#names;
    const count = words?.count ?? 0;
    return this.#once(
      `agree${count}${exchanged.length > 0 ? "at" : ""}`,
      (name) => `
      fn ${name}(${parameters(words)}) -> bool {
        if (${this.#alone()}) { return false; }
        ${this.#turn()} += 1u;
        let word = ${this.#words.foldText(`site ^ (${this.#turn()} << 8u)`, [...exchanged, ...components(count)])};
        let mine = ${this.#turn()} % ${banks}u * (${this.#options.lanes}) + ${n.the("lane")};
        atomicStore(&${this.#slots()}[mine], word);
        for (var i = 0u; i < ${patience}u; i++) {
          if (atomicLoad(&${this.#slots()}[mine ^ 1u]) == word) { return true; }
        }
        ${this.#alone()} = true;
        ${n.the("record")}(site, ${recordCause.mismatch}u, address, ${fourWords(count)});
        return false;
      }`,
    );
  }

  /** The leader writes its word under two keys; two slots that decode to one word prove that both are of this turn. */
  #shareBySlots(count: Words["count"]): string {
    const n = this.#names;
    const one = this.#once(
      "share1",
      (name) => `
      fn ${name}(site: u32, value: u32) -> u32 {
        if (${this.#alone()}) { return value; }
        ${this.#turn()} += 1u;
        let key = ${this.#words.foldText("site", [this.#turn()])};
        let first = ${this.#turn()} % ${banks}u * (${this.#options.lanes}) + (${n.the("lane")} & ~1u);
        if (${n.the("replica")} == 0u) {
          atomicStore(&${this.#slots()}[first], value ^ key);
          atomicStore(&${this.#slots()}[first + 1u], value ^ ~(key >> 1u));
          return value;
        }
        for (var i = 0u; i < ${patience}u; i++) {
          let received = atomicLoad(&${this.#slots()}[first]) ^ key;
          if (atomicLoad(&${this.#slots()}[first + 1u]) == (received ^ ~(key >> 1u))) { return received; }
        }
        ${this.#alone()} = true;
        ${n.the("record")}(site, ${recordCause.partnerAbsent}u, 0u, vec4<u32>(value));
        return value;
      }`,
    );
    if (count === 1) return one;
    const shared = components(count).map((component) => `${one}(site, ${component})`);
    return this.#once(
      `share${count}`,
      (name) => `
      fn ${name}(site: u32, value: ${wordType(count)}) -> ${wordType(count)} { return ${wordType(count)}(${shared.join(", ")}); }`,
    );
  }
}

const parameters = (words: Words | null): string =>
  ["site: u32", "address: u32", ...(words ? [`value: ${wordType(words.count)}`] : [])].join(", ");

const components = (count: number): string[] =>
  count === 1 ? ["value"] : ["x", "y", "z", "w"].slice(0, count).map((c) => `value.${c}`);

const fourWords = (count: number): string =>
  `vec4<u32>(${[...components(count), "0u", "0u", "0u", "0u"].slice(0, 4).join(", ")})`;
