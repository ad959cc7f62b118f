/**
 * Adds the subgroup extension, by which neighboring lanes exchange registers.
 *
 * Before:   enable f16;
 * After:    enable f16; enable subgroups; diagnostic(off, subgroup_uniformity);
 *
 * Exchanges stand in divergent control flow, and each checks that its partner is active. The
 * uniformity rule protects programs that cannot check this.
 *
 * Requires: nothing.
 * Ensures:  a valid module.
 * Order:    before replicateInvocations.
 */
import type { Directive, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";

const rule = "subgroup_uniformity";

export function enableSubgroups({ module }: Program): Module {
  const span = { start: 0, end: 0 };
  const kept = module.directives.filter((d) => d.kind !== "diagnostic" || d.rule !== rule);
  const isEnabled = kept.some((d) => d.kind === "enable" && d.names.includes("subgroups"));
  const added: Directive[] = [
    ...(isEnabled ? [] : [{ kind: "enable", span, names: ["subgroups"] } as const]),
    { kind: "diagnostic", span, severity: "off", rule },
  ];
  return { ...module, directives: [...kept, ...added] };
}
