import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { printDeclaration } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { FindingFunctions } from "./findingFunctions.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";

/** Returns how a load reacts to its syndrome, and the names of the declarations that this takes. */
function reactionTo(kind: Parameters<FindingFunctions["reaction"]>[0]) {
  const library = new GeneratedDeclarations();
  const names = new Names(typed("@compute @workgroup_size(1) fn main() {}"));
  const findings = new FindingFunctions(names, library, () => "table");
  const statements = findings.reaction(kind, "0u, granule, syndrome", () => "repaired()");
  const declared = library.declarations.map(
    (each) => /(?:fn|var<private>) belay_(\w+)/.exec(printDeclaration(each))![1]!,
  );
  return { statements, declared: declared.sort() };
}

describe("a load", () => {
  it("that is peeked at only notes that something is wrong", () => {
    const { statements, declared } = reactionTo("peeked");
    expect(statements).toBe("belay_bad |= syndrome; return data;");
    expect(declared).toEqual(["bad"]);
  });

  it("that is corrected tells at once, and only if it found an error", () => {
    const { statements, declared } = reactionTo("corrected");
    expect(statements).toMatch(/^if \(syndrome == 0u\) \{ return data; \}/);
    expect(statements).toContain("belay_tell();");
    expect(declared).toEqual(["finding", "found", "tell"]);
  });

  it("that is repaired leaves telling to others", () => {
    expect(reactionTo("repaired")).toEqual({ statements: "return repaired();", declared: [] });
  });

  it("whose value must be uniform stays as it is, and counts as uncorrectable", () => {
    const { statements, declared } = reactionTo("uniform");
    expect(statements).toContain("belay_note(2u, 0u, granule, syndrome);");
    expect(statements).toMatch(/return data;$/);
    expect(statements).not.toContain("repaired");
    expect(declared).toEqual(["finding", "found", "note", "tell"]);
  });
});
