/**
 * A hook of Node.js's module loader. It translates loops that have directives in files as they are
 * imported.
 */
import { readFileSync } from "node:fs";
import type { LoadFnOutput, LoadHookContext } from "node:module";
import { fileURLToPath } from "node:url";
import { renderLoopDiagnostic } from "../loops/translate.ts";
import { eraseTypes } from "./eraseTypes.ts";
import { readRelative } from "./modules.ts";
import { mayHaveLoops, replaceLoops } from "./replaceLoops.ts";
import { asBuilt } from "./severity.ts";

/** True if Node.js erases types itself, as it does from version 22.18 on. */
const erasesTypes = Boolean((process.features as { readonly typescript?: unknown }).typescript);

/**
 * Loads a file and translates its loops. Node.js loads other files, unless they are TypeScript and
 * it does not erase types. A loop that cannot be translated stays as it is, with a message on
 * stderr. The function serves as a synchronous and as an asynchronous hook.
 */
export function load<Result>(
  url: string,
  context: LoadHookContext,
  nextLoad: (url: string, context?: LoadHookContext) => Result,
): Result | LoadFnOutput {
  const [, kind, isTypeScript] = /^file:[^?#]*\.([cm]?)(?:js|(ts))(?:[?#].*)?$/.exec(url) ?? [];
  if (kind === undefined || url.includes("/node_modules/")) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const source = readFileSync(path, "utf8");
  const hasLoops = mayHaveLoops(source);
  if (!hasLoops && (!isTypeScript || erasesTypes)) return nextLoad(url, context);

  const format = kind === "c" || context.format?.startsWith("commonjs") ? "commonjs" : "module";
  const code = hasLoops ? translated(source, path, format) : source;
  return { format, source: isTypeScript ? eraseTypes(code, path) : code, shortCircuit: true };
}

function translated(source: string, path: string, format: "commonjs" | "module"): string {
  const { code, map, diagnostics } = replaceLoops(source, path, format, readRelative);
  for (const diagnostic of diagnostics) {
    process.stderr.write(`${renderLoopDiagnostic(asBuilt(diagnostic), source, { file: path })}\n\n`);
  }
  return code === undefined ? source : `${code}\n//# sourceMappingURL=${map!.toUrl()}\n`;
}
