import MagicString, { type SourceMap } from "magic-string";
import type { PassedOn } from "../loops/lowering/lowerLoop.ts";
import { classOf } from "../loops/source/declaredTypes.ts";
import type { ModuleReader } from "../loops/source/imports.ts";
import { type LoopDiagnostic, type PlacedLoop, type TranslatedLoop, translate } from "../loops/translate.ts";
import type { LoopArray } from "../loops/tree/ir.ts";
import { everyExpression } from "../loops/tree/walk.ts";

/** The module with the functions that translated programs call. */
const engineModule = "belay-speculate/internal/translated";
/** The module for loops with doubles. */
const doublesModule = "belay-speculate/internal/doubles";
const moduleOf = (name: string) => (name === "callOfWords" ? doublesModule : engineModule);

export interface Replacement {
  /** The file with its loops replaced; undefined when there is nothing to replace. */
  readonly code?: string;
  readonly map?: SourceMap;
  readonly diagnostics: readonly LoopDiagnostic[];
}

/**
 * Returns true if a file may have loops for {@link replaceLoops}. The test of its text is cheap.
 */
export const mayHaveLoops = (source: string) =>
  source.includes("use speculate") || /#\s*pragma\s+omp\b/.test(source);

/**
 * Replaces the loops of a file that have directives with calls of the engine.
 *
 * Before:  for (let i = 0; i < n; i++) a[p[i]] = a[q[i]] + 1;
 * After:   { if (a instanceof Int32Array && …)
 *              await speculate({ loop, sequential, arrays: { a, p, q }, … });
 *            else { …; for (…) … } }
 *
 * The loop itself stays as the other branch, for data that its translation does not cover. Before
 * this branch and before refused loops, the host gets the arrays that devices have newer copies of.
 * `filename` decides the language. `read` gives the modules that the file imports.
 */
export function replaceLoops(
  source: string,
  filename: string,
  format: "commonjs" | "module" = /\.c[jt]s$/.test(filename) ? "commonjs" : "module",
  read?: ModuleReader,
): Replacement {
  const { loops, refused, diagnostics } = translate(source, filename, format, read);
  const replaced = loops.filter(({ mayAwait }) => mayAwait);
  const kept = [...refused, ...loops.filter(({ mayAwait }) => !mayAwait)];
  if (replaced.length + kept.length === 0) return { diagnostics };

  const text = new MagicString(source);
  const prefix = freshPrefix(source);
  const imported = new Set<string>();
  const engine = (name: string) => {
    if (format === "commonjs") return `(await import("${moduleOf(name)}")).${name}`;
    imported.add(name);
    return `${prefix}${name}`;
  };
  // All versions of Node.js that Belay supports can `require` modules.
  const engineAtOnce = (name: string) =>
    format === "commonjs" ? `require("${engineModule}").${name}` : engine(name);
  for (const [at, loop] of replaced.entries()) {
    const { span, start } = loop;
    const [before, after] = aroundTranslated(loop, engine, prefix, at);
    text.appendLeft(span.start, `{ ${before} `);
    if (span.start < start) text.remove(span.start, start);
    text.appendRight(span.end, ` ${after}}`);
  }
  for (const place of kept) {
    if (!place.mayAwait && place.names.length === 0) continue;
    const [before, after] = aroundKept(place, place.mayAwait ? engine : engineAtOnce, prefix);
    text.appendLeft(place.start, `{ ${before} `);
    text.appendRight(place.span.end, ` ${after}}`);
  }
  const constants = replaced.map(
    ({ loop, sequential }, at) =>
      `const ${prefix}loop${at} = ${JSON.stringify(loop)}, ${prefix}sequential${at} = ${sequential.trim()};`,
  );
  const variables = new Set(replaced.flatMap(({ shared }) => shared));
  for (const variable of variables) constants.push(`const ${prefix}shared${variable} = {};`);
  const start = /^#!.*\n/.exec(source)?.[0].length ?? 0;
  const imports = [engineModule, doublesModule].flatMap((module) => {
    const names = [...imported].filter((name) => moduleOf(name) === module);
    const list = names.map((name) => `${name} as ${prefix}${name}`);
    return names.length > 0 ? [`import { ${list.join(", ")} } from "${module}";`] : [];
  });
  if (imports.length + constants.length > 0)
    text.appendLeft(start, [...imports, ...constants, ""].join("\n"));
  return {
    code: text.toString(),
    map: text.generateMap({ source: filename, includeContent: true, hires: "boundary" }),
    diagnostics,
  };
}

type Engine = (name: string) => string;

/**
 * Returns the code before and after a translated loop. The code calls the engine if the data fits
 * the translation.
 */
function aroundTranslated(
  loop: TranslatedLoop,
  engine: Engine,
  prefix: string,
  at: number,
): [before: string, after: string] {
  const turn = `${prefix}turn`;
  const codes = (filter: (array: LoopArray) => boolean) =>
    loop.loop.arrays.filter(filter).map(({ name }) => optional(loop.host.arrays[name]!));
  const changed = codes(({ role, isCopy }) => role !== "read" && !isCopy).join(", ");
  const read = codes(({ role, isCopy }) => role === "read" && !isCopy).join(", ");
  const copied = codes(({ isCopy }) => isCopy === true);
  const tables = Object.entries(loop.host.rows).map(
    ([name, { path }]) =>
      [optional(loop.host.arrays[name]!), JSON.stringify([null, ...path.slice(0, -1)])] as const,
  );
  const parts = tables.map(([code, path]) => `...${engine("partsOf")}(${code}, ${path})`);
  const shared = [
    ...loop.shared.map((variable) => `${prefix}shared${variable}`),
    ...new Set([...copied, ...parts]),
  ];
  const uses = `{ changed: [${changed}], read: [${read}], variables: [${shared.join(", ")}] }`;
  const take = () => `const ${turn} = ${engine("takeTurn")}(${uses});`;
  const isShared = shared.length > 0;
  const call = callOf(loop, engine, prefix, at, isShared);
  const guards = loop.host.guards.join(" && ");
  const test =
    copied.length === 0
      ? `if (${guards}) { ${call} } else`
      : `if (!(${guards} && await ${engine("onCopies")}(${copiesOf(loop)}, { changed: [${changed}], read: [${read}] }, () => ${turn}.toHost(), async (${prefix}copies) => { ${call} })))`;
  const left = loop.host.exit === null ? "" : `let ${prefix}left; `;
  const exits = exitsOf(loop, engine, prefix);
  if (isShared) {
    // The turn comes before the variables are read, as an earlier call may still change them.
    const before = `${take()} try { if (${turn}.comes) await ${turn}.comes; ${test} { await ${turn}.toHost();`;
    return [left + before, `} } finally { ${turn}.end(); } ${exits}`];
  }
  if (loop.loop.arrays.length === 0) return [left + test, exits];
  return [
    `${left}${test} { ${take()} try { await ${turn}.toHost();`,
    `} finally { ${turn}.end(); } } ${exits}`,
  ];
}

/**
 * Returns the statements that leave the function, if the loop ended at one of them. The loop's own
 * variables get their values before, through others, as a value may use an outer variable of the
 * same name.
 */
function exitsOf({ host }: TranslatedLoop, engine: Engine, prefix: string): string {
  const [left, values, turn] = ["left", "values", "turn"].map((name) => `${prefix}${name}`);
  const branches = host.exits.map(({ statement, locals, arrays }, at) => {
    const codeOf = (local: (typeof locals)[number]) => ("code" in local ? local.code : valueIn(left!, local));
    const names = locals.map(({ name }) => name).join(", ");
    const run =
      locals.length === 0
        ? statement
        : `const ${values} = [${locals.map(codeOf).join(", ")}]; { let [${names}] = ${values}; ${statement} }`;
    const uses =
      arrays === null ? "" : `{ changed: [], read: [${arrays.map(optional).join(", ")}], variables: [] }`;
    const waiting = `const ${turn} = ${engine("takeTurn")}(${uses}); try { await ${turn}.toHost(); ${run} } finally { ${turn}.end(); }`;
    return `if (${left}?.${host.exit} === ${at + 1}) { ${arrays?.length === 0 ? run : waiting} }`;
  });
  return branches.length > 0 ? `${branches.join(" else ")} ` : "";
}

/** Returns the JavaScript of a value that a loop left among its carried variables. */
const valueIn = (left: string, { carried, isBoolean }: PassedOn) =>
  isBoolean ? `${left}.${carried} !== 0` : `${left}.${carried}`;

/** Returns the values that the host copies to arrays, as JavaScript. */
function copiesOf({ loop, host }: TranslatedLoop): string {
  const copies = loop.arrays.filter(({ isCopy }) => isCopy);
  const members = copies.map(({ name, element, role }) => {
    const rows = host.rows[name];
    const path = rows ? `, path: ${JSON.stringify(rows.path)}, isTyped: ${rows.isTyped}` : "";
    const lowest = host.lowest[name] === undefined ? "" : `, lowest: ${host.lowest[name]}`;
    return `${name}: { value: ${host.arrays[name]!}, as: "${classOf(element)}", isChanged: ${role !== "read"}${path}${lowest} }`;
  });
  return `{ ${members.join(", ")} }`;
}

/** Returns the JavaScript of an array that need not exist. */
const optional = (code: string) => code.replaceAll(".", "?.");

/** Returns the code before and after a loop that stays as it is. */
function aroundKept(
  { mayAwait, pauses, names }: PlacedLoop,
  engine: Engine,
  prefix: string,
): [before: string, after: string] {
  if (!mayAwait) return [`${engine("requireOnHost")}({ ${names.join(", ")} });`, ""];
  const turn = `${prefix}turn`;
  const begin = `const ${turn} = ${engine("takeTurn")}(); try { await ${turn}.toHost();`;
  const end = `} finally { ${turn}.end(); } `;
  // The loop may wait for code that needs a turn itself, so its own turn ends before it.
  return pauses ? [begin + end, ""] : [begin, end];
}

/** Returns a prefix for names that the file does not use. */
function freshPrefix(source: string): string {
  let prefix = "$belay_";
  while (source.includes(prefix)) prefix = `$${prefix}`;
  return prefix;
}

/** Returns the call of the engine, and the assignments of its results to variables. */
function callOf(
  { loop, host, options }: TranslatedLoop,
  engine: Engine,
  prefix: string,
  at: number,
  hasTurn: boolean,
): string {
  const object = (pairs: Readonly<Record<string, string>>) => {
    const members = Object.entries(pairs).map(([name, code]) => (name === code ? name : `${name}: ${code}`));
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  };
  // An input may be one although the expression that used it is gone.
  const hasDoubles = [...everyExpression(loop), ...loop.inputs].some(({ type }) => type === "f64");
  const isCopy = (name: string) => loop.arrays.some((one) => one.name === name && one.isCopy);
  const arrays = Object.fromEntries(
    Object.entries(host.arrays).map(([name, code]) => [
      name,
      isCopy(name) ? `${prefix}copies.${name}` : code,
    ]),
  );
  const call = `await ${engine("speculate")}(${object({
    loop: `${prefix}loop${at}`,
    sequential: `${prefix}sequential${at}`,
    arrays: object(arrays),
    inputs: object(host.inputs),
    carried: object(host.carried),
    reductions: object(host.reductions),
    first: host.first,
    step: host.step,
    count: host.count,
    ...(hasDoubles && { doubles: engine("callOfWords") }),
    ...(hasTurn && { turn: `${prefix}turn` }),
  })}${options === null ? "" : `, ${options}`})`;
  const results = [
    ...Object.entries(host.changed).map(
      ([variable, passed]) => `${variable} = ${valueIn(`${prefix}result.carried`, passed)};`,
    ),
    ...Object.entries(host.reductions).map(
      ([name, variable]) => `${variable} = ${prefix}result.reductions.${name};`,
    ),
    ...(host.exit === null ? [] : [`${prefix}left = ${prefix}result.carried;`]),
  ];
  if (host.final !== null) {
    const done = `(${prefix}result.next - (${prefix}result.ended ? 1 : 0))`;
    results.unshift(`${host.final} = ${host.first} + ${done} * ${host.step};`);
  }
  const statements = results.length > 0 ? [`const ${prefix}result = ${call};`, ...results] : [`${call};`];
  return statements.join(" ");
}
