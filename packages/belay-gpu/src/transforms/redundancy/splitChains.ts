/**
 * Rewrites long chains of `else if` as several shorter chains. Each link of a chain counts as a
 * level of nesting, and transforms add levels to each.
 *
 * Before:   if (a) { … } else if (b) { … } … else if (q) { … } else { … }
 * After:    var rest_1 = false;
 *           if (a) { … } else if (b) { … } … else { rest_1 = true; }
 *           if (rest_1) { rest_1 = false; if (q) { … } else { … } }
 *
 * If all earlier links leave the block, the rest gets no condition. Otherwise the validator could
 * not see that a function returns a value on every path.
 *
 * Requires: nothing.
 * Ensures:  a valid module in which no chain has more than 16 links.
 * Order:    before normalizeAccesses.
 */
import type { Block, IfStatement, Module, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import { mayReachEnd } from "../../wgsl/resolve/behaviors.ts";
import { type AnyNode, isExpression, mapChildren } from "../../wgsl/traverse.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";

/**
 * The links that stay together. The limit of nesting is 127 levels (WGSL specification, "Limits").
 */
const mostLinks = 16;

export function splitChains(module: Module, names: Names): Module {
  const visit = <T extends AnyNode>(node: T): T =>
    mapChildren<AnyNode>(node, (child) => {
      if (isExpression(child)) return child;
      const mapped = visit(child);
      return node.kind === "block" && mapped.kind === "if" ? split(mapped, names) : mapped;
    }) as T;
  return mapBodies(module, visit);
}

function split(chain: IfStatement, names: Names): IfStatement | Statement[] {
  const links: IfStatement[] = [];
  let otherwise: IfStatement["otherwise"] = chain;
  while (otherwise?.kind === "if") {
    links.push(otherwise);
    otherwise = otherwise.otherwise;
  }
  if (links.length <= mostLinks) return chain;
  const { statements } = quote(chain.span);
  const rest = names.fresh("rest");
  const result = statements`var ${rest} = false;`;
  let isInDoubt = false;
  for (let first = 0; first < links.length; first += mostLinks) {
    const part = links.slice(first, first + mostLinks);
    const isLast = first + mostLinks >= links.length;
    const end = isLast ? otherwise : blockOf(chain, statements`${rest} = true;`);
    const joined = chainOf(part, end, chain.attributes);
    result.push(...(isInDoubt ? statements`if (${rest}) { ${rest} = false; ${[joined]} }` : [joined]));
    isInDoubt ||= part.some(({ then }) => mayReachEnd(then.statements));
  }
  return result;
}

function chainOf(
  links: readonly IfStatement[],
  end: Block | null,
  attributes: IfStatement["attributes"],
): IfStatement {
  const [first, ...others] = links.toReversed();
  const last: IfStatement = { ...first!, otherwise: end };
  const chain = others.reduce((otherwise, link) => ({ ...link, otherwise }), last);
  return { ...chain, attributes: structuredClone(attributes) };
}

const blockOf = ({ span }: IfStatement, statements: readonly Statement[]): Block => ({
  kind: "block",
  span,
  attributes: [],
  statements,
});
