import { memoryStatus, reportWords } from "../../compiler/contract.ts";

/** A granule that a report names. */
export interface MemoryRecord {
  /** Where in the arena its check word is. */
  readonly check: number;
  readonly syndrome: number;
}

/** What a report says of granules that did not fit their check words: how many, and the first ones. */
export interface MemoryFindings {
  readonly count: number;
  readonly records: readonly MemoryRecord[];
}

/** Reads one of the lists of a report. */
export function memoryFindings(words: Uint32Array, status: keyof typeof memoryStatus): MemoryFindings {
  const { corrected, memoryRecords, memoryRecordStride, memoryRecordCapacity } = reportWords;
  const list = memoryStatus[status] - memoryStatus.corrected;
  const count = words[corrected + list]!;
  const records = Array.from({ length: Math.min(count, memoryRecordCapacity) }, (_, i) => {
    const start = memoryRecords + (list * memoryRecordCapacity + i) * memoryRecordStride;
    return { check: words[start + 1]! + words[start + 3]!, syndrome: words[start + 2]! };
  });
  return { count, records };
}
