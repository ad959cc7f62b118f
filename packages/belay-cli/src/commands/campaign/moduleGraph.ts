/** The digest of a module's files, which tells two versions of the module apart. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createJiti } from "jiti";
import { parseSync } from "oxc-parser";

/** The name of a file that is parsed for imports. Other files, such as JSON, are only read. */
const moduleName = /\.[cm]?[jt]sx?$/;

/**
 * Returns a digest of a module, all local files that it imports, directly or not, and the versions
 * of its packages. Files named as `new URL("./file", import.meta.url)` count as imported. Imports
 * that cannot be resolved are ignored; loading the module reports them.
 */
export function digestOfModule(path: string): string {
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const root = realpathSync(path);
  const digests = new Map<string, string>();
  const waiting = [root];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const installed = packageOf(file);
    // Files are named relative to the module, so that a copy of all files gets the same digest.
    const name = installed ?? relative(dirname(root), file).replaceAll(sep, "/");
    if (digests.has(name)) continue;
    const text = installed ? "" : readFileSync(file, "utf8");
    digests.set(name, digest(text));
    if (installed || !moduleName.test(file)) continue;
    for (const specifier of specifiersIn(file, text)) {
      if (isBuiltin(specifier)) continue;
      const options = { parentURL: pathToFileURL(file).href, try: true };
      const url: string | undefined = jiti.esmResolve(specifier, options);
      if (!url?.startsWith("file:")) continue;
      const found = fileURLToPath(url);
      if (existsSync(found)) waiting.push(realpathSync(found));
    }
  }
  return digest(JSON.stringify([...digests].sort(([a], [b]) => (a < b ? -1 : 1)))).slice(0, 12);
}

const digest = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the specifiers of a module's imports at run time. */
function specifiersIn(file: string, text: string): string[] {
  const { module } = parseSync(file, text);
  const imported = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const exported = module.staticExports
    .flatMap(({ entries }) => entries)
    .filter(({ isType }) => !isType)
    .flatMap(({ moduleRequest }) => moduleRequest?.value ?? []);
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) =>
    literal(text.slice(start, end)),
  );
  const required = [...text.matchAll(/\brequire\(\s*("[^"]*"|'[^']*')\s*\)/g)];
  const named = [...text.matchAll(/\bnew URL\(\s*("[^"]*"|'[^']*'|`[^`$]*`)\s*,\s*import\.meta\.url/g)];
  return [
    ...imported,
    ...exported,
    ...dynamic,
    ...[...required, ...named].flatMap(([, given]) => literal(given!)),
  ];
}

/**
 * Returns the value of a string literal without escapes, or nothing for an expression that is known
 * only at run time.
 */
const literal = (text: string): string[] => (/^(["'`])[^\\$]*\1$/.test(text) ? [text.slice(1, -1)] : []);

/** Returns the package of an installed file with its version, or undefined for a local file. */
function packageOf(file: string): string | undefined {
  const parts = file.split(sep);
  const at = parts.lastIndexOf("node_modules");
  if (at < 0) return undefined;
  const length = parts[at + 1]?.startsWith("@") ? 3 : 2;
  const folder = parts.slice(0, at + length).join(sep);
  const manifest = join(folder, "package.json");
  const { version } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")) : {};
  return `${parts.slice(at + 1, at + length).join("/")}@${version}`;
}
