import { describe, expect, it } from "vitest";
import { newLibrary, runReplicas } from "../../../../../../test/support/kernels/replicas.ts";
import { printDeclaration } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { comparedWords, declareAgreement, shareEach } from "./channel.ts";
import type { Words } from "./valueWords.ts";

const words = (count: Words["count"]): Words => ({
  expression: quote().expression`value`,
  count,
  scalar: "u32",
});

it("compares an address, if it can differ, and each word of a value", () => {
  expect(comparedWords({ address: true, words: words(1) })).toEqual(["address", "value"]);
  expect(comparedWords({ address: false, words: words(3) })).toEqual(["value.x", "value.y", "value.z"]);
  expect(comparedWords({ address: true, words: null })).toEqual(["address"]);
});

describe("an agreement", () => {
  const agreement = (statements: string) => {
    const library = newLibrary();
    const body = () => ({ statements, cause: "7u" });
    return { library, name: declareAgreement(library, { address: true, words: words(2) }, body) };
  };
  const run = (statements: string) => {
    const { library, name } = agreement(statements);
    return runReplicas(library, `output[lane] = u32(${name}(3u, 4u, input[lane].xy));`, [[5, 6]]);
  };

  it("records the value with a cause, and returns false", () => {
    expect(run("")).toEqual({
      output: [0],
      records: [{ invocation: 0, replica: 0, cause: 7, value: 5 }],
    });
  });

  it("records nothing if its statements return", () => {
    expect(run("if (value.y == 6u) { return true; }")).toEqual({ output: [1], records: [] });
  });

  it("records all words of the value, and zeros after them", () => {
    const [made] = agreement("").library.takeDeclarations();
    expect(printDeclaration(made!)).toContain(
      "belay_record(site, 7u, address, vec4<u32>(value.x, value.y, 0u, 0u));",
    );
  });

  it("is declared once for values of one size", () => {
    const library = newLibrary();
    const body = () => ({ statements: "", cause: "1u" });
    const names = ([1, 2, 2, 4] as const).map((count) =>
      declareAgreement(library, { address: false, words: words(count) }, body),
    );
    expect(names).toEqual(["belay_agree1", "belay_agree2", "belay_agree2", "belay_agree4"]);
    expect(declareAgreement(library, { address: true, words: null }, body)).toBe("belay_agree0at");
    expect(library.takeDeclarations()).toHaveLength(4);
  });
});

it("shares each word through the function of one", () => {
  const library = newLibrary();
  expect(shareEach(library, "one", 1)).toBe("one");
  library.emit("fn one(site: u32, value: u32) -> u32 { return site + value; }");
  const body = `let all = ${shareEach(library, "one", 3)}(10u, input[lane].xyz); output[lane] = all.x + all.y * all.z;`;
  expect(runReplicas(library, body, [[1, 2, 3]]).output).toEqual([11 + 12 * 13]);
});
