/** The parts of the overhead, as in figures 4 and 7 of the paper. */
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
 * The flags of Dawn that idle replicas need. Their invocations return before barriers, which WGSL
 * forbids and GPUs allow.
 */
export const idleReplicaFlags = ["enable-dawn-features=allow_unsafe_apis"];

/**
 * Returns a protected module whose second replicas return before they compute anything. They only
 * hold the registers, the workgroup memory and the slots of workgroups that a doubled kernel takes.
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
 * Inserts a return for the second replica into an entry point, before it calls its body. In a
 * last-arriver commit the first replica is then alone, and so the last to arrive: it stores.
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
 * The ratios to the unprotected program; the second includes the first. Null if a step cannot run.
 */
export interface Components {
  readonly redundancy: Flavor;
  /**
   * The ratio with doubled workgroups, or grids, whose second half holds its resources and computes
   * nothing.
   */
  readonly reserved: number | null;
  /**
   * The ratio if both replicas compute, and nothing is compared. The remaining overhead of a
   * protected program is communication.
   */
  readonly computed: number | null;
}

/**
 * Protects with whole idle subgroups, so that the subgroups of the first replica stay as dense as
 * the unprotected program's.
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
