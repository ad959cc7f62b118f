/**
 * The registry of all diagnostics of Belay's packages: the name, the code and the meaning of each.
 * Sources use the names; codes stay the same between versions. docs/diagnostics.md explains each.
 */
const entries = {
  // Syntax
  "unknown-character": ["BELAY001", "a character or a word that WGSL does not have"],
  "malformed-number": ["BELAY002", "a literal that starts as a number but is none"],
  "unterminated-comment": ["BELAY003", "a block comment that is never closed"],
  "reserved-word": ["BELAY004", "a name that WGSL reserves"],
  "unexpected-token": ["BELAY005", "something else was expected at this place"],
  "mixed-operators": ["BELAY006", "two operators that need parentheses"],
  "nesting-too-deep": ["BELAY007", "expressions, statements or types nest too deeply"],
  "not-assignable": ["BELAY008", "an assignment to something other than a place"],
  "misplaced-syntax": ["BELAY009", "a construct at a place where WGSL does not allow it"],
  "unknown-extension": ["BELAY010", "a directive names an unknown extension"],
  "unknown-directive": ["BELAY011", "a word that starts neither a directive nor a declaration"],
  "unknown-severity": ["BELAY012", "a diagnostic directive names an unknown severity"],
  "unknown-attribute": ["BELAY013", "an attribute that WGSL does not have"],
  "attribute-arguments": ["BELAY014", "an attribute has a wrong number of arguments"],
  "misplaced-attribute": ["BELAY015", "an attribute on something that takes none"],
  "too-many-errors": ["BELAY099", "further errors are not shown"],
  // Names and types
  "undeclared-name": ["BELAY100", "a name that is not declared"],
  "redeclared-name": ["BELAY101", "two declarations of one name in one scope"],
  "recursive-declaration": ["BELAY102", "a declaration that depends on itself"],
  "wrong-kind-of-name": ["BELAY103", "a type, value or function is used as something else"],
  "template-arguments": ["BELAY104", "a wrong template list"],
  "type-mismatch": ["BELAY105", "a value of a wrong type"],
  "no-matching-overload": ["BELAY106", "arguments that no overload or constructor takes"],
  "argument-count": ["BELAY107", "a call with a wrong number of arguments"],
  "invalid-type": ["BELAY108", "a type that cannot be used at this place"],
  "not-a-place": ["BELAY109", "an address, load or store of something other than a place"],
  "unknown-member": ["BELAY110", "a member or swizzle that the type does not have"],
  "invalid-index": ["BELAY111", "an index out of bounds, or of something without elements"],
  "constant-evaluation": ["BELAY112", "a constant expression without a value"],
  "not-constant": ["BELAY113", "a value that has to be known earlier"],
  "attribute-value": ["BELAY114", "an attribute with a wrong argument"],
  "return-value": ["BELAY115", "a function that returns too much or too little"],
  "invalid-variable": ["BELAY116", "a variable with a wrong type, address space or initializer"],
  "assertion-failed": ["BELAY117", "a `const_assert` that is false"],
  "invalid-statement": ["BELAY118", "a statement that WGSL does not allow in this form or at this place"],
  "limit-exceeded": ["BELAY119", "a constant, type or module that is too large"],
  "unsupported-extension": ["BELAY120", "a part of an extension that Belay does not support"],
  // Protection
  "no-compute-entry-point": ["BELAY201", "the module has no compute entry point"],
  "subgroup-operations": ["BELAY203", "the kernel would see its replicas in subgroup operations"],
  "workgroup-too-large": ["BELAY204", "the doubled workgroup exceeds the device's limits"],
  "workgroup-memory-too-large": ["BELAY205", "the doubled workgroup memory exceeds the device's limit"],
  "too-many-storage-buffers": ["BELAY207", "the kernel leaves no storage buffer for the report or a copy"],
  "subgroups-missing": ["BELAY209", "an option needs subgroups, which the device lacks"],
  "outside-sphere": ["BELAY210", "a part of a protected kernel that is not doubled"],
  "too-many-pointer-shapes": ["BELAY211", "a function receives pointers of too many shapes"],
  "replicas-must-wait": ["BELAY212", "the replicas would have to wait for each other inside the kernel"],
  "pairing-conflict": ["BELAY213", "two options exclude each other"],
  "single-copy-state": ["BELAY214", "the kernel depends on state that only one replica has"],
  "not-repeatable": ["BELAY215", "a second pass over the kernel would find other values"],
  "memory-host-verified": ["BELAY216", "memory is verified before and encoded after the kernel, not in it"],
  "waits-for-invocations": ["BELAY217", "a loop waits for another invocation"],
  "partial-coverage": ["BELAY218", "the chosen flavor covers fewer structures than asked for"],
  "nesting-limit": ["BELAY219", "statements nest too deeply for the levels that protection adds"],
  // Adapters
  "no-adapter": ["BELAY301", "no WebGPU adapter can be opened"],
  "device-failed": ["BELAY302", "an adapter was found, but its device failed"],
  // Hardened devices
  "unrecovered-fault": ["BELAY320", "a fault was detected and not recovered"],
  "unknown-shader-module": ["BELAY321", "the shader module is not of the hardened device"],
  "unknown-pipeline-layout": ["BELAY322", "the pipeline layout is not of the hardened device"],
  "unknown-entry-point": ["BELAY323", "the pipeline names no entry point of its module"],
  "pipeline-layout-full": ["BELAY324", "the pipeline layout has no room for the report or a copy"],
  "refused-by-driver": ["BELAY325", "the driver refused the protected kernel"],
  "not-requested": ["BELAY326", "the policy leaves the kernel unprotected"],
  "unverified-results": ["BELAY327", "results could not be verified"],
  "compiler-failed": ["BELAY328", "a defect of Belay's compiler"],
  "nothing-to-compare": ["BELAY329", "the kernel writes nothing that replicas could compare"],
  "replica-wait-timeout": ["BELAY330", "a replica waited too long for the other one"],
  "grid-too-large": ["BELAY331", "the grid cannot be doubled"],
  "memory-damaged": ["BELAY332", "memory is damaged beyond correction"],
  "buffer-mapped-and-bound": [
    "BELAY333",
    "a buffer without check words: it can be mapped while shaders use it",
  ],
  "buffer-too-large": ["BELAY334", "a buffer without check words: it would be too large with them"],
  "check-words-full": ["BELAY335", "a buffer without check words: the shadow buffer is full"],
  "no-room-for-checks": ["BELAY336", "the pipeline layout has no room for check words"],
  "bound-without-checks": ["BELAY337", "a kernel uses a buffer without check words"],
  "not-fully-protected": ["BELAY338", "strict mode refuses a pipeline without full coverage"],
  "already-hardened": ["BELAY339", "`harden()` was given a device that it had returned"],
  // Command line
  usage: ["BELAY400", "a wrong command line"],
  "unreadable-input": ["BELAY401", "the input cannot be read"],
  "empty-input": ["BELAY402", "the input is empty"],
  "input-not-text": ["BELAY403", "the input is not text"],
  "input-too-large": ["BELAY404", "the input is larger than any shader"],
  "unwritable-output": ["BELAY405", "the output cannot be written"],
  "module-not-loaded": ["BELAY406", "the module of a workload cannot be loaded"],
  "no-workload": ["BELAY407", "the module exports no workload"],
  "workload-failed": ["BELAY408", "the workload failed or gave no results"],
  "no-timestamps": ["BELAY409", "the adapter has no timestamp queries"],
  "workload-not-ended": ["BELAY410", "the workload ended its process, or did not end in time"],
  "package-missing": ["BELAY411", "a package is not installed"],
  // Loops
  "file-not-parsed": ["BELAY500", "the file does not parse"],
  "loop-too-large": ["BELAY501", "a loop nests too deeply or is too large"],
  "malformed-directive": ["BELAY502", "a directive that is not well formed"],
  "misplaced-directive": ["BELAY503", "a directive at a place where it has no meaning"],
  "missing-directive": ["BELAY504", "a function asks for speculation without a directive"],
  "speculation-not-requested": ["BELAY505", "a directive in a function that does not ask for speculation"],
  "invalid-clause": ["BELAY506", "a clause that does not fit the loop"],
  "unknown-iteration-count": ["BELAY510", "the number of iterations is not known at the start of the loop"],
  "unsupported-syntax": ["BELAY511", "a part of JavaScript that cannot run on a GPU"],
  "unknown-type": ["BELAY512", "a variable without a type that a loop can use"],
  "unknown-call": ["BELAY513", "a call of a function that cannot be translated"],
  "inexact-integer": ["BELAY514", "an integer that is not exact in 32 bits"],
  "recursive-call": ["BELAY515", "a function that calls itself"],
  "mixed-types": ["BELAY516", "a variable that is both a number and a boolean"],
  "invalid-reduction": ["BELAY517", "a reduction that is used in another way"],
  "invalid-assignment": ["BELAY518", "an assignment to something that the loop must not change"],
  "not-async": ["BELAY519", "the function around the loop is not async"],
  "unnamed-conflict": ["BELAY530", "iterations may conflict in an array that the directive does not name"],
  "sequential-variable": ["BELAY531", "a variable goes from each iteration to the next"],
  "assumed-integer": ["BELAY532", "a number from outside is taken for an integer"],
  "rounded-decision": ["BELAY533", "a rounded number decides an index, an integer or a branch"],
  "rounded-sum": ["BELAY534", "a sum or product is rounded to f32"],
  "resident-data-lost": ["BELAY540", "a device failed while only it had an array's contents"],
  "array-changed": ["BELAY541", "an array was transferred or resized during a loop"],
  "invalid-resident-array": ["BELAY542", "`resident()` was given something that loops cannot use"],
  "invalid-device": ["BELAY543", "`useDevice()` was given something that is no device"],
  "array-on-device": ["BELAY544", "a loop runs as written while only the device has an array's contents"],
  "loop-device-failed": ["BELAY545", "a device did not execute the commands of a loop"],
  // Campaigns
  "nondeterministic-program": ["BELAY601", "a program gives other results each time"],
  "program-fails": ["BELAY602", "a program fails without a fault"],
  "nothing-to-inject": ["BELAY603", "a program runs nothing that a fault can strike"],
  "program-not-ending": ["BELAY604", "a program does not end without a fault"],
  "kernel-unprotected": ["BELAY605", "a kernel of the campaign stays unprotected"],
  "store-damaged": ["BELAY606", "the store of a campaign is damaged"],
  "other-campaign": ["BELAY607", "the directory holds another campaign"],
  "store-unavailable": ["BELAY608", "the store exists, does not exist, or is locked"],
  "shards-mismatch": ["BELAY609", "shards do not fit together"],
  "store-unwritable": ["BELAY610", "the store cannot be written"],
  "unknown-injection": ["BELAY611", "no injection, or more than one, has this id"],
  "device-process-failed": ["BELAY612", "the process with the device fails each time"],
  "other-adapter": ["BELAY613", "the campaign was begun on another adapter"],
} as const satisfies Record<string, readonly [code: `BELAY${number}`, summary: string]>;

/** The name of a diagnostic, such as `memory-host-verified`. */
export type DiagnosticName = keyof typeof entries;

/** One entry of the registry. */
export interface RegisteredDiagnostic {
  readonly name: DiagnosticName;
  /** The stable number, such as `BELAY216`. */
  readonly code: string;
  /** The meaning in a few words. */
  readonly summary: string;
}

/** All diagnostics, ordered by code within each group. */
export const registeredDiagnostics: readonly RegisteredDiagnostic[] = Object.entries(entries).map(
  ([name, [code, summary]]) => ({ name: name as DiagnosticName, code, summary }),
);

const names: ReadonlyMap<string, DiagnosticName> = new Map(
  registeredDiagnostics.map(({ code, name }) => [code, name]),
);

/** Returns the code of the diagnostic with this name. */
export const codeOf = (name: DiagnosticName): string => entries[name][0];

/** Returns the name of the diagnostic with this code, or undefined for an unknown code. */
export const nameOf = (code: string): DiagnosticName | undefined => names.get(code);

/** Returns the code with its name, such as `BELAY216 memory-host-verified`, for messages. */
export function labelOf(code: string): string {
  const name = nameOf(code);
  return name ? `${code} ${name}` : code;
}
