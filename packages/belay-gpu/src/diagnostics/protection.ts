/** What protection can't do for a program: one factory for each diagnostic of the 200s. */
import type { Diagnostic, Span } from "./diagnostic.ts";
import { error, nowhere, warning } from "./finding.ts";

/** Says what makes room for the bindings that protection adds to a kernel. */
export const moreBindings = "request a device with a higher maxStorageBuffersPerShaderStage";

/** The entry point stays as it is; the reason is a fact about the kernel. */
export const leftAlone = (
  code: string,
  span: Span,
  entryPoint: string,
  reason: string,
  help?: string,
): Diagnostic =>
  warning(code, `"${entryPoint}" is left unprotected: ${reason}`, span, {
    entryPoints: [entryPoint],
    help,
  });

export const noComputeEntryPoint = (): Diagnostic =>
  error("BELAY201", "the module has no compute entry point", nowhere, {
    help: "add a function with @compute and @workgroup_size",
  });

export const nestsTooDeeply = (span: Span, entryPoint: string): Diagnostic =>
  leftAlone(
    "BELAY219",
    span,
    entryPoint,
    "its statements nest so deeply that a compiler takes no more levels around them, and protection adds some",
    "move inner statements to a function of their own",
  );

export const subgroupsMissing = (what: string): Diagnostic =>
  error("BELAY209", `${what} needs the feature subgroups`, nowhere, {
    help: "name the feature among the device's, or let the channel be auto or workgroup, and the pairing adjacent",
  });

export const pairingConflict = (pairing: string, option: string, why: string): Diagnostic =>
  error("BELAY213", `the pairing ${pairing} excludes this ${option}: ${why}`, nowhere, {
    help: "use the pairing adjacent or half-subgroup, or the check signature and the channel auto or workgroup",
  });

export const outsideSphere = (
  span: Span,
  entryPoints: readonly string[],
  what: string,
  why: string,
): Diagnostic =>
  warning("BELAY210", `${what} stays outside the sphere of replication: ${why}`, span, {
    entryPoints,
  });

export const coversLess = (
  span: Span,
  entryPoint: string,
  way: string,
  structures: readonly string[],
): Diagnostic =>
  warning(
    "BELAY218",
    `"${entryPoint}" is protected by ${way}, which does not cover ${structures.join(", ")} in full: the kernel fits nothing that does`,
    span,
    { entryPoints: [entryPoint] },
  );

export const memoryPassVerified = (
  span: Span,
  variable: string,
  entryPoint: string,
  why: string,
): Diagnostic =>
  warning(
    "BELAY216",
    `the bits of "${variable}" are not checked while "${entryPoint}" runs, but before and after: ${why}`,
    span,
    { entryPoints: [entryPoint] },
  );

export const tooManyShapes = (span: Span, most: string): Diagnostic =>
  error("BELAY211", `the pointers that reach this function have too many shapes: ${most}`, span, {
    help: "pass values or indices instead of pointers to parts of parts",
  });
