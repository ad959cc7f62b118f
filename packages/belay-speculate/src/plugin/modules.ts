/** The modules that files with loops import. */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ModuleReader, ModuleSource } from "../loops/source/imports.ts";
import type { Resolve } from "./resolution.ts";

/** The endings that a specifier may leave out, in the order in which they are tried. */
const endings = ["", ".ts", ".tsx", ".mts", ".js", ".mjs", ".jsx", "/index.ts", "/index.js"];

/** Reads a module that a relative specifier names, as TypeScript finds it. */
export const readRelative: ModuleReader = (specifier, importer) => {
  if (!/^\.\.?\//.test(specifier)) return undefined;
  const path = resolve(dirname(importer), specifier);
  // TypeScript calls a file by the name that it has once it is JavaScript.
  const typed = path.replace(/\.([cm]?)js$/, ".$1ts");
  for (const name of [...endings.map((ending) => path + ending), typed]) {
    const module = readModule(name);
    if (module) return module;
  }
  return undefined;
};

/** Reads the file of a module; undefined if it is no file of JavaScript or TypeScript. */
export function readModule(filename: string): ModuleSource | undefined {
  if (!/^[^\0]+\.[cm]?[jt]sx?$/.test(filename)) return undefined;
  if (!statSync(filename, { throwIfNoEntry: false })?.isFile()) return undefined;
  return { filename, source: readFileSync(filename, "utf8") };
}

/**
 * Translates with modules that a bundler resolves. A translation names the modules that it misses,
 * so it is made again until it misses none.
 */
export async function withModules<Result>(
  translate: (read: ModuleReader) => Result,
  resolveModule: Resolve,
): Promise<Result> {
  const known = new Map<string, ModuleSource | undefined>();
  for (;;) {
    const missing = new Map<string, readonly [specifier: string, importer: string]>();
    const result = translate((specifier, importer) => {
      const key = `${specifier}\0${importer}`;
      if (!known.has(key)) missing.set(key, [specifier, importer]);
      return known.get(key);
    });
    if (missing.size === 0) return result;
    for (const [key, [specifier, importer]] of missing) {
      const filename = await resolveModule(specifier, importer);
      known.set(key, filename === undefined ? undefined : readModule(filename));
    }
  }
}
