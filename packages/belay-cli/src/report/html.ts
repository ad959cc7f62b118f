/** A piece of markup. Everything else is escaped when a page includes it. */
export interface Html {
  readonly [markup]: true;
  readonly text: string;
}

const markup = Symbol("markup");

type Part = string | number | Html | readonly Part[] | undefined;

/** Fills a template of HTML or SVG. Parts are escaped unless they are markup. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return trusted(strings.map((text, i) => text + toText(parts[i])).join(""));
}

/** Marks a text as markup, which is not escaped. */
export function trusted(text: string): Html {
  return { [markup]: true, text };
}

function toText(part: Part): string {
  if (part === undefined) return "";
  if (typeof part !== "object") return String(part).replace(/[&<>"']/g, (character) => entities[character]!);
  if (markup in part) return part.text;
  return part.map(toText).join("");
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
