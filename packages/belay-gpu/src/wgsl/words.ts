/**
 * Lists the words that cannot be names. Source: WGSL specification, "Keyword Summary" and "Reserved
 * Words".
 */

const keywords = [
  "alias",
  "break",
  "case",
  "const",
  "const_assert",
  "continue",
  "continuing",
  "default",
  "diagnostic",
  "discard",
  "else",
  "enable",
  "fn",
  "for",
  "if",
  "let",
  "loop",
  "override",
  "requires",
  "return",
  "struct",
  "switch",
  "var",
  "while",
] as const;

export type Keyword = (typeof keywords)[number];

const keywordSet: ReadonlySet<string> = new Set(keywords);

/** Returns true for a keyword. `true` and `false` are literals, not keywords. */
export function isKeyword(word: string): word is Keyword {
  return keywordSet.has(word);
}

const reservedWords: ReadonlySet<string> = new Set(
  `NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class
  co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval
  constexpr constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export
  extends extern external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl
  implements import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut
  mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of
  operator package packoffset partition pass patch pixelfragment precise precision premerge priv protected pub public
  readonly ref regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm
  static static_assert static_cast std subroutine super target template this thread_local throw trait try type typedef
  typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with writeonly
  yield`.split(/\s+/),
);

/** Returns true for a word that the language reserves for future use. */
export function isReservedWord(word: string): boolean {
  return reservedWords.has(word);
}
