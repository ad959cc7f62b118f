/** Decides whether an entry point can be protected on a device, before anything is changed. */

import { builtinFunction } from "../analysis/effects.ts";
import { containsAtomic } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone, moreBindings } from "../diagnostics/protection.ts";
import type { DiagnosticName } from "../diagnostics/registry.ts";
import type { FunctionDeclaration, GlobalVariable, Parameter } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";
import type { Channel, KernelLimits, Pairing, Redundancy } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import { mostInvocations, workgroupBytes } from "./workgroups.ts";

/** The configuration and the device to check for. */
export interface EligibilityOptions {
  readonly redundancy: Redundancy;
  readonly pairing: Pairing;
  readonly channel: Channel;
  readonly limits: KernelLimits;
}

/**
 * Returns the reasons why `kernel` must be left unprotected; empty if it can be protected. `sized`
 * is the same kernel with its known overrides turned into constants.
 */
export function obstacles(
  facts: ProgramFacts,
  kernel: KernelFacts,
  sized: KernelFacts,
  options: EligibilityOptions,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const { name, nameSpan } = kernel.declaration;
  const obstacle = (diagnostic: DiagnosticName, span: Span, reason: string, help?: string) =>
    found.push(leftAlone(diagnostic, span, name, reason, help));

  const { limits } = options;
  if (options.redundancy.startsWith("intra")) {
    // Lanes that swap stay in one subgroup, whose size does not change.
    const isGiven = (builtin: string) => options.pairing === "passes" && builtin === "subgroup_size";
    for (const { span, what } of subgroupUses(kernel, isGiven)) {
      obstacle(
        "subgroup-operations",
        span,
        `${what} would see the replicas as neighbors`,
        "use a flavor that replicates whole workgroups",
      );
    }
    // Plain workgroup variables need two copies; atomics may have one.
    const isCopied = (variable: GlobalVariable) =>
      options.redundancy === "intra+lds" && !containsAtomic(sized.program.declaredTypeOf(variable));
    const bytes = workgroupBytes(facts, sized, options, isCopied);
    if (bytes !== undefined && bytes > limits.maxComputeWorkgroupStorageSize) {
      const help =
        options.pairing === "passes"
          ? undefined
          : options.redundancy === "intra+lds"
            ? "use intra-lds or the pairing passes, which keep one copy of workgroup memory"
            : "use the pairing passes, whose replicas need no memory to talk";
      obstacle(
        "workgroup-memory-too-large",
        nameSpan,
        `it would need ${bytes} bytes of workgroup memory, and the device allows ${limits.maxComputeWorkgroupStorageSize}`,
        help,
      );
    }
  }
  const tooLarge = sizeObstacle(sized.invocations, options);
  if (tooLarge) obstacle("workgroup-too-large", nameSpan, tooLarge.reason, tooLarge.help);
  if (kernel.storageBuffers + 1 > limits.maxStorageBuffersPerShaderStage) {
    obstacle(
      "too-many-storage-buffers",
      nameSpan,
      `it uses all ${limits.maxStorageBuffersPerShaderStage} storage buffers that the device allows`,
      moreBindings,
    );
  }
  return found;
}

/** Returns the reason why a workgroup of this many invocations is too large, or undefined. */
function sizeObstacle(
  invocations: number | undefined,
  { redundancy, pairing, limits }: EligibilityOptions,
): { reason: string; help?: string } | undefined {
  const isDoubled = redundancy.startsWith("intra") && pairing !== "passes";
  const most = isDoubled ? mostInvocations(limits, pairing) : limits.maxComputeInvocationsPerWorkgroup;
  if (invocations === undefined || invocations <= most) return undefined;
  return isDoubled
    ? {
        reason: `its workgroup of ${invocations} invocations would need ${2 * invocations}, and the device allows ${2 * most}`,
        help: `use at most ${most} invocations, the pairing passes, or a device with higher limits`,
      }
    : {
        reason: `its workgroup of ${invocations} invocations is larger than the ${most} that the device allows`,
      };
}

/**
 * Yields the uses of subgroup operations and of built-in values for subgroups. A declaration alone
 * is no use.
 */
function* subgroupUses(
  { program, functions }: KernelFacts,
  isGiven: (builtin: string) => boolean,
): Generator<{ span: Span; what: string }> {
  for (const fn of functions) {
    const used = usedValues(program, fn);
    for (const parameter of fn.parameters) {
      const type = program.declaredTypeOf(parameter);
      const members = type.kind === "struct" ? (type.declaration?.members ?? []) : [];
      for (const holder of [parameter, ...members]) {
        const builtin = holder.attributes.find((a) => a.name === "builtin")?.args[0];
        if (builtin?.kind !== "identifier" || !/subgroup/.test(builtin.name) || isGiven(builtin.name))
          continue;
        const isUsed = holder === parameter ? used.has(parameter) : used.get(parameter)?.has(holder.name);
        if (isUsed) yield { span: builtin.span, what: `the built-in value "${builtin.name}"` };
      }
    }
    const calls: { span: Span; what: string }[] = [];
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const name = builtinFunction(program, node);
      if (name && /^(subgroup|quad)/.test(name)) calls.push({ span: node.span, what: `"${name}"` });
    });
    yield* calls;
  }
}

/**
 * Returns the parameters that a function uses, each with its used members. A struct that is used as
 * a whole has all of them.
 */
function usedValues(
  program: Program,
  fn: FunctionDeclaration,
): Map<Parameter, { has(member: string): boolean }> {
  const used = new Map<Parameter, { has(member: string): boolean }>();
  const membersOf = new Map<Parameter, Set<string>>();
  const all = { has: () => true };
  const parameterOf = (node: AnyNode) => {
    const target = node.kind === "identifier" ? program.targetOf(node) : undefined;
    return target?.kind === "parameter" ? target : undefined;
  };
  walk(fn.body, (node) => {
    const base = node.kind === "memberAccess" ? parameterOf(node.base) : undefined;
    if (base && node.kind === "memberAccess") {
      const members = membersOf.get(base) ?? new Set<string>();
      membersOf.set(base, members.add(node.member));
      if (!used.has(base)) used.set(base, members);
      return false;
    }
    const parameter = parameterOf(node);
    if (parameter) used.set(parameter, all);
    return true;
  });
  return used;
}
