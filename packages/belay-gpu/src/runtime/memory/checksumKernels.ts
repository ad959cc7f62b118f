/** The kernels that compute checksums of buffers and compare them. */

import { memoryStatus, reportWords } from "../../compiler/contract.ts";
import { checksumWgsl, mostSlots, slotStripes, slotWords, stripeWords } from "../../ecc/checksum.ts";

/** The number of report cells in which trials are recorded. */
export const trialCells = 256;
/** The size of all slots, in bytes. */
export const bytesOfSlots = 4 * slotStripes * stripeWords;
/** The byte of the slots at which a word other than zero makes the device ignore all sums. */
export const byteOfIgnoring = 12;

const INVOCATIONS = 256;
/** The number of quads, of 16 bytes each, that a workgroup adds up at a time. */
export const SUMMED_AT_ONCE = 4 * INVOCATIONS;

/**
 * The number of buffer ranges that one dispatch adds up. With the slots and the list, it binds as
 * many storage buffers as every device allows.
 */
export const partsAtOnce = 6;
/** The number of small buffers that the comparison of sums adds up itself. */
export const smallPartsAtOnce = 4;
/** The most bytes of such a buffer. */
export const bytesOfSmallPart = 16 * SUMMED_AT_ONCE;

/** A range of a buffer that a dispatch adds up. */
export interface SumPart {
  readonly slot: number;
  /** The index of the first quad in the whole buffer, and the number of quads. */
  readonly quad: number;
  readonly count: number;
  /** The sum that makes this one superfluous if it counts this number of places. */
  readonly instead: { readonly number: number; readonly places: number } | undefined;
}

/** Returns the words of a list of ranges, in the layout of `List`. */
export const sumList = (all: readonly SumPart[]): number[] => [
  all.length,
  ...all.flatMap(({ slot, quad, count, instead }) => [
    slot,
    quad,
    count,
    instead ? instead.number + 1 : 0,
    instead?.places ?? 0,
  ]),
];

/**
 * Returns WGSL with the bindings of `buffers` buffers, from `binding` on. Its function `total` adds
 * up every `stride`th of the first `count` quads of one of them. `quad` is the index of its first
 * quad in the whole buffer. Only `load` distinguishes the buffers, as drivers take long to compile
 * a sum for each.
 */
function addingUp(binding: number, buffers: number): string {
  const each = (text: (i: number) => string) => Array.from({ length: buffers }, (_, i) => text(i)).join("\n");
  return `
${each((i) => `@group(0) @binding(${binding + i}) var<storage, read> data_${i}: array<vec4<u32>>;`)}
${checksumWgsl("checksum_")}
fn load(part: u32, first: u32, last: u32) -> array<vec4<u32>, 4> {
  var quads: array<vec4<u32>, 4>;
  switch part {
${each(
  (i) =>
    `    case ${i}: { for (var k = 0u; k < 4; k++) { quads[k] = data_${i}[min(first + k * ${INVOCATIONS}, last)]; } }`,
)}
    default: {}
  }
  return quads;
}
fn total(part: u32, first: u32, stride: u32, count: u32, quad: u32) -> vec3<u32> {
  var own = vec3<u32>();
  for (var i = first; i < count; i += stride) {
    var quads = load(part, i, count - 1);
    for (var k = 0u; k < 4; k++) {
      let at = i + k * ${INVOCATIONS};
      if (at < count) { own += checksum_quad(quad + at, quads[k]); }
    }
  }
  return own;
}`;
}

/**
 * A kernel that adds up ranges of buffers, each into a slot. The workgroups are dealt out to the
 * ranges in turn.
 */
export const SUM = `
struct Span { slot: u32, quad: u32, count: u32, instead: u32, places: u32 }
struct List { count: u32, spans: array<Span> }
@group(0) @binding(0) var<storage, read_write> slots: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> list: List;
${addingUp(2, partsAtOnce)}
var<workgroup> all: array<atomic<u32>, 3>;
@compute @workgroup_size(${INVOCATIONS})
fn sum(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let part = group.x % list.count;
  let span = list.spans[part];
  var count = span.count;
  if (span.instead > 0) {
    if (local < ${slotStripes}) {
      atomicAdd(&all[2], atomicLoad(&slots[local * ${stripeWords} + (span.instead - 1) * ${slotWords} + 2]));
    }
    workgroupBarrier();
    if (atomicLoad(&all[2]) == span.places) { count = 0; }
  }
  let number = group.x / list.count;
  let first = number * ${SUMMED_AT_ONCE} + local;
  let stride = groups.x / list.count * ${SUMMED_AT_ONCE};
  let own = total(part, first, stride, count, span.quad);
  atomicAdd(&all[0], own.x);
  atomicAdd(&all[1], own.y);
  workgroupBarrier();
  if (local < 2 && count > 0) {
    let at = number % ${slotStripes} * ${stripeWords} + span.slot * ${slotWords};
    atomicAdd(&slots[at + local], atomicLoad(&all[local]));
  }
}`;

/**
 * A place in the report where the device records if a sum accessed each word equally often. The tag
 * tells which trial wrote the cell.
 */
export interface SumTrial {
  readonly cell: number;
  /**
   * A number from 1 on. The device writes twice the tag, plus one if the count of places is right.
   */
  readonly tag: number;
}

/** The operations on one sum when sums are compared. */
export interface SettleRecord {
  /** The index of the buffer's checksum in the arena. */
  readonly checksum: number;
  /**
   * The index of an earlier sum in the list that replaces the checksum of the arena in the
   * comparison.
   */
  readonly reference?: number | undefined;
  readonly weight: number;
  readonly isCompared: boolean;
  /**
   * The new value of the checksum: unchanged, the sum, the checksum less the sum, or the checksum
   * plus the sum.
   */
  readonly kept: keyof typeof keeping;
  /**
   * The count of places of a sum over all words, if the device is to compare it. A sum with another
   * count is not compared.
   */
  readonly places?: number | undefined;
  readonly trial?: SumTrial | undefined;
  /** The index of a sum that is used in place of this one if that sum counts `places` places. */
  readonly instead?: number | undefined;
}

const keeping = { nothing: 0, sum: 1, excess: 2, total: 3 } as const;

/**
 * Returns the words of a list of sums, in the layout of `List`. The last sums are of small buffers
 * with these numbers of quads.
 */
export const settleList = (records: readonly SettleRecord[], quads: readonly number[]): number[] => [
  records.length,
  quads.length,
  ...Array.from({ length: smallPartsAtOnce }, (_, i) => quads[i] ?? 0),
  ...records.flatMap(settleRecord),
];

/** Returns the words of a record, in the layout of `Record`. */
function settleRecord(record: SettleRecord): number[] {
  const { checksum, weight, isCompared, kept, places = 0 } = record;
  const numbered = (number = -1) => number + 1;
  const { reference, trial, instead } = record;
  return [
    checksum,
    numbered(reference),
    weight,
    Number(isCompared),
    keeping[kept],
    numbered(trial?.cell),
    places,
    numbered(instead),
    trial?.tag ?? 0,
  ];
}

/**
 * A kernel of one workgroup that compares sums with checksums, stores new checksums, and records
 * trials. It adds up small buffers itself, whose sums are the last ones and need no slots.
 */
export const SETTLE = `
struct Record {
  checksum: u32, reference: u32, weight: u32, isCompared: u32, kept: u32,
  cell: u32, places: u32, instead: u32, tag: u32,
}
struct List { count: u32, small: u32, quads: array<u32, ${smallPartsAtOnce}>, records: array<Record> }
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<storage, read_write> slots: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> list: List;
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;
${addingUp(4, smallPartsAtOnce)}
var<workgroup> sums: array<array<atomic<u32>, 3>, ${mostSlots}>;
var<workgroup> isIgnored: u32;
fn standIn(record: u32) -> u32 {
  let instead = list.records[record].instead;
  if (instead > 0 && atomicLoad(&sums[instead - 1][2]) == list.records[record].places) { return instead - 1; }
  return record;
}
fn sumOf(record: u32) -> vec2<u32> {
  return vec2<u32>(atomicLoad(&sums[record][0]), atomicLoad(&sums[record][1]));
}
fn tell(checksum: u32, difference: u32) {
  let list = ${memoryStatus.uncorrectable - memoryStatus.corrected};
  let number = atomicAdd(&report[${reportWords.corrected} + list], 1u);
  if (number >= ${reportWords.memoryRecordCapacity}) { return; }
  let start = ${reportWords.memoryRecords} + (u32(list) * ${reportWords.memoryRecordCapacity} + number) * ${reportWords.memoryRecordStride};
  atomicStore(&report[start + 1], checksum);
  atomicStore(&report[start + 2], difference);
}
@compute @workgroup_size(${INVOCATIONS})
fn settle(@builtin(local_invocation_index) local: u32) {
  // What comes from memory is asked for at once: this workgroup does nothing but wait.
  let record = list.records[local];
  var right = vec2<u32>(arena[record.checksum], arena[record.checksum + 1]);
  for (var i = local; i < list.count * ${slotStripes}; i += ${INVOCATIONS}) {
    let number = i % list.count;
    let at = i / list.count * ${mostSlots} + number;
    let words = slots[at];
    slots[at] = vec4<u32>(0u, 0u, 0u, words.w);
    if (at == 0u) { isIgnored = words.w; }
    for (var part = 0u; part < 3; part++) { atomicAdd(&sums[number][part], words[part]); }
  }
  for (var part = 0u; part < list.small; part++) {
    let own = total(part, local, ${SUMMED_AT_ONCE}, list.quads[part], 0);
    let number = list.count - list.small + part;
    atomicAdd(&sums[number][0], own.x);
    atomicAdd(&sums[number][1], own.y);
  }
  workgroupBarrier();
  let isUsed = local < list.count && isIgnored == 0u;
  if (isUsed) {
    if (record.reference > 0) { right = sumOf(standIn(record.reference - 1)); }
    let counted = standIn(local);
    let differences = sumOf(counted) - list.records[counted].weight * right;
    let isCounted = record.instead > 0 || record.places == 0u || atomicLoad(&sums[local][2]) == record.places;
    if (record.isCompared != 0 && isCounted && any(differences != vec2<u32>())) {
      tell(record.checksum, select(differences.x, differences.y, differences.x == 0));
    }
    if (record.cell > 0) {
      atomicStore(&report[${reportWords.total} + record.cell - 1], 2 * record.tag + u32(atomicLoad(&sums[local][2]) == record.places));
    }
  }
  storageBarrier();
  if (isUsed && record.kept != 0) {
    var sum = sumOf(standIn(local));
    if (record.kept == ${keeping.excess}) { sum = right - sum; }
    if (record.kept == ${keeping.total}) { sum = right + sum; }
    arena[record.checksum] = sum.x;
    arena[record.checksum + 1] = sum.y;
  }
}`;
