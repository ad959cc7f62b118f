/** The shares of fault models that studies report, by which rates are weighted. */
import { readFileSync } from "node:fs";
import { reasonOf } from "belay-gpu/internal/diagnostics/fileErrors";
import { parseSync } from "oxc-parser";
import { CampaignError } from "./failure.ts";
import { type FaultModel, faultModels } from "./faultModel.ts";

/** The shares of fault models among the faults that strike. */
export interface FaultWeights {
  readonly name: string;
  /** The sources of the shares. */
  readonly sources: readonly string[];
  /** The weight of each model, in any unit. A model without a weight is left out. */
  readonly models: Readonly<Partial<Record<FaultModel, number>>>;
}

/**
 * The shares among the silent corruptions of a data-center GPU under gate-level stuck-at faults:
 * 50.68 % words of zero, 48.31 % flipped bits, 1.01 % NaN and infinities. Under 40 % of the events
 * with flipped bits concern one bit, and 40 % is taken. Words with several wrong bits are half
 * adjacent bits, half random words, which the study does not tell apart. No model makes NaN, so
 * their share goes to random words.
 */
export const studiedWeights: FaultWeights = {
  name: "arXiv 2605.04213",
  sources: [
    "Tung et al., The Anatomy of Silent Data Corruption: GPU Error Pattern Study and Modeling Guidance, DSN 2026, arXiv 2605.04213",
  ],
  models: {
    zero: 50.68,
    "single-bit": 0.4 * 48.31,
    "adjacent-bits": 0.3 * 48.31,
    "random-word": 0.3 * 48.31 + 1.01,
  },
};

/** The parts of a syntax tree that weights consist of. */
type Node = { readonly start: number; readonly end: number } & (
  | { readonly type: "ObjectExpression"; readonly properties: readonly Node[] }
  | { readonly type: "ArrayExpression"; readonly elements: readonly Node[] }
  | { readonly type: "Property"; readonly key: Node; readonly value: Node }
  | { readonly type: "Literal"; readonly value: unknown }
  | { readonly type: "other" }
);

/** The number of characters of a wrong part that a message repeats. */
const MOST_SHOWN = 30;

/**
 * Reads weights from a JSON file. Throws a `CampaignError` with the line and column of the first
 * mistake.
 */
export function readWeights(path: string): FaultWeights {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CampaignError("invalid-weights", `cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
  return parseWeights(text, path);
}

/** Parses the text of a file with weights, as {@link readWeights} does. */
export function parseWeights(text: string, path: string): FaultWeights {
  const fail = (at: number, message: string, help?: string): never => {
    const before = text.slice(0, at).split("\n");
    const place = `${path}:${before.length}:${before.at(-1)!.length + 1}`;
    throw new CampaignError("invalid-weights", `${place}: ${message}`, help === undefined ? {} : { help });
  };
  // An expression in parentheses gives each part of the text its place.
  const { program, errors } = parseSync("weights.js", `(${text}\n)`);
  const wrong = errors[0];
  if (wrong) fail(Math.max(0, (wrong.labels[0]?.start ?? 1) - 1), `this is no JSON: ${wrong.message}`);
  const [statement] = program.body as unknown as { expression?: { expression?: Node } }[];
  const at = ({ start }: Node) => start - 1;
  const describe = (node: Node) => JSON.stringify(text.slice(at(node), node.end - 1).slice(0, MOST_SHOWN));
  const membersOf = (node: Node | undefined, what: string, known: readonly string[]): Map<string, Node> => {
    if (node?.type !== "ObjectExpression") return fail(node ? at(node) : 0, `${what} is no object`);
    const members = new Map<string, Node>();
    for (const property of node.properties) {
      const name = property.type === "Property" && property.key.type === "Literal" && property.key.value;
      if (property.type !== "Property" || typeof name !== "string") {
        return fail(at(property), `${describe(property)} is no member of a JSON object`);
      }
      const help = `${what} may have ${known.join(", ")}`;
      if (!known.includes(name)) fail(at(property), `${what} has the unknown member \`${name}\``, help);
      if (members.has(name)) fail(at(property), `${what} has \`${name}\` twice`);
      members.set(name, property.value);
    }
    return members;
  };
  const textOf = (node: Node, what: string): string =>
    node.type === "Literal" && typeof node.value === "string" && node.value.trim() !== ""
      ? node.value
      : fail(at(node), `${what} is ${describe(node)}`, "write a text in double quotes");

  const root = statement?.expression?.expression ?? (statement?.expression as Node | undefined);
  const members = membersOf(root, "the file", ["name", "sources", "models"]);
  const member = (name: string): Node =>
    members.get(name) ?? fail(at(root!), `the file has no member \`${name}\``);
  const name = textOf(member("name"), "`name`");
  const sources = member("sources");
  if (sources.type !== "ArrayExpression" || sources.elements.length === 0) {
    return fail(at(sources), `\`sources\` is ${describe(sources)}`, "list at least one source as a text");
  }
  const models = membersOf(member("models"), "`models`", faultModels);
  const weights = [...models].map(([model, node]) => {
    const isWeight = node.type === "Literal" && typeof node.value === "number" && Number.isFinite(node.value);
    if (!isWeight)
      fail(at(node), `the weight of \`${model}\` is ${describe(node)}`, "write a number from 0 on");
    return [model, (node as { value: number }).value] as const;
  });
  if (!weights.some(([, weight]) => weight > 0)) fail(at(member("models")), "no model has a weight above 0");
  return {
    name,
    sources: sources.elements.map((source, i) => textOf(source, `source ${i + 1}`)),
    models: Object.fromEntries(weights),
  };
}
