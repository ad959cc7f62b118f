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

/** Returns expressions for the words of the parameter `value`. */
const components = (count: number): string[] =>
  count === 1 ? ["value"] : ["x", "y", "z", "w"].slice(0, count).map((c) => `value.${c}`);

/** Returns expressions for the words that an agreement compares. */
export const comparedWords = ({ address, words }: ComparedValues): string[] => [
  ...(address ? ["address"] : []),
  ...components(words?.count ?? 0),
];

/**
 * Declares the function of an agreement, as in {@link ReplicaChannel.agree}, and returns its name.
 * The statements of `body` return true if the replicas agree. Otherwise the function records the
 * cause.
 */
export function declareAgreement(
  library: Library,
  { address, words }: ComparedValues,
  body: () => { readonly statements: string; readonly cause: string },
): string {
  const count = words?.count ?? 0;
  const parameters = ["site: u32", "address: u32", ...(words ? [`value: ${wordType(words.count)}`] : [])];
  const recorded = [...components(count), "0u", "0u", "0u", "0u"].slice(0, 4).join(", ");
  return library.once(`agree${count}${address ? "at" : ""}`, (name) => {
    const { statements, cause } = body();
    return `
    fn ${name}(${parameters.join(", ")}) -> bool {
      ${statements}
      ${library.names.the("record")}(site, ${cause}, address, vec4<u32>(${recorded}));
      return false;
    }`;
  });
}

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
