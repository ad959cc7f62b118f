import MagicString, { type SourceMap } from "magic-string";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { directiveModule } from "../loops/source/speculatedLoops.ts";
import { type TranslatedLoop, translate } from "../loops/translate.ts";

export interface Replacement {
  /** The file with its loops replaced; undefined when there is nothing to replace. */
  readonly code?: string;
  readonly map?: SourceMap;
  readonly diagnostics: readonly Diagnostic[];
}

/** Whether a file may have loops for {@link replaceLoops}: a cheap test of its text. */
export const mayHaveLoops = (source: string) =>
  source.includes("use speculate") || /#\s*pragma\s+omp\b/.test(source);

/**
 * Replaces the loops of a file that have directives by calls of the engine.
 *
 * Before:  for (let i = 0; i < n; i++) a[p[i]] = a[q[i]] + 1;
 * After:   { if (a instanceof Int32Array && …) await speculate({ loop, sequential, arrays: { a, p, q }, … }); else for (…) … }
 *
 * The loop itself stays as the other branch, for when it meets what its translation does not cover. `filename` decides the language.
 */
export function replaceLoops(
  source: string,
  filename: string,
  format: "commonjs" | "module" = /\.c[jt]s$/.test(filename) ? "commonjs" : "module",
): Replacement {
  const { loops, diagnostics } = translate(source, filename);
  const replaced = loops.filter(({ mayAwait }) => mayAwait);
  if (replaced.length === 0) return { diagnostics };

  const text = new MagicString(source);
  const prefix = freshPrefix(source);
  // CommonJS cannot require a module in all versions of Node.js.
  const engine =
    format === "module" ? `${prefix}speculate` : `(await import("${directiveModule}")).speculate`;
  for (const [at, loop] of replaced.entries()) {
    text.appendLeft(loop.span.start, `{ ${callOf(loop, engine, prefix, at)} `);
    if (loop.span.start < loop.start) text.remove(loop.span.start, loop.start);
    text.appendRight(loop.span.end, " }");
  }
  const constants = replaced.map(
    ({ loop, sequential }, at) =>
      `const ${prefix}loop${at} = ${JSON.stringify(loop)}, ${prefix}sequential${at} = ${sequential.trim()};`,
  );
  const start = /^#!.*\n/.exec(source)?.[0].length ?? 0;
  const imports =
    format === "module" ? [`import { speculate as ${prefix}speculate } from "${directiveModule}";`] : [];
  text.appendLeft(start, [...imports, ...constants, ""].join("\n"));
  return {
    code: text.toString(),
    map: text.generateMap({ source: filename, includeContent: true, hires: "boundary" }),
    diagnostics,
  };
}

/** The start of names that the file does not use. */
function freshPrefix(source: string): string {
  let prefix = "$belay_";
  while (source.includes(prefix)) prefix = `$${prefix}`;
  return prefix;
}

/** The call of the engine, and the condition under which it stands for the loop. */
function callOf({ loop, host }: TranslatedLoop, engine: string, prefix: string, at: number): string {
  const object = (pairs: Readonly<Record<string, string>>) => {
    const members = Object.entries(pairs).map(([name, code]) => (name === code ? name : `${name}: ${code}`));
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  };
  const arrays = Object.fromEntries(loop.arrays.map(({ name }) => [name, name]));
  const call = `await ${engine}(${object({
    loop: `${prefix}loop${at}`,
    sequential: `${prefix}sequential${at}`,
    arrays: object(arrays),
    inputs: object(host.inputs),
    carried: object(host.carried),
    reductions: object(host.reductions),
    first: host.first,
    step: host.step,
    count: host.count,
  })})`;
  const results = (["carried", "reductions"] as const).flatMap((kind) =>
    Object.entries(host[kind]).map(([name, variable]) => `${variable} = ${prefix}result.${kind}.${name};`),
  );
  const statements = results.length > 0 ? [`const ${prefix}result = ${call};`, ...results] : [`${call};`];
  return `if (${host.guards.join(" && ")}) { ${statements.join(" ")} } else`;
}
