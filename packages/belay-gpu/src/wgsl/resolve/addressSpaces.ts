/**
 * Checks the types, access modes and initializers of module-scope variables. Source: WGSL
 * specification, "Address Spaces".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Attribute, GlobalVariable } from "../ast.ts";
import { isConstructible, isElement, isHandle, isHostShareable } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { AddressSpace, Type } from "../types.ts";
import type { Context } from "./context.ts";

/** Checks a variable against the rules of its address space, on which transforms rely. */
export function checkAddressSpace(
  cx: Context,
  declaration: GlobalVariable,
  space: AddressSpace,
  store: Type,
): void {
  const { initializer, nameSpan, attributes } = declaration;
  const [, access] = declaration.qualifiers;
  if (space === "function") {
    cx.report(resolutionError.wrongAddressSpace(space, "in functions", nameSpan));
    return;
  }
  if (!canStore(space, store)) {
    const use = `the type of a variable in address space \`${space}\``;
    cx.report(resolutionError.invalidType(describeType(store), use, declaration.type?.span ?? nameSpan));
  }
  if (access && space !== "storage") cx.report(resolutionError.noAccessMode(space, access.span));
  if (initializer && space !== "private") cx.report(resolutionError.noInitializer(space, initializer.span));
  if (!isResource(space)) refuseBinding(cx, attributes);
}

function canStore(space: AddressSpace, type: Type): boolean {
  switch (space) {
    case "handle":
      return isHandle(type);
    case "workgroup":
      return (
        isElement(type) || type.kind === "buffer" || (type.kind === "array" && type.count === "override")
      );
    case "storage":
      return (
        type.kind === "buffer" || ((isElement(type) || endsInRuntimeArray(type)) && isHostShareable(type))
      );
    case "uniform":
      return type.kind === "buffer" || (isConstructible(type) && isHostShareable(type));
    case "immediate":
      return isConstructible(type) && isHostShareable(type);
    default:
      return isConstructible(type);
  }
}

function endsInRuntimeArray(type: Type): boolean {
  const array = type.kind === "struct" ? type.members.at(-1)?.type : type;
  return array?.kind === "array" && array.count === "runtime";
}

const isResource = (space: AddressSpace) => space === "storage" || space === "uniform" || space === "handle";

function refuseBinding(cx: Context, attributes: readonly Attribute[]): void {
  for (const { name, span } of attributes) {
    if (name !== "group" && name !== "binding") continue;
    cx.report(resolutionError.misplaced(`attribute \`@${name}\``, "the declaration of a resource", span));
  }
}
