/** What the overhead is made of, as figures 4 and 7 of the paper take it apart. */
import type { Protect } from "belay-gpu/internal/compiler/contract";
import { hardenWith } from "belay-gpu/internal/runtime/hardenedDevice";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { Declaration, Expression } from "belay-gpu/internal/wgsl/ast";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { quote } from "belay-gpu/internal/wgsl/quote";
import type { Configuration, Flavor } from "../measuring/configurations.ts";
import { alternate, TimedProgram } from "../measuring/timing.ts";
import { protectUncompared } from "./withoutComparison.ts";

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

/**
 * Ratios to the unprotected program; the second includes the first. Null where a step cannot be
 * run.
 */
export interface Components {
  readonly redundancy: Flavor;
  /** Doubled workgroups, or grids, whose second half holds its resources and computes nothing. */
  readonly reserved: number | null;
  /**
   * Both replicas compute, and nothing is compared; what a protected program takes more is
   * communication.
   */
  readonly computed: number | null;
}

/**
 * Whole subgroups are idle, so that those of the first replica stay as dense as the unprotected
 * program's.
 */
const idle: Protect = (wgsl, options) => {
  const result = protectUncompared(wgsl, { ...options, pairing: "subgroups", channel: "workgroup" });
  return { ...result, code: withIdleReplicas(result.code) };
};

/**
 * Times the steps from an unprotected program to a configuration, each in alternation with the
 * unprotected program.
 */
export async function measureComponents(
  program: VerifiableProgram,
  newDevice: () => Promise<GPUDevice>,
  unprotected: TimedProgram,
  configuration: Configuration,
  runs: number,
): Promise<Components> {
  const ratio = async (compile: Protect): Promise<number | null> => {
    const device = hardenWith(compile, await newDevice(), { ...configuration, onFault: "report" });
    try {
      using step = new TimedProgram(program, device);
      const [before, after] = await alternate(runs, unprotected, step);
      const { kernels } = await device.belay.report();
      return kernels.some((each) => each.redundancy === "none") ? null : after.median / before.median;
    } catch {
      return null;
    }
  };
  return {
    redundancy: configuration.redundancy,
    reserved: await ratio(idle),
    computed: await ratio(protectUncompared),
  };
}
