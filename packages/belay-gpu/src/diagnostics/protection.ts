/** Creates the diagnostics of protection (BELAY200 to BELAY299). */

import type { Diagnostic, Span } from "./diagnostic.ts";
import { error, nowhere, warning } from "./finding.ts";
import type { DiagnosticName } from "./registry.ts";

/** The suggestion for a kernel without room for the bindings that protection adds. */
export const moreBindings = "request a device with a higher maxStorageBuffersPerShaderStage";

/**
 * Returns a warning that an entry point stays unprotected. The reason is a fact about the kernel.
 */
export const leftAlone = (
  name: DiagnosticName,
  span: Span,
  entryPoint: string,
  reason: string,
  help?: string,
): Diagnostic =>
  warning(name, `"${entryPoint}" is left unprotected: ${reason}`, span, {
    entryPoints: [entryPoint],
    help,
  });

export const noComputeEntryPoint = (): Diagnostic =>
  error("no-compute-entry-point", "the module has no compute entry point", nowhere, {
    help: "add a function with @compute and @workgroup_size",
  });

export const nestsTooDeeply = (span: Span, entryPoint: string): Diagnostic =>
  leftAlone(
    "nesting-limit",
    span,
    entryPoint,
    "its statements nest so deeply that a compiler would reject the levels that protection adds",
    "move inner statements to a function of their own",
  );

export const subgroupsMissing = (what: string): Diagnostic =>
  error("subgroups-missing", `${what} needs the feature subgroups`, nowhere, {
    help: "add subgroups to the features of the device, or use the channel auto or workgroup with the pairing adjacent",
  });

export const pairingConflict = (
  pairing: string,
  option: string,
  why: string,
  help = "use the pairing adjacent or half-subgroup, or the check signature and the channel auto or workgroup",
): Diagnostic =>
  error("pairing-conflict", `the pairing ${pairing} excludes this ${option}: ${why}`, nowhere, { help });

export const outsideSphere = (
  span: Span,
  entryPoints: readonly string[],
  what: string,
  why: string,
): Diagnostic =>
  warning("outside-sphere", `${what} stays outside the sphere of replication: ${why}`, span, {
    entryPoints,
  });

export const coversLess = (
  span: Span,
  entryPoint: string,
  way: string,
  structures: readonly string[],
): Diagnostic =>
  warning(
    "partial-coverage",
    `"${entryPoint}" is protected by ${way}, which does not cover ${structures.join(", ")} in full: no redundancy that covers them fits the kernel`,
    span,
    { entryPoints: [entryPoint] },
  );

export const computedOnce = (span: Span, entryPoint: string, once: number, chosen: number): Diagnostic =>
  warning(
    "partial-coverage",
    `"${entryPoint}" computes ${once} of its ${chosen} chosen values once: they are in no variable, or cannot be computed again`,
    span,
    { entryPoints: [entryPoint] },
  );

export const noSilentFaults = (span: Span, entryPoint: string, injected: number): Diagnostic =>
  leftAlone(
    "no-silent-faults",
    span,
    entryPoint,
    `none of ${injected} faults of a campaign corrupted its results silently`,
    "inject more faults, or leave out the share of silent corruption to protect all of it",
  );

export const memoryPassVerified = (
  span: Span,
  variable: string,
  entryPoint: string,
  why: string,
): Diagnostic =>
  warning(
    "memory-host-verified",
    `"${entryPoint}" cannot check the memory of "${variable}", which is checked before and after it instead: ${why}`,
    span,
    { entryPoints: [entryPoint] },
  );

export const tooManyShapes = (span: Span, most: string): Diagnostic =>
  error(
    "too-many-pointer-shapes",
    `the pointers that reach this function have too many shapes: ${most}`,
    span,
    {
      help: "pass values or indices instead of pointers to parts of parts",
    },
  );
