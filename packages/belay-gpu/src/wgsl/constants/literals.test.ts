import { describe, expect, it } from "vitest";
import { outcome } from "../../../../../test/support/wgsl/constantValues.ts";
import { parseLiteral } from "./index.ts";

function typed(text: string): [unknown, string] | string {
  const parsed = parseLiteral(text);
  if (!parsed.ok || "elements" in parsed.value) return String(outcome(parsed));
  return [parsed.value.value, parsed.value.type.name];
}

describe("a literal", () => {
  it.each<[string, unknown, string]>([
    ["true", true, "bool"],
    ["false", false, "bool"],
    ["0", 0n, "abstract-int"],
    ["12u", 12, "u32"],
    ["0xffffffffu", 4294967295, "u32"],
    ["0X7fffffffi", 2147483647, "i32"],
    ["9223372036854775807", 9223372036854775807n, "abstract-int"],
    ["0x00000000000000000000000000000000ff", 255n, "abstract-int"],
    ["01.", 1, "abstract-float"],
    [".5", 0.5, "abstract-float"],
    ["0.e+4f", 0, "f32"],
    ["1f", 1, "f32"],
    ["0.1f", Math.fround(0.1), "f32"],
    ["1h", 1, "f16"],
    ["65504h", 65504, "f16"],
    ["0.1h", 0.0999755859375, "f16"],
    ["1e-3", 0.001, "abstract-float"],
    ["1e-400", 0, "abstract-float"],
    ["0x1f", 31n, "abstract-int"],
    ["0xa.fp+2", 43.75, "abstract-float"],
    ["0X.3", 0.1875, "abstract-float"],
    ["0x1P+4f", 16, "f32"],
    ["0x3p+2h", 12, "f16"],
    ["0x1p-149f", 2 ** -149, "f32"],
    ["0x1p-24h", 2 ** -24, "f16"],
    ["0x1.fffffep+127f", 3.4028234663852886e38, "f32"],
    ["0x1.fffffffffffffp1023", Number.MAX_VALUE, "abstract-float"],
    ["0x0p99999999999999999999f", 0, "f32"],
  ])("%s has the value and the type of its suffix", (text, value, type) => {
    expect(typed(text)).toEqual([value, type]);
  });

  it("rounds hexadecimal digits to the nearest double, ties to even", () => {
    expect(typed("0x1.00000000000008p0")).toEqual([1, "abstract-float"]);
    expect(typed("0x1.000000000000080001p0")).toEqual([1 + 2 ** -52, "abstract-float"]);
    expect(typed("0x1.00000000000018p0")).toEqual([1 + 2 ** -51, "abstract-float"]);
    expect(typed("0x1p-1075")).toEqual([0, "abstract-float"]);
    expect(typed("0x1.8p-1075")).toEqual([2 ** -1074, "abstract-float"]);
    expect(typed("0x1p-99999999999999999999")).toEqual([0, "abstract-float"]);
  });

  it.each([
    ["2147483648i", "value overflows i32"],
    ["4294967296u", "value overflows u32"],
    ["9223372036854775808", "value overflows abstract-int"],
    [`1${"0".repeat(100_000)}`, "value overflows abstract-int"],
    ["1e400", "value overflows abstract-float"],
    ["3.4028236e38f", "value overflows f32"],
    ["65505h", "value overflows f16"],
    ["0x1p1024", "value overflows abstract-float"],
    ["0x1.fffffffffffff8p1023", "value overflows abstract-float"],
    ["0x1p999999999999999999f", "value overflows f32"],
    ["0x1.00000001p0f", "value is not exactly representable in f32"],
    ["0x3p-25h", "value is not exactly representable in f16"],
    ["0x1p-99999f", "value is not exactly representable in f32"],
    ["012", "not a literal"],
    ["0x", "not a literal"],
    ["0x.p1", "not a literal"],
    [".", "not a literal"],
    ["1fu", "not a literal"],
    [`${"1".repeat(100_000)}e`, "not a literal"],
    [`0x${"f".repeat(100_000)}p`, "not a literal"],
    ["", "not a literal"],
  ])("is refused when its type cannot hold it (%#)", (text, reason) => {
    expect(typed(text)).toBe(reason);
  });
});
