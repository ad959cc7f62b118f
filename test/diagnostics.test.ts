/** Each code is documented, and each example in the documentation produces its code. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { protect } from "belay-gpu/internal/compiler/protect";
import { translate } from "belay-speculate/internal/loops/translate";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const documentation = readFileSync(join(root, "docs/diagnostics.md"), "utf8");

/** The sections, by code. */
const sections = new Map(
  documentation
    .split(/^(?=##)/m)
    .map((section) => [/^### (BELAY\d{3})$/m.exec(section)?.[1], section] as const)
    .filter((entry): entry is [string, string] => entry[0] !== undefined),
);

describe("docs/diagnostics.md", () => {
  it("explains exactly the codes in the sources", () => {
    const sources = readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" }).filter(
      (file) => /[\\/]src[\\/].*(?<!\.test)\.ts$/.test(file) && !file.includes("node_modules"),
    );
    const used = sources.flatMap(
      (file) => readFileSync(join(root, "packages", file), "utf8").match(/"BELAY\d{3}"/g) ?? [],
    );
    expect([...sections.keys()].sort()).toEqual([...new Set(used.map((code) => code.slice(1, -1)))].sort());
  });

  const examples = [...sections].flatMap(([code, section]) => {
    const [, language, example] = /^```(wgsl|ts)\n(.*?)^```$/ms.exec(section) ?? [];
    const isOfLoops = code.startsWith("BELAY5");
    return example === undefined || isOfLoops !== (language === "ts") ? [] : [[code, example] as const];
  });

  it("has examples", () => expect(examples.length).toBeGreaterThan(30));

  it.each(examples)("has an example that produces %s", (code, example) => {
    const { diagnostics } = code.startsWith("BELAY5") ? translate(example, "example.ts") : protect(example);
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
  });
});
