/** Whether an entry point can be protected on this device, and if not, why: checked before anything is changed. */
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../analysis/callGraph.ts";
import { builtinFunction } from "../analysis/effects.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { finalBytes } from "../transforms/comparison/conclusion.ts";
import { slotBytes } from "../transforms/comparison/workgroupChannel.ts";
import { bytesOfCopies } from "../transforms/replicateWorkgroupMemory.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import type { Channel, KernelLimits, Pairing, Redundancy } from "./contract.ts";
import { invocationCount, largestWorkgroup, mostInvocations } from "./workgroupSize.ts";

export interface EligibilityOptions {
  readonly redundancy: Redundancy;
  readonly pairing: Pairing;
  readonly channel: Channel;
  readonly limits: KernelLimits;
}

/**
 * Why `entryPoint` must be left alone: empty when it can be protected.
 * `sized` is the same program with overrides turned into constants, as far as they are known.
 */
export function obstacles(
  program: Program,
  sized: Program,
  entryPoint: FunctionDeclaration,
  options: EligibilityOptions,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const { name, nameSpan } = entryPoint;
  const obstacle = (code: string, span: Span, reason: string, help?: string) =>
    found.push(leftAlone(code, span, name, reason, help));

  const { limits } = options;
  const functions = reachableFrom(program, [entryPoint]);
  if (options.redundancy.startsWith("intra")) {
    for (const { span, what } of subgroupUses(program, functions)) {
      obstacle(
        "BELAY203",
        span,
        `${what} would see the replicas as neighbours`,
        "use a flavor that replicates whole workgroups",
      );
    }
    const invocations = invocationCount(sized, functionNamed(sized, name));
    const most = mostInvocations(limits, options.pairing);
    if (invocations !== undefined && invocations > most) {
      const help = `use at most ${most} invocations, the pairing passes, or a device with higher limits`;
      obstacle(
        "BELAY204",
        nameSpan,
        `its workgroup of ${invocations} invocations would need ${2 * invocations}, and the device allows ${2 * most}`,
        help,
      );
    }
    const bytes = workgroupBytes(program, sized, name, options);
    if (bytes !== undefined && bytes > limits.maxComputeWorkgroupStorageSize) {
      const help =
        options.pairing === "passes"
          ? undefined
          : options.redundancy === "intra+lds"
            ? "use intra-lds or the pairing passes, which keep one copy of workgroup memory"
            : "use the pairing passes, whose replicas need no memory to talk";
      obstacle(
        "BELAY205",
        nameSpan,
        `it would need ${bytes} bytes of workgroup memory, and the device allows ${limits.maxComputeWorkgroupStorageSize}`,
        help,
      );
    }
  }
  const storageBuffers = [...variablesOf(program, functions)].filter(
    (v) => addressSpaceOf(v) === "storage",
  ).length;
  if (storageBuffers + 1 > limits.maxStorageBuffersPerShaderStage) {
    obstacle(
      "BELAY207",
      nameSpan,
      `it uses all ${limits.maxStorageBuffersPerShaderStage} storage buffers that the device allows`,
      "request a device with a higher maxStorageBuffersPerShaderStage",
    );
  }
  return found;
}

/** Uses of subgroup built-in values and operations. */
function* subgroupUses(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): Generator<{ span: Span; what: string }> {
  for (const fn of functions) {
    const uses: { span: Span; what: string }[] = [];
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const name = builtinFunction(program, node);
      if (name && /^(subgroup|quad)/.test(name)) uses.push({ span: node.span, what: `"${name}"` });
    });
    for (const parameter of fn.parameters) {
      const type = program.declaredTypeOf(parameter);
      const members = type.kind === "struct" ? (type.declaration?.members ?? []) : [];
      for (const holder of [parameter, ...members]) {
        const builtin = holder.attributes.find((a) => a.name === "builtin")?.args[0];
        if (builtin?.kind === "identifier" && /subgroup/.test(builtin.name)) {
          uses.push({ span: builtin.span, what: `the built-in value "${builtin.name}"` });
        }
      }
    }
    yield* uses;
  }
}

/** Bytes of workgroup memory of the protected kernel, or undefined when an override without a value decides. */
function workgroupBytes(
  program: Program,
  sized: Program,
  name: string,
  { redundancy, pairing, channel, limits }: EligibilityOptions,
): number | undefined {
  let bytes = 0;
  for (const variable of variablesOf(sized, reachableFrom(sized, [functionNamed(sized, name)]))) {
    if (addressSpaceOf(variable) !== "workgroup") continue;
    const type = sized.declaredTypeOf(variable);
    if (!hasKnownSize(type)) return undefined;
    const isCopied = redundancy === "intra+lds" && pairing !== "passes" && !containsAtomic(type);
    bytes += Math.ceil((isCopied ? bytesOfCopies(type, pairing) : sizeOf(type)) / 16) * 16;
  }
  if (channel === "subgroup") return bytes;
  const kernels = functionsOf(program).filter((fn) => stageOf(fn) === "compute");
  // The slots of the channel are one variable for all kernels.
  const invocations =
    kernels.length === 1
      ? invocationCount(sized, functionNamed(sized, name))
      : largestWorkgroup(program, kernels, limits, pairing);
  // Replicas that meet only at the end need no slots.
  const each = finalBytes + (pairing === "subgroups" || pairing === "passes" ? 0 : slotBytes);
  return invocations && bytes + each * invocations;
}

function functionNamed(program: Program, name: string): FunctionDeclaration {
  return functionsOf(program).find((fn) => fn.name === name)!;
}

const hasKnownSize = (type: Type): boolean => type.kind !== "array" || typeof type.count === "number";
