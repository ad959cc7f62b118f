/**
 * Reads the signature table (see builtins.ts). The lines of a function are parsed at its first use.
 */
import { scalarSets, signatureTable } from "../builtins.ts";
import { scalarTypes } from "../conversion.ts";
import type { AccessMode, AddressSpace, ScalarName, ScalarType } from "../types.ts";

/** The size of a vector or matrix in a pattern: a number, or a variable's name. */
export type SizePattern = number | string;

/** The shape of a parameter or a result, with variables. */
export type Pattern =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "scalar"; readonly type: ScalarType }
  | { readonly kind: "vector"; readonly size: SizePattern; readonly element: Pattern }
  | {
      readonly kind: "matrix";
      readonly columns: SizePattern;
      readonly rows: SizePattern;
      readonly element: Pattern;
    }
  | { readonly kind: "runtimeArray"; readonly element: Pattern }
  | { readonly kind: "atomic"; readonly element: Pattern }
  | {
      readonly kind: "pointer";
      readonly spaces: readonly AddressSpace[];
      readonly store: Pattern;
      readonly access: readonly AccessMode[];
    }
  | { readonly kind: "texture"; readonly name: string; readonly sampled: Pattern | undefined }
  | {
      readonly kind: "storageTexture";
      readonly name: string;
      readonly texel: string;
      readonly access: readonly AccessMode[];
    }
  | { readonly kind: "sampler"; readonly comparison: boolean }
  | { readonly kind: "result"; readonly family: string; readonly operand: Pattern };

/** The types that a variable may take. */
export interface Constraint {
  /** The allowed scalars; undefined allows every type. */
  readonly scalars: readonly ScalarName[] | undefined;
  readonly vectors: boolean;
  readonly constructible: boolean;
}

export interface Signature {
  /** The signature as the table has it, for messages. */
  readonly text: string;
  readonly isConst: boolean;
  readonly parameters: readonly Pattern[];
  /** The pattern of the result; undefined for a function without one. */
  readonly result: Pattern | undefined;
  readonly constraints: ReadonlyMap<string, Constraint>;
}

const lineForm = /^(const )?(.+?) \((.*)\)(?: -> (.+?))?(?: where (.+))?$/;
const linesByName = new Map<string, RegExpExecArray[]>();
for (const line of signatureTable.split("\n")) {
  const match = line.startsWith("#") ? null : lineForm.exec(line);
  if (!match) continue;
  for (const name of match[2]!.split(" ")) {
    const lines = linesByName.get(name);
    if (lines) lines.push(match);
    else linesByName.set(name, [match]);
  }
}
const parsed = new Map<string, readonly Signature[]>();

/** The names of the predeclared functions, except `bitcast`. */
export const signatureNames: readonly string[] = [...linesByName.keys()].filter((name) => /^\w/.test(name));

/** Returns the overloads of a predeclared function or an operator; none for an unknown name. */
export function signaturesOf(name: string): readonly Signature[] {
  let signatures = parsed.get(name);
  if (!signatures) {
    signatures = (linesByName.get(name) ?? []).flatMap((line) => parseLine(name, line));
    parsed.set(name, signatures);
  }
  return signatures;
}

function parseLine(name: string, line: RegExpExecArray): Signature[] {
  const [, isConst, , parameters = "", result, where] = line;
  const constraints = new Map<string, Constraint>();
  for (const clause of where?.split(", ") ?? []) {
    const [variable = "", set = ""] = clause.split(": ");
    constraints.set(variable, parseConstraint(set));
  }
  return parameterLists(parameters).map((list) => {
    const patterns = new PatternParser(constraints);
    const suffix = `${result ? ` -> ${result}` : ""}${where ? ` where ${where}` : ""}`;
    return {
      text: `${name}(${list.join(", ")})${suffix}`,
      isConst: isConst !== undefined,
      parameters: list.map((parameter) => patterns.parse(parameter)),
      result: result === undefined ? undefined : patterns.parse(result),
      constraints,
    };
  });
}

function parseConstraint(text: string): Constraint {
  const vectors = text.endsWith("~");
  const set = vectors ? text.slice(0, -1) : text;
  if (set === "any" || set === "constructible") {
    return { scalars: undefined, vectors: true, constructible: set === "constructible" };
  }
  return { scalars: scalarSets[set] ?? (set.split("|") as ScalarName[]), vectors, constructible: false };
}

/** Expands alternatives `A | B` and an optional last parameter into plain lists. */
function parameterLists(text: string): string[][] {
  let lists: string[][] = [[]];
  for (const parameter of text === "" ? [] : splitArguments(text)) {
    const optional = parameter.endsWith("?");
    const alternatives = (optional ? parameter.slice(0, -1) : parameter).split(" | ");
    const extended = lists.flatMap((list) => alternatives.map((alternative) => [...list, alternative]));
    lists = optional ? [...lists, ...extended] : extended;
  }
  return lists;
}

/** Parses one signature's patterns, and adds a variable for each anonymous `int`. */
class PatternParser {
  readonly #constraints: Map<string, Constraint>;

  constructor(constraints: Map<string, Constraint>) {
    this.#constraints = constraints;
  }

  parse(text: string): Pattern {
    const open = text.indexOf("<");
    const name = open < 0 ? text : text.slice(0, open);
    const args = open < 0 ? [] : splitArguments(text.slice(open + 1, -1));
    const first = args[0] ?? "";
    const vector = /^vec([2-4A-Z])$/.exec(name);
    if (vector) return { kind: "vector", size: parseSize(vector[1]!), element: this.parse(first) };
    const matrix = /^mat([2-4A-Z])x([2-4A-Z])$/.exec(name);
    if (matrix) {
      const [, columns, rows] = matrix;
      return {
        kind: "matrix",
        columns: parseSize(columns!),
        rows: parseSize(rows!),
        element: this.parse(first),
      };
    }
    if (name.startsWith("texture_storage") || name === "texel_buffer") {
      return { kind: "storageTexture", name, texel: first, access: args[1]!.split("|") as AccessMode[] };
    }
    if (name.startsWith("texture_")) {
      return { kind: "texture", name, sampled: first === "" ? undefined : this.parse(first) };
    }
    if (name.startsWith("__")) return { kind: "result", family: name, operand: this.parse(first) };
    switch (name) {
      case "ptr":
        return {
          kind: "pointer",
          spaces: first.split("|") as AddressSpace[],
          store: this.parse(args[1]!),
          access: args[2]!.split("|") as AccessMode[],
        };
      case "array":
        return { kind: "runtimeArray", element: this.parse(first) };
      case "atomic":
        return { kind: "atomic", element: this.parse(first) };
      case "sampler":
      case "sampler_comparison":
        return { kind: "sampler", comparison: name === "sampler_comparison" };
      case "int": {
        const variable = `int${this.#constraints.size}`;
        this.#constraints.set(variable, parseConstraint("int"));
        return { kind: "variable", name: variable };
      }
      default: {
        const scalar = scalarTypes[name as ScalarName];
        return scalar ? { kind: "scalar", type: scalar } : { kind: "variable", name };
      }
    }
  }
}

function parseSize(text: string): SizePattern {
  return /\d/.test(text) ? Number(text) : text;
}

/** Splits a list at the commas outside of template lists. */
function splitArguments(text: string): string[] {
  const args: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "<") depth++;
    else if (text[i] === ">") depth--;
    else if (text[i] === "," && depth === 0) {
      args.push(text.slice(start, i));
      start = i + 2;
    }
  }
  args.push(text.slice(start));
  return args;
}
