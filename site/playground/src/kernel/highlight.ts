/** Colors source text: WGSL, and the TypeScript of loops. */
import { element } from "../page/element.ts";

const keywords =
  /^(?:alias|break|case|const|const_assert|continue|continuing|default|else|enable|export|async|fn|for|function|if|let|loop|override|return|struct|switch|var|while|true|false|workgroup|storage|uniform|private|read|read_write)$/;
const types =
  /^(?:array|atomic|bool|f16|f32|i32|u32|vec[234][fiuh]?|mat\dx\d[fh]?|ptr|Int32Array|Uint32Array|Float32Array|number)$/;

const token =
  /(?<comment>\/\/.*|\/\*.*?\*\/)|(?<attribute>@\w+)|(?<string>"[^"]*")|(?<word>[A-Za-z_]\w*)|(?<number>\b\d[\w.]*)/g;

/** Returns the nodes of one line of source text. */
export function highlightLine(text: string): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    nodes.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const kind = kindOf(match.groups!);
    nodes.push(kind ? element("span", { className: `t-${kind}` }, match[0]) : match[0]);
  }
  nodes.push(text.slice(end));
  return nodes.filter((node) => node !== "");
}

function kindOf({
  comment,
  attribute,
  string,
  word,
  number,
}: Record<string, string | undefined>): string | undefined {
  if (comment !== undefined) return "comment";
  if (attribute !== undefined) return "attribute";
  if (string !== undefined || number !== undefined) return "number";
  if (word!.startsWith("belay_")) return "belay";
  if (keywords.test(word!)) return "keyword";
  return types.test(word!) ? "type" : undefined;
}
