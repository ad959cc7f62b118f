/**
 * The built declarations of the packages compile with `skipLibCheck: false` in a program that has
 * only these packages.
 */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { entryPoints, root, workspaces } from "./support/workspaces.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-consumer-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const { folder: from, manifest } of workspaces) {
  const to = join(folder, "node_modules", manifest.name);
  cpSync(join(root, from, "package.json"), join(to, "package.json"), { recursive: true });
  cpSync(join(root, from, "dist"), join(to, "dist"), { recursive: true });
}
mkdirSync(join(folder, "node_modules/@types"));
symlinkSync(join(root, "node_modules/@types/node"), join(folder, "node_modules/@types/node"));

/** Returns TypeScript's errors for a program that imports these modules. */
function problemsOf(modules: readonly string[], options: ts.CompilerOptions): string[] {
  const main = join(folder, "main.mts");
  writeFileSync(
    main,
    modules.map((name, at) => `import * as m${at} from "${name}";\nvoid m${at};\n`).join(""),
  );
  const program = ts.createProgram([main], {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    // TypeScript's own declarations take most of the time.
    skipDefaultLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    ...options,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    return `${file?.fileName.replace(`${folder}/`, "")}: ${text}`;
  });
}

const all = [...entryPoints().keys()];
const forPages = all.filter((name) => /^belay-(gpu|speculate)/.test(name));
const inNode = { types: ["node"], module: ts.ModuleKind.NodeNext };
const bundled = {
  types: [],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

describe("declarations compile", () => {
  it("in a program for Node.js", () => {
    expect(all.length).toBeGreaterThan(10);
    expect(problemsOf(all, inNode)).toEqual([]);
  });

  it("in a page, without types of Node.js", () => {
    expect(problemsOf(forPages, bundled)).toEqual([]);
  });

  it("fail to compile if they name types of a package that is missing", () => {
    writeFileSync(join(folder, "plugin.d.mts"), 'export declare const plugin: import("vite").Plugin;\n');
    expect(problemsOf(["./plugin.mjs"], inNode)).toEqual([expect.stringContaining("vite")]);
  });
});
