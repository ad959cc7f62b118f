/** A piece of markup; everything else is escaped when it is put into a page. */
export interface Html {
  readonly [markup]: true;
  readonly text: string;
}

const markup = Symbol("markup");

type Part = string | number | Html | readonly Part[] | undefined;

/** A template of HTML or SVG: what is put into it is escaped, unless it is markup itself. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return trusted(strings.map((text, i) => text + toText(parts[i])).join(""));
}

/** Takes a text for markup as it is. */
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
