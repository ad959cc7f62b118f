import type { MemoryScheme } from "../../codes/scheme.ts";
import { memoryStatus, reportWords } from "../../compiler/contract.ts";

/** Invocations of a workgroup, each of which takes one granule at a time. */
const GRANULES_PER_WORKGROUP = 64;

/** Enough workgroups to fill a GPU; the invocations loop over what is beyond. */
const MAX_WORKGROUPS = 16_384;

export function workgroupsFor(granules: number): number {
  return Math.min(MAX_WORKGROUPS, Math.ceil(granules / GRANULES_PER_WORKGROUP));
}

/**
 * Words of a span: the index of its first granule in what is bound, and that of its check word in
 * the arena; how many.
 */
const SPAN = "struct Span { granule: u32, check: u32, count: u32 }";

/** An entry point that calls `each(granule, check)` for all granules of the span. */
function overSpan(name: string, each: string): string {
  return `
${SPAN}
@compute @workgroup_size(${GRANULES_PER_WORKGROUP})
fn ${name}(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < span.count; i += ${GRANULES_PER_WORKGROUP} * groups.x) {
    let granule = span.granule + i;
    let check = span.check + i;
    ${each}
  }
}`;
}

/** Returns a kernel that makes the check words of a span. */
export const encodeKernel = (scheme: MemoryScheme): string => storingKernel("encodeSpan", scheme, "=");

/**
 * Returns a kernel that turns check words of a span into syndromes, and syndromes into check words,
 * as codes are linear. A granule that is damaged keeps its syndrome whatever is written in between,
 * so it stays damaged.
 */
export const toggleKernel = (scheme: MemoryScheme): string => storingKernel("toggleSpan", scheme, "^=");

/** Returns a kernel that stores what each granule encodes to. */
function storingKernel(name: string, scheme: MemoryScheme, operator: "=" | "^="): string {
  return `
@group(0) @binding(0) var<storage, read> data: array<${scheme.granuleType}>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@group(0) @binding(2) var<storage, read> span: Span;
${scheme.wgsl("code_")}
${overSpan(name, `arena[check] ${operator} code_encode(data[granule]);`)}`;
}

/** Verifies a span, corrects what it can, in data and check words, and records what it finds. */
export function verifyKernel(scheme: MemoryScheme): string {
  const { corrected, memoryRecords, memoryRecordStride, memoryRecordCapacity } = reportWords;
  return `
@group(0) @binding(0) var<storage, read_write> data: array<${scheme.granuleType}>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@group(0) @binding(2) var<storage, read> span: Span;
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;
${scheme.wgsl("code_")}
fn record(status: u32, check: u32, syndrome: u32) {
  let list = status - ${memoryStatus.corrected};
  let number = atomicAdd(&report[${corrected} + list], 1u);
  if (number >= ${memoryRecordCapacity}) { return; }
  let start = ${memoryRecords} + (list * ${memoryRecordCapacity} + number) * ${memoryRecordStride};
  atomicStore(&report[start + 1], check);
  atomicStore(&report[start + 2], syndrome);
}
${overSpan(
  "verifySpan",
  `let syndrome = code_syndrome(data[granule], arena[check]);
    if (syndrome != 0) {
      let found = code_correct(data[granule], syndrome);
      if (found.status == ${memoryStatus.corrected}) {
        data[granule] = found.data;
        arena[check] = code_encode(found.data);
      }
      record(found.status, check, syndrome);
    }`,
)}`;
}

/** Copies check words; `span.granule` is where they come from. */
export const MOVE = `
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<storage, read> span: Span;
${overSpan("moveChecks", "arena[check] = arena[granule];")}`;

/** Copies an arena to a larger one, in a pass. */
export const CARRY_OVER = `
@group(0) @binding(0) var<storage, read> older: array<u32>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@compute @workgroup_size(${GRANULES_PER_WORKGROUP})
fn carryOver(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < arrayLength(&older); i += ${GRANULES_PER_WORKGROUP} * groups.x) { arena[i] = older[i]; }
}`;
