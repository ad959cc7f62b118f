import type { Library } from "./library.ts";
import { type Words, wordType } from "./valueWords.ts";

/** What an agreement compares. */
export interface ComparedValues {
  /** Whether the parameter `address` takes part. */
  readonly address: boolean;
  readonly words: Words | null;
}

/**
 * How the replicas of an invocation talk. Each method returns the name of a WGSL function or an
 * expression.
 */
export interface ReplicaChannel {
  /**
   * `fn (site: u32, address: u32[, value: words]) -> bool`: true when both replicas are here with
   * the same words. A disagreement is recorded.
   */
  agree(compared: ComparedValues): string;
  /** `fn (site: u32, value: words) -> words`: the words of the replica that leads. */
  share(count: Words["count"]): string;
  /** An expression, true when a replica knows that its partner is not there. */
  isAlone(): string;
  /** True when `share` relies on an agreement just before it. */
  readonly shareNeedsAgreement: boolean;
}

/** The parameters of an agreement function. */
export const agreementParameters = ({ words }: ComparedValues): string =>
  ["site: u32", "address: u32", ...(words ? [`value: ${wordType(words.count)}`] : [])].join(", ");

/** The words of the parameter `value`, one by one. */
export const components = (count: number): string[] =>
  count === 1 ? ["value"] : ["x", "y", "z", "w"].slice(0, count).map((c) => `value.${c}`);

/** The words of the parameter `value`, as a record keeps them. */
export const recordedValue = (count: number): string =>
  `vec4<u32>(${[...components(count), "0u", "0u", "0u", "0u"].slice(0, 4).join(", ")})`;

/** The name of an agreement function, which its parameters decide. */
export const agreementName = ({ address, words }: ComparedValues): string =>
  `agree${words?.count ?? 0}${address ? "at" : ""}`;

/** The `share` of a channel that shares word by word, by the function `one`. */
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
