import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../test/dawnValidator.ts";
import { schemes } from "./scheme.ts";

describe.each(Object.values(schemes).filter(({ corrects }) => corrects))("$name", (scheme) => {
  const words = scheme.granuleBytes / 4;
  const data = Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b9) >>> 0);
  const granule = () => {
    const check = new Uint32Array(1);
    scheme.encode(data, check);
    return Uint32Array.of(...data, check[0]!);
  };
  const flip = (all: Uint32Array, bit: number) => {
    all[bit >>> 5]! ^= 1 << (bit & 31);
  };
  const bits = 32 * (words + 1);

  it("corrects every single error", () => {
    for (let bit = 0; bit < bits; bit++) {
      const all = granule();
      flip(all, bit);
      const found = scheme.verify(all.subarray(0, words), all.subarray(words));
      expect(found).toEqual({ corrected: 1, uncorrectable: [] });
      expect(all).toEqual(granule());
    }
  });

  it("flags every double error", () => {
    let missed = 0;
    for (let one = 0; one < bits; one++) {
      for (let other = 0; other < one; other++) {
        const all = granule();
        flip(all, one);
        flip(all, other);
        const found = scheme.verify(all.subarray(0, words), all.subarray(words));
        if (found.corrected !== 0 || found.uncorrectable.length !== 1) missed += 1;
      }
    }
    expect(missed).toBe(0);
  });
});

describe("the library text", () => {
  let dawn: DawnValidator;
  beforeAll(async () => {
    dawn = await startDawn();
  });
  afterAll(() => dawn.close());

  it("is valid, several schemes in one module", async () => {
    const code = Object.values(schemes).map(({ name, wgsl }) => wgsl(`${name}_`));
    expect(await dawn.validate(code.join(""))).toEqual({ ok: true });
  });
});
