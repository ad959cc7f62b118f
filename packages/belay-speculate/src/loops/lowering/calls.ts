import type { CallExpression, Expression as Source } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { lookUp } from "../source/scopes.ts";
import { inlined } from "./inlined.ts";
import type { Lowering } from "./lowering.ts";
import { isMathFunction, mathCall } from "./mathFunctions.ts";
import { refuse } from "./refusal.ts";
import type { Value } from "./values.ts";

/** A call: of a function of Math, or of a helper of the file, which is inlined. */
export function call(lowering: Lowering, node: CallExpression): Value {
  const { callee } = node;
  const args = node.arguments.map((argument): Source => {
    if (argument.type === "SpreadElement")
      return refuse(loopError.unsupported("a spread argument", argument));
    return argument;
  });
  if (node.optional) return refuse(loopError.unsupported("an optional call", node));
  if (callee.type === "MemberExpression" && !callee.computed && callee.object.type === "Identifier") {
    const [object, name] = [callee.object.name, (callee.property as { name: string }).name];
    if (object === "Math" && !lookUp(lowering.scope, "Math")) {
      if (isMathFunction(name)) return mathCall(lowering, name, args, node);
      const reason = name === "random" ? "gives another value each time" : "has no counterpart on a GPU";
      return refuse(loopError.unknownCall(`Math.${name}`, reason, node));
    }
    return refuse(loopError.unknownCall(`${object}.${name}`, "may do anything", node, helperHelp));
  }
  if (callee.type !== "Identifier") return refuse(loopError.unsupported("this call", node, helperHelp));
  return inlined(lowering, callee.name, args, node);
}

const helperHelp = "a loop may call functions of Math and functions that the same file declares";
