/**
 * Checks the contents of the packages: shipped files exist, and sources import only dependencies.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { root, workspaces } from "./support/workspaces.ts";

describe.each(workspaces)("$manifest.name", ({ folder, manifest }) => {
  const sources = readdirSync(join(root, folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map((path) => readFileSync(join(root, folder, "src", path), "utf8"));
  const imported = new Set(
    sources
      .flatMap((source) => ts.preProcessFile(source, true, true).importedFiles)
      .map(({ fileName }) => fileName)
      .filter((name) => !/^[.$]|^node:/.test(name))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );

  it("depends on the packages that its sources import", () => {
    // Optional peers are imported where a command needs them, which tells how to install them.
    const known = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect([...imported].filter((name) => !known[name])).toEqual([]);
  });

  it("ships the license", () => {
    expect(readFileSync(join(root, folder, "LICENSE"), "utf8")).toBe(
      readFileSync(join(root, "LICENSE"), "utf8"),
    );
  });

  it("has a README without links into the repository, which a registry would not resolve", () => {
    const links = readFileSync(join(root, folder, "README.md"), "utf8").matchAll(/\]\(([^)]+)\)/g);
    expect([...links].map(([, target]) => target).filter((target) => !/^https:|^#/.test(target!))).toEqual(
      [],
    );
  });

  it("ships its sources without tests, for its source maps", () => {
    expect(manifest.files).toEqual(expect.arrayContaining(["dist", "src", "!**/*.test.ts", "!**/goldens"]));
    const others = readdirSync(join(root, folder, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/goldens/.test(entry.parentPath) && !entry.name.endsWith(".ts"))
      .map(({ name }) => extname(name));
    expect(others.filter((ending) => !manifest.files.includes(`!src/**/*${ending}`))).toEqual([]);
  });
});

it("a page installs one package", () => {
  expect(workspaces[0]!.manifest.dependencies ?? {}).toEqual({});
});
