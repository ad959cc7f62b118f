import type { Diagnostic } from "belay-gpu/internal/diagnostics/diagnostic";
import { type Comment, type Program, parseSync } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { movePositions } from "../directives/offsets.ts";
import type { Binding } from "./scopes.ts";

export interface ParsedFile {
  /** The text of the file, and after it the texts of the modules that its loops use. */
  source: string;
  readonly program: Program;
  /** The comments in `source`, in order. */
  readonly comments: Comment[];
  /** Returns the declaration of an imported name in its module, or the import if it is unknown. */
  follow(binding: Binding): Binding;
  /** Returns the export of a namespace, such as that of `import * as util`. */
  memberOf(namespace: Binding, name: string): Binding | undefined;
}

/**
 * The largest depths of brackets, and of operators between two ends of statements, for which the
 * parser's stack is large enough.
 */
const deepest = { brackets: 500, operators: 2000 };

/**
 * Parses a TypeScript or JavaScript file; the ending of the file name decides which. Returns
 * diagnostics for a file that does not parse. `start` is added to all positions in the tree.
 */
export function parse(
  source: string,
  filename: string,
  start = 0,
): { readonly file?: ParsedFile; readonly diagnostics: readonly Diagnostic[] } {
  const tooDeep = findExcessiveNesting(source);
  if (tooDeep !== undefined) {
    return { diagnostics: [loopError.tooDeep({ start: tooDeep, end: tooDeep + 1 })] };
  }
  const result = parseSync(filename, source, { preserveParens: false });
  const diagnostics = result.errors.map(({ message, labels, helpMessage }) => {
    const { start, end } = labels[0] ?? { start: 0, end: 0 };
    return loopError.syntax(message, { start, end }, helpMessage ?? undefined);
  });
  if (diagnostics.length > 0) return { diagnostics };
  const { program, comments } = result;
  if (start > 0) movePositions([program, comments], start);
  const file: ParsedFile = {
    source,
    program,
    comments,
    follow: (binding) => binding,
    memberOf: () => undefined,
  };
  return { file, diagnostics };
}

/**
 * Returns the place where the nesting may overflow the parser's stack. The parser is native code,
 * and an overflow would end the process. Strings and comments do not count. Outside brackets,
 * operators and keywords nest.
 */
function findExcessiveNesting(source: string): number | undefined {
  const token =
    /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[([{]|[)\]}]|[;,]|[-+*/%&|^!~<>=?:.]+|\b(?:if|else|for|while|do|new|await|typeof|void|delete|keyof|yield|as|in|of|async)\b/g;
  let brackets = 0;
  let operators = 0;
  let nestedStatements = 0;
  for (const { 0: text, index } of source.matchAll(token)) {
    const first = text.charAt(0);
    if (text.length > 1 && (first === '"' || first === "'" || text.startsWith("//") || text.startsWith("/*")))
      continue;
    if ("([{".includes(first)) brackets++;
    else if (")]}".includes(first)) brackets = Math.max(0, brackets - 1);
    else if (first === ";" || first === ",") operators = 0;
    else operators += /\w/.test(first) ? 1 : text.length;
    if (first === "{" || first === "}") operators = 0;
    nestedStatements = text === "else" ? nestedStatements + 1 : first === "}" ? 0 : nestedStatements;
    if (
      brackets > deepest.brackets ||
      operators > deepest.operators ||
      nestedStatements > deepest.operators
    ) {
      return index;
    }
  }
  return undefined;
}
