/** What protection can't do for a program: one factory for each diagnostic of the 200s. */
import type { Diagnostic, Severity, Span } from "./diagnostic.ts";

interface Details {
  readonly notes?: readonly string[];
  readonly help?: string | undefined;
  readonly entryPoints?: readonly string[];
}

function finding(
  code: string,
  severity: Severity,
  span: Span,
  message: string,
  { notes = [], help, entryPoints }: Details = {},
): Diagnostic {
  return {
    ...{ code, severity, message, span, notes },
    ...(entryPoints && { entryPoints }),
    ...(help && { help }),
  };
}

/** The entry point stays as it is; the reason is a fact about the kernel. */
export const leftAlone = (
  code: string,
  span: Span,
  entryPoint: string,
  reason: string,
  help?: string,
): Diagnostic =>
  finding(code, "warning", span, `"${entryPoint}" is left unprotected: ${reason}`, {
    entryPoints: [entryPoint],
    help,
  });

export const noComputeEntryPoint = (): Diagnostic =>
  finding("BELAY201", "error", { start: 0, end: 0 }, "the module has no compute entry point", {
    help: "add a function with @compute and @workgroup_size",
  });

export const hidesBuiltin = (span: Span, name: string): Diagnostic =>
  finding(
    "BELAY206",
    "warning",
    span,
    `the module is left unprotected: "${name}" hides a name of the language and can't be renamed, as the host refers to it`,
    { help: "give the entry point or override another name" },
  );

export const subgroupsMissing = (what: string): Diagnostic =>
  finding("BELAY209", "error", { start: 0, end: 0 }, `${what} needs the feature subgroups`, {
    help: "name the feature among the device's, or let the channel be auto or workgroup, and the pairing adjacent",
  });

export const pairingConflict = (pairing: string, option: string, why: string): Diagnostic =>
  finding(
    "BELAY213",
    "error",
    { start: 0, end: 0 },
    `the pairing ${pairing} excludes this ${option}: ${why}`,
    {
      help: "use the pairing adjacent or half-subgroup, or the check signature and the channel auto or workgroup",
    },
  );

export const outsideSphere = (
  span: Span,
  entryPoints: readonly string[],
  what: string,
  why: string,
): Diagnostic =>
  finding("BELAY210", "warning", span, `${what} stays outside the sphere of replication: ${why}`, {
    entryPoints,
  });

export const memoryBracketed = (span: Span, variable: string, entryPoint: string, why: string): Diagnostic =>
  finding(
    "BELAY216",
    "warning",
    span,
    `the bits of "${variable}" are not checked while "${entryPoint}" runs, but before and after: ${why}`,
    { entryPoints: [entryPoint] },
  );

export const tooManyShapes = (span: Span, most: string): Diagnostic =>
  finding("BELAY211", "error", span, `the pointers that reach this function have too many shapes: ${most}`, {
    help: "pass values or indices instead of pointers to parts of parts",
  });
