import { wgslCodes } from "./wgslRegistry.ts";

/**
 * The registry of all diagnostics of Belay's packages: the code of each name. Sources use the
 * names; codes stay the same between versions. docs/reference/diagnostics.md has the meanings. They
 * would add 9 kB to every page here.
 */
export const diagnosticCodes = {
  ...wgslCodes,
  // Protection
  "no-compute-entry-point": "BELAY201",
  "subgroup-operations": "BELAY203",
  "workgroup-too-large": "BELAY204",
  "workgroup-memory-too-large": "BELAY205",
  "too-many-storage-buffers": "BELAY207",
  "subgroups-missing": "BELAY209",
  "outside-sphere": "BELAY210",
  "too-many-pointer-shapes": "BELAY211",
  "replicas-must-wait": "BELAY212",
  "pairing-conflict": "BELAY213",
  "single-copy-state": "BELAY214",
  "not-repeatable": "BELAY215",
  "memory-host-verified": "BELAY216",
  "waits-for-invocations": "BELAY217",
  "partial-coverage": "BELAY218",
  "nesting-limit": "BELAY219",
  "opaque-access": "BELAY220",
  "no-silent-faults": "BELAY221",
  // Adapters
  "no-adapter": "BELAY301",
  "device-failed": "BELAY302",
  // Hardened devices
  "unrecovered-fault": "BELAY320",
  "unknown-shader-module": "BELAY321",
  "unknown-pipeline-layout": "BELAY322",
  "unknown-entry-point": "BELAY323",
  "pipeline-layout-full": "BELAY324",
  "rejected-by-driver": "BELAY325",
  "not-requested": "BELAY326",
  "unverified-results": "BELAY327",
  "compiler-failed": "BELAY328",
  "nothing-to-compare": "BELAY329",
  "replica-wait-timeout": "BELAY330",
  "grid-too-large": "BELAY331",
  "memory-damaged": "BELAY332",
  "buffer-mapped-and-bound": "BELAY333",
  "buffer-too-large": "BELAY334",
  "check-words-full": "BELAY335",
  "no-room-for-checks": "BELAY336",
  "bound-without-checks": "BELAY337",
  "not-fully-protected": "BELAY338",
  "already-hardened": "BELAY339",
  "not-checked-by-algebra": "BELAY340",
  "sums-refuted": "BELAY341",
  "subgroups-mixed": "BELAY342",
  // Command line
  usage: "BELAY400",
  "unreadable-input": "BELAY401",
  "empty-input": "BELAY402",
  "input-not-text": "BELAY403",
  "input-too-large": "BELAY404",
  "unwritable-output": "BELAY405",
  "module-not-loaded": "BELAY406",
  "no-workload": "BELAY407",
  "workload-failed": "BELAY408",
  "no-timestamps": "BELAY409",
  "workload-not-ended": "BELAY410",
  "package-missing": "BELAY411",
  "not-judged": "BELAY412",
  // Loops
  "file-not-parsed": "BELAY500",
  "loop-too-large": "BELAY501",
  "malformed-directive": "BELAY502",
  "misplaced-directive": "BELAY503",
  "missing-directive": "BELAY504",
  "speculation-not-requested": "BELAY505",
  "invalid-clause": "BELAY506",
  "unknown-iteration-count": "BELAY510",
  "unsupported-syntax": "BELAY511",
  "unknown-type": "BELAY512",
  "unknown-call": "BELAY513",
  "inexact-integer": "BELAY514",
  "recursive-call": "BELAY515",
  "mixed-types": "BELAY516",
  "invalid-reduction": "BELAY517",
  "invalid-assignment": "BELAY518",
  "not-async": "BELAY519",
  "needs-doubles": "BELAY520",
  "unnamed-conflict": "BELAY530",
  "sequential-variable": "BELAY531",
  "assumed-integer": "BELAY532",
  "rounded-decision": "BELAY533",
  "rounded-sum": "BELAY534",
  "computed-doubles": "BELAY535",
  "resident-data-lost": "BELAY540",
  "array-changed": "BELAY541",
  "invalid-resident-array": "BELAY542",
  "invalid-device": "BELAY543",
  "array-on-device": "BELAY544",
  "loop-device-failed": "BELAY545",
  // Campaigns
  "nondeterministic-program": "BELAY601",
  "program-fails": "BELAY602",
  "nothing-to-inject": "BELAY603",
  "program-not-ending": "BELAY604",
  "kernel-unprotected": "BELAY605",
  "store-damaged": "BELAY606",
  "other-campaign": "BELAY607",
  "store-unavailable": "BELAY608",
  "shards-mismatch": "BELAY609",
  "store-unwritable": "BELAY610",
  "unknown-injection": "BELAY611",
  "device-process-failed": "BELAY612",
  "other-adapter": "BELAY613",
  "queue-unavailable": "BELAY614",
  "worker-refused": "BELAY615",
  "invalid-weights": "BELAY616",
} as const satisfies Record<string, `BELAY${number}`>;

/** The name of a diagnostic, such as `memory-host-verified`. */
export type DiagnosticName = keyof typeof diagnosticCodes;

const names = Object.keys(diagnosticCodes) as DiagnosticName[];

/** Returns the code of the diagnostic with this name. */
export const codeOf = (name: DiagnosticName): string => diagnosticCodes[name];

/** Returns the name of the diagnostic with this code, or undefined for an unknown code. */
export const nameOf = (code: string): DiagnosticName | undefined =>
  names.find((name) => diagnosticCodes[name] === code);

/** Returns the code with its name, such as `BELAY216 memory-host-verified`, for messages. */
export function labelOf(code: string): string {
  const name = nameOf(code);
  return name ? `${code} ${name}` : code;
}
