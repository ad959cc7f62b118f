import { memoryStatus, reportWords } from "../../compiler/contract.ts";
import type { MemoryScheme } from "../../ecc/scheme.ts";

/** The invocations of a workgroup. Each of them processes one granule at a time. */
const GRANULES_PER_WORKGROUP = 64;

/**
 * The most workgroups of a dispatch, enough to fill a GPU. Invocations loop over the remaining
 * granules.
 */
const MAX_WORKGROUPS = 16_384;

export function workgroupsFor(granules: number): number {
  return Math.min(MAX_WORKGROUPS, Math.ceil(granules / GRANULES_PER_WORKGROUP));
}

/**
 * The arguments of a kernel: the index of the first granule in the bound data, the index of its
 * check word, and the number of granules.
 */
const SPAN = "struct Span { granule: u32, check: u32, count: u32 }";

/** Returns an entry point that calls `each(granule, check)` for all granules of the span. */
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

/** Returns a kernel that computes the check words of a span. */
export const encodeKernel = (scheme: MemoryScheme): string => storingKernel("encodeSpan", scheme, "=");

/**
 * Returns a kernel that turns the check words of a span into syndromes, and syndromes back into
 * check words. Both are the same operation, as the codes are linear. A damaged granule keeps its
 * syndrome whatever is written in between, so it stays damaged.
 */
export const toggleKernel = (scheme: MemoryScheme): string => storingKernel("toggleSpan", scheme, "^=");

/**
 * Returns a kernel that combines each check word with the encoding of its granule, by `=` or `^=`.
 */
function storingKernel(name: string, scheme: MemoryScheme, operator: "=" | "^="): string {
  return `
@group(0) @binding(0) var<storage, read> data: array<${scheme.granuleType}>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@group(0) @binding(2) var<storage, read> span: Span;
${scheme.wgsl("code_")}
${overSpan(name, `arena[check] ${operator} code_encode(data[granule]);`)}`;
}

/**
 * Returns a kernel that verifies a span, corrects data and check words where the code can, and
 * records each error.
 */
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

/** A kernel that copies check words within the arena, from the index `span.granule` on. */
export const MOVE = `
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<storage, read> span: Span;
${overSpan("moveChecks", "arena[check] = arena[granule];")}`;

/** A kernel that copies an arena into a larger one. */
export const CARRY_OVER = `
@group(0) @binding(0) var<storage, read> older: array<u32>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@compute @workgroup_size(${GRANULES_PER_WORKGROUP})
fn carryOver(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < arrayLength(&older); i += ${GRANULES_PER_WORKGROUP} * groups.x) { arena[i] = older[i]; }
}`;
