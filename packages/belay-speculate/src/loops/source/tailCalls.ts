import type {
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  Function as FunctionNode,
  Node,
  Statement,
} from "oxc-parser";
import { type Binding, lookUp, type Scope, type Scopes } from "./scopes.ts";

/** A function, and what is needed to find the calls of itself. */
interface Recursive {
  readonly binding: Binding;
  readonly parameters: readonly Binding[];
  readonly label: string;
  readonly scopes: Scopes;
  /** The new assignments to parameters, with the parameter of each. */
  readonly assignments: [Binding, Node][];
  /** True if a call does more than to return the value of the function for other arguments. */
  isRefused: boolean;
}

/**
 * Makes a loop of a function that returns calls of itself. Leaves other functions as they are.
 *
 * Before:  (a, b) => (b === 0 ? a : gcd(b, a % b))
 * After:   (a, b) => { gcd: while (true) {
 *            if (b === 0) return a; else { [a, b] = [b, a % b]; continue gcd; } } }
 */
export function withoutTailCalls(
  helper: FunctionNode | ArrowFunctionExpression,
  binding: Binding,
  scopes: Scopes,
): void {
  const { body } = helper;
  const scope = scopes.get(helper);
  if (!body || !scope) return;
  const targets = helper.params.map((one) => (one.type === "AssignmentPattern" ? one.left : one));
  const parameters = targets.flatMap((one) => {
    const found = one.type === "Identifier" ? scope.bindings.get(one.name) : undefined;
    return found ? [found] : [];
  });
  if (parameters.length < targets.length) return;
  const label = `${binding.name}$tail`;
  const found: Recursive = { binding, parameters, label, scopes, assignments: [], isRefused: false };
  const { start, end } = body;
  const at = { start, end };
  const statement =
    body.type === "BlockStatement"
      ? rewritten(found, body as Statement, scope)
      : returned(found, body, scope, body);
  if (found.assignments.length === 0 || found.isRefused) return;
  for (const [parameter, assignment] of found.assignments) parameter.assignments.push(assignment);
  const forever = {
    type: "WhileStatement",
    test: { type: "Literal", value: true, ...at },
    body: statement,
    ...at,
  };
  const labeled = { type: "LabeledStatement", label: nameOf(label, at), body: forever, ...at };
  helper.body = { type: "BlockStatement", body: [labeled], ...at } as unknown as typeof body;
}

type Place = Pick<Node, "start" | "end">;
const nameOf = (name: string, { start, end }: Place) => ({ type: "Identifier", name, start, end });

/** Returns a statement whose returns of calls are assignments to the parameters. */
function rewritten(found: Recursive, node: Statement, around: Scope): Statement {
  const scope = found.scopes.get(node) ?? around;
  const part = <Part extends Statement | null>(one: Part): Part =>
    (one && rewritten(found, one, scope)) as Part;
  const copied = (changed: object): Statement => {
    const copy = { ...node, ...changed } as Statement;
    const own = found.scopes.get(node);
    if (own) found.scopes.set(copy, own);
    return copy;
  };
  switch (node.type) {
    case "ReturnStatement":
      return node.argument ? returned(found, node.argument, scope, node) : node;
    case "BlockStatement":
      return copied({ body: node.body.map(part) });
    case "IfStatement":
      return copied({ consequent: part(node.consequent), alternate: part(node.alternate) });
    case "LabeledStatement":
    case "ForStatement":
    case "ForOfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
      return copied({ body: part(node.body) });
    case "SwitchStatement":
      return copied({
        cases: node.cases.map((one) => ({ ...one, consequent: one.consequent.map(part) })),
      });
    default:
      return node;
  }
}

/** Returns a statement that returns a value, or goes on with other arguments. */
function returned(found: Recursive, value: Expression, scope: Scope, { start, end }: Place): Statement {
  const at = { start, end };
  if (value.type === "ConditionalExpression") {
    const { test, consequent, alternate } = value;
    return {
      type: "IfStatement",
      test,
      consequent: returned(found, consequent, scope, consequent),
      alternate: returned(found, alternate, scope, alternate),
      ...at,
    };
  }
  if (value.type !== "CallExpression" || !isOwn(found, value, scope))
    return { type: "ReturnStatement", argument: value, ...at };
  const { parameters, label } = found;
  const args = value.arguments as Expression[];
  if (args.length !== parameters.length || args.some(({ type }) => (type as string) === "SpreadElement"))
    found.isRefused = true;
  const changed = parameters.flatMap((parameter, place) => {
    const arg = args[place]!;
    // A local of the same name would take the assignment.
    found.isRefused ||= lookUp(scope, parameter.name) !== parameter;
    return arg?.type === "Identifier" && arg.name === parameter.name ? [] : [{ parameter, arg }];
  });
  const assignment = {
    type: "AssignmentExpression",
    operator: "=",
    left: {
      type: "ArrayPattern",
      elements: changed.map(({ parameter, arg }) => nameOf(parameter.name, arg)),
      ...at,
    },
    right: { type: "ArrayExpression", elements: changed.map(({ arg }) => arg), ...at },
    ...at,
  } as unknown as Expression;
  found.assignments.push(...changed.map(({ parameter }): [Binding, Node] => [parameter, assignment]));
  const goOn = { type: "ContinueStatement", label: nameOf(label, at), ...at };
  return {
    type: "BlockStatement",
    body: [{ type: "ExpressionStatement", expression: assignment, ...at }, goOn],
    ...at,
  } as Statement;
}

const isOwn = ({ binding }: Recursive, { callee }: CallExpression, scope: Scope) =>
  callee.type === "Identifier" && lookUp(scope, callee.name) === binding;
