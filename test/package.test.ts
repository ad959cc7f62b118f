/** What is packed finds what it imports: sources of loops are read where the package is installed. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

const root = resolve(import.meta.dirname, "..");

it("packs every source that a packed source imports", () => {
  const packed = manifest.files
    .map((entry) => join(root, entry))
    .filter((path) => !path.includes("dist") && existsSync(path))
    .flatMap((path) =>
      statSync(path).isFile()
        ? [path]
        : readdirSync(path, { recursive: true, encoding: "utf8" }).map((file) => join(path, file)),
    )
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
  expect(packed.length).toBeGreaterThan(10);
  // Types are erased where sources are loaded.
  const valuesOf = (path: string) =>
    ts.transpileModule(readFileSync(path, "utf8"), {
      compilerOptions: { module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    }).outputText;
  const missing = packed.flatMap((path) =>
    ts
      .preProcessFile(valuesOf(path), true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => name.startsWith(".") && !packed.includes(resolve(dirname(path), name)))
      .map((name) => `${path} imports ${name}`),
  );
  expect(missing).toEqual([]);
});
