import type { Library } from "./library.ts";
import { type Words, wordType } from "./valueWords.ts";

/** The values that an agreement compares. */
export interface ComparedValues {
  /** True if the parameter `address` is compared. */
  readonly address: boolean;
  readonly words: Words | null;
}

/**
 * The communication between the replicas of an invocation. Each method returns the name of a WGSL
 * function or an expression.
 */
export interface ReplicaChannel {
  /**
   * Returns the name of `fn (site: u32, address: u32[, value: words]) -> bool`. It returns true if
   * both replicas are here with the same words, and records a disagreement.
   */
  agree(compared: ComparedValues): string;
  /**
   * Returns the name of `fn (site: u32, value: words) -> words`, which returns the words of the
   * leading replica.
   */
  share(count: Words["count"]): string;
  /** Returns an expression that is true if a replica knows that its partner is absent. */
  isAlone(): string;
  /** True if `share` relies on an agreement just before it. */
  readonly shareNeedsAgreement: boolean;
}

/** Returns the parameters of an agreement function. */
export const agreementParameters = ({ words }: ComparedValues): string =>
  ["site: u32", "address: u32", ...(words ? [`value: ${wordType(words.count)}`] : [])].join(", ");

/** Returns expressions for the words of the parameter `value`. */
export const components = (count: number): string[] =>
  count === 1 ? ["value"] : ["x", "y", "z", "w"].slice(0, count).map((c) => `value.${c}`);

/** Returns the words of the parameter `value` as a record stores them. */
export const recordedValue = (count: number): string =>
  `vec4<u32>(${[...components(count), "0u", "0u", "0u", "0u"].slice(0, 4).join(", ")})`;

/** Returns the name of an agreement function, which encodes its parameters. */
export const agreementName = ({ address, words }: ComparedValues): string =>
  `agree${words?.count ?? 0}${address ? "at" : ""}`;

/** Returns the `share` of a channel that shares word by word through the function `one`. */
export function shareEach(library: Library, one: string, count: Words["count"]): string {
  if (count === 1) return one;
  const type = wordType(count);
  const shared = components(count).map((component) => `${one}(site, ${component})`);
  return library.once(
    `share${count}`,
    (name) => `
    fn ${name}(site: u32, value: ${type}) -> ${type} { return ${type}(${shared.join(", ")}); }`,
  );
}
