/**
 * The host's passes for any linear code: by vectors if possible, otherwise with one look-up per
 * byte.
 */
import type { Columns, HostPasses } from "belay-gpu/internal/ecc/linearCode";
import { vectorPasses } from "belay-gpu/internal/ecc/simd/blocks";
import { nibbleTables } from "./nibbleTables.ts";

/** Returns the passes for a code with these columns. */
export function tablePasses(columns: Columns): HostPasses {
  return vectorPasses(columns, nibbleTables(columns), byteTables(columns));
}

function byteTables({ words, columns }: Columns): HostPasses {
  let made: Uint32Array | undefined;
  const tables = () => {
    made ??= makeTables(columns);
    return made;
  };
  return {
    encode(data, checks) {
      const table = tables();
      for (let granule = 0; granule < checks.length; granule++)
        checks[granule] = syndrome(table, data, words, granule, 0);
    },
    mismatch(data, checks, from, end) {
      const table = tables();
      let granule = from;
      while (granule < end && syndrome(table, data, words, granule, checks[granule]!) === 0) granule += 1;
      return granule;
    },
  };
}

/** Returns a table of check words: for each byte of a granule, one per value of the byte. */
function makeTables(columns: Uint32Array): Uint32Array {
  const tables = new Uint32Array(32 * columns.length);
  for (let i = 0; i < tables.length; i++) {
    const lowest = 31 - Math.clz32(i & -i & 255);
    // The entry without the lowest bit of its value was computed before.
    if (lowest >= 0) tables[i] = tables[i & (i - 1)]! ^ columns[(i >>> 8) * 8 + lowest]!;
  }
  return tables;
}

function syndrome(
  table: Uint32Array,
  data: Uint32Array,
  words: number,
  granule: number,
  check: number,
): number {
  const start = granule * words;
  let sum = check;
  for (let position = 0; position < words; position++) {
    const word = data[start + position]!;
    const at = position << 10;
    sum ^=
      table[at | (word & 255)]! ^
      table[at | 256 | ((word >>> 8) & 255)]! ^
      table[at | 512 | ((word >>> 16) & 255)]! ^
      table[at | 768 | (word >>> 24)]!;
  }
  return sum;
}
