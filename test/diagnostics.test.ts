/**
 * Tests that every diagnostic is registered, documented and used, and that every example produces
 * it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { protect } from "belay-gpu/internal/compiler/protect";
import {
  codeOf,
  type DiagnosticName,
  diagnosticCodes,
  labelOf,
  nameOf,
} from "belay-gpu/internal/diagnostics/registry";
import { translate } from "belay-speculate/internal/loops/translate";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const documentation = readFileSync(join(root, "docs/reference/diagnostics.md"), "utf8");

/** The sections of the documentation by code. */
const sections = new Map(
  documentation
    .split(/^(?=##)/m)
    .map((section) => [/^### (BELAY\d{3}) /m.exec(section)?.[1], section] as const)
    .filter((entry): entry is [string, string] => entry[0] !== undefined),
);

const registeredDiagnostics = Object.entries(diagnosticCodes).map(([name, code]) => ({
  name: name as DiagnosticName,
  code,
}));

/** The texts of the packages' sources, without tests and the registries. */
const sources = readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
  .filter((file) => /[\\/]src[\\/].*(?<!\.test)\.ts$/.test(file) && !file.includes("node_modules"))
  .filter((file) => !/diagnostics[\\/](registry|wgslRegistry)\.ts$/.test(file))
  .map((file) => readFileSync(join(root, "packages", file), "utf8"));

describe("the registry of diagnostics", () => {
  it("has a unique code and a unique kebab-case name for each", () => {
    const codes = registeredDiagnostics.map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    for (const { code, name } of registeredDiagnostics) {
      expect(code).toMatch(/^BELAY\d{3}$/);
      expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(codeOf(name)).toBe(code);
      expect(nameOf(code)).toBe(name);
    }
  });

  it("is the only source that spells out codes", () => {
    expect(sources.flatMap((source) => source.match(/["']BELAY\d{3}/g) ?? [])).toEqual([]);
  });

  it("has only diagnostics that the sources use", () => {
    const text = sources.join("\n");
    const isUsed = (name: string) => text.includes(`"${name}"`);
    expect(registeredDiagnostics.filter(({ name }) => !isUsed(name))).toEqual([]);
  });

  it("adds the name of a known code to a message", () => {
    expect(labelOf("BELAY216")).toBe("BELAY216 memory-host-verified");
    expect(labelOf("internal")).toBe("internal");
  });
});

describe("docs/reference/diagnostics.md", () => {
  it("lists and explains all registered diagnostics, and no others", () => {
    const headings = documentation.match(/^### .*$/gm) ?? [];
    const registered = registeredDiagnostics.map(({ code, name }) => `### ${code} ${name}`);
    expect(headings.sort()).toEqual(registered.sort());
    const rows = documentation.match(/^\| `[a-z0-9-]+` \|.*(?=\| .+ \|$)/gm) ?? [];
    expect(rows).toEqual(
      registeredDiagnostics.map(
        ({ code, name }) => `| \`${name}\` | [${code}](#${code.toLowerCase()}-${name}) `,
      ),
    );
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
