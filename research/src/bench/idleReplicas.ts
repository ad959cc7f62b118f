import type { Declaration, Expression } from "belay-gpu/internal/wgsl/ast";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { quote } from "belay-gpu/internal/wgsl/quote";

/**
 * What such kernels need of Dawn: invocations that end early do so before barriers, which WGSL
 * forbids and GPUs allow.
 */
export const idleReplicaFlags = ["enable-dawn-features=allow_unsafe_apis"];

/**
 * A protected module whose second replicas end before they compute anything: they only hold the
 * registers, the workgroup memory and the place among the workgroups in flight that a doubled
 * kernel takes.
 */
export function withIdleReplicas(wgsl: string): string {
  const { module } = parse(wgsl);
  const replica = module.declarations.find(
    (each) => each.kind === "globalVariable" && /^belay\d*_replica$/.test(each.name),
  );
  if (replica?.kind !== "globalVariable") return wgsl;
  const declarations = module.declarations.map((each) => endingEarly(each, replica.name));
  return `enable chromium_disable_uniformity_analysis;\n${print({ ...module, declarations })}`;
}

/**
 * An entry point that learns its replica, with a return for the second one before the body is
 * called. Where whoever comes last stores, that is the first replica, which is alone.
 */
function endingEarly(declaration: Declaration, replica: string): Declaration {
  if (declaration.kind === "function" && /^belay\d*_arrive(_together)?$/.test(declaration.name))
    return { ...declaration, body: { ...declaration.body, statements: [] } };
  if (declaration.kind !== "function" || !declaration.attributes.some(({ name }) => name === "compute")) {
    return declaration;
  }
  const { statements } = declaration.body;
  const learns = statements.some((each) => each.kind === "assign" && isNamed(each.target, replica));
  const call = statements.findIndex(
    ({ kind }) => kind === "callStatement" || kind === "loop" || kind === "block",
  );
  if (!learns || call < 0) return declaration;
  const end = quote(declaration.span).statements`if (${replica} == 1u) { return; }`;
  const ending = [...statements.slice(0, call), ...end, ...statements.slice(call)];
  return { ...declaration, body: { ...declaration.body, statements: ending } };
}

const isNamed = (target: Expression | null, name: string) =>
  target?.kind === "identifier" && target.name === name;
