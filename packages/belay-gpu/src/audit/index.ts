/** The audit of dispatches: sampled workgroups are computed again on the CPU. */

export type { Auditor } from "../runtime/context/auditing.ts";
export { type AuditorOptions, auditor } from "./auditor.ts";
