import { describe, expect, test } from "vitest";
import { tokenize } from "./lexer.ts";

const texts = (source: string) =>
  tokenize(source)
    .tokens.slice(0, -1)
    .map(({ start, end }) => source.slice(start, end));
const kinds = (source: string) =>
  tokenize(source)
    .tokens.slice(0, -1)
    .map(({ kind }) => kind);
const messages = (source: string) => tokenize(source).diagnostics.map(({ message }) => message);

describe("numbers", () => {
  test.each([
    "0",
    "0i",
    "12u",
    "0x1F",
    "0XAu",
    "1f",
    "0h",
    "1.5",
    "1.",
    ".5",
    "01.5",
    "1.e4f",
    "1e-3",
    "1E+3h",
    "0x1.8p-2f",
    "0x.8",
    "0x1.",
    "0x1p4",
    "0X1.fP+2h",
    "00.0",
  ])("%s is one literal", (source) => {
    expect(tokenize(source)).toMatchObject({
      diagnostics: [],
      tokens: [{ kind: "literal", end: source.length }, {}],
    });
  });

  test.each(["012", "00", "1x", "1uu", "0x", "0xg", "1.5u", "1e", "0x1.8p1x", "1.2.3", "1_000", "3Δ"])(
    "%s is one malformed literal",
    (source) => {
      expect(texts(source)).toEqual([source]);
      expect(messages(source)).toEqual([`\`${source}\` is not a valid number`]);
    },
  );

  test("a sign ends a number where it cannot be an exponent's", () => {
    expect(texts("1e+2-3")).toEqual(["1e+2", "-", "3"]);
    expect(texts("0x1e+2")).toEqual(["0x1e", "+", "2"]);
  });
});

describe("words", () => {
  test("keywords are their own kind, `true` and `false` are literals, `_` stands alone", () => {
    expect(kinds("fn f32 true _ _x var")).toEqual(["fn", "identifier", "literal", "_", "identifier", "var"]);
  });

  test("names may use every script", () => {
    for (const name of ["Δέλτα", "réflexion", "Кызыл", "𐰓𐰏𐰇", "朝焼け", "سلام", "검정", "गुलाबी"]) {
      expect(texts(`${name}+1`)).toEqual([name, "+", "1"]);
    }
  });

  test("reserved words and two leading underscores are errors", () => {
    expect(messages("let mut = 1;")).toEqual(["`mut` is a reserved word"]);
    expect(messages("__x")).toEqual(["the name `__x` starts with two underscores"]);
  });
});

describe("blankspace and comments", () => {
  test("every blank of the language separates tokens", () => {
    expect(texts("a\tb\vc\fd\re\u0085f\u200eg\u200fh\u2028i\u2029j")).toHaveLength(10);
  });

  test.each(["\n", "\v", "\f", "\r", "\u0085", "\u2028", "\u2029"])(
    "a line comment ends at %j",
    (lineBreak) => {
      expect(texts(`// a ${lineBreak} b`)).toEqual(["b"]);
    },
  );

  test("block comments nest", () => {
    expect(texts("a /* b /* c */ d */ e /**/ f")).toEqual(["a", "e", "f"]);
  });

  test("an open block comment is an error at its start", () => {
    expect(tokenize("a /* /* */").diagnostics).toMatchObject([
      { code: "BELAY003", span: { start: 2, end: 4 } },
    ]);
  });

  test("a null character is an error, in a comment too", () => {
    expect(tokenize("// \0").diagnostics).toMatchObject([{ code: "BELAY001", span: { start: 3, end: 4 } }]);
  });
});

test("operators are as long as they can be, except for `<` and `>`", () => {
  expect(kinds("a+=b&&c->d>>=e<f--g&h!=i")).toEqual([
    "identifier",
    "+=",
    "identifier",
    "&&",
    "identifier",
    "->",
    "identifier",
    ">",
    ">",
    "=",
    "identifier",
    "<",
    "identifier",
    "--",
    "identifier",
    "&",
    "identifier",
    "!=",
    "identifier",
  ]);
});

test("a run of other characters is one error, and spans are UTF-16 offsets", () => {
  const { tokens, diagnostics } = tokenize("😀 #$ x");
  expect(diagnostics).toMatchObject([{ span: { start: 0, end: 2 } }, { span: { start: 3, end: 5 } }]);
  expect(tokens[0]).toEqual({ kind: "identifier", start: 6, end: 7 });
  expect(messages("\ud800")).toEqual(["`U+D800` is not part of WGSL"]);
});
