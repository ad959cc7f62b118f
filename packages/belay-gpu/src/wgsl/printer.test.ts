import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  arbitraryExpression,
  arbitraryModule,
  withoutSpans,
} from "../../../../test/support/wgsl/arbitraryWgsl.ts";
import { parse, parseExpression } from "./parser.ts";
import { print, printExpression } from "./printer.ts";

const reprint = (source: string) => printExpression(parseExpression(source).expression!);

describe("parsing what was printed gives the same tree", () => {
  test("for every expression", () => {
    fc.assert(
      fc.property(arbitraryExpression, (expression) => {
        const again = parseExpression(printExpression(expression));
        expect(again.diagnostics).toEqual([]);
        expect(withoutSpans(again.expression)).toEqual(withoutSpans(expression));
      }),
      { numRuns: 3000 },
    );
  });

  test("for every module", () => {
    fc.assert(
      fc.property(arbitraryModule, (module) => {
        const again = parse(print(module));
        expect(again.diagnostics).toEqual([]);
        expect(withoutSpans({ ...again.module, span: 0 })).toEqual(withoutSpans({ ...module, span: 0 }));
      }),
      { numRuns: 600 },
    );
  });
});

describe("printExpression", () => {
  test.each([
    ["(((a)))", "a"],
    ["(a * b) + c", "a * b + c"],
    ["a * (b + c)", "a * (b + c)"],
    ["(a - b) - c", "a - b - c"],
    ["a - (b - c)", "a - (b - c)"],
    ["(a & b) & c", "a & b & c"],
    ["(a & b) | c", "(a & b) | c"],
    ["(a && b) || c", "(a && b) || c"],
    ["(a << b) + c", "(a << b) + c"],
    ["(a < b) == c", "(a < b) == c"],
    ["(a + b) < (c << d)", "a + b < c << d"],
    ["-(-x)", "- -x"],
    ["a - (-b)", "a - -b"],
    ["-(a + b)", "-(a + b)"],
    ["&(&x)", "& &x"],
    ["!(!x)", "!!x"],
    ["(*p).x", "(*p).x"],
    ["*(p.x)", "*p.x"],
    ["&(a[i])", "&a[i]"],
    ["(1).x", "(1).x"],
  ])("%s becomes %s", (source, printed) => {
    expect(reprint(source)).toBe(printed);
  });

  test.each([
    ["f((a < b), c > d)", "f((a < b), c > d)"],
    ["f((a < b), c >> d)", "f((a < b), c >> d)"],
    ["f((a.x < b), vec2<f32>(), c >= d)", "f((a.x < b), vec2<f32>(), c >= d)"],
    ["f((a < b), c < d)", "f(a < b, c < d)"],
    ["f((a[0] < b), c > d)", "f(a[0] < b, c > d)"],
    ["a < (b >> c)", "a < (b >> c)"],
    ["array<i32, (a > b)>()", "array<i32, (a > b)>()"],
    ["array<i32, (a && b)>()", "array<i32, (a && b)>()"],
    ["array<i32, a + b>()", "array<i32, a + b>()"],
  ])("%s keeps the parentheses that template lists need", (source, printed) => {
    expect(reprint(source)).toBe(printed);
  });
});

test("print lays out a module", () => {
  const source = `enable f16;
struct S { @align(16) a: vec3<f32>, b: array<vec2<f32>,4>, }
@group(0) @binding(0) var<storage, read_write> out: array<u32>; var<private> p: i32;
override n: u32 = 4;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) -> @location(0) f32 {
  for (var i = 0u; i < n; i++) { out[i] += id.x >> 2; if i >= 3 { break; } else if (i == 2) { continue; } else {} }
  for (;;) {}
  switch id.x { case 1, default, : { return; } case 2 {} default: { _ = f(1,); } }
  loop { x--; continuing { y = 2; break if x > 1; } }
  @diagnostic(off, derivative_uniformity) while a < b { g(); }
}`;
  expect(print(parse(source).module)).toMatchInlineSnapshot(`
    "enable f16;

    struct S {
      @align(16) a: vec3<f32>,
      b: array<vec2<f32>, 4>,
    }

    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    var<private> p: i32;

    override n: u32 = 4;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3u) -> @location(0) f32 {
      for (var i = 0u; i < n; i++) {
        out[i] += id.x >> 2;
        if (i >= 3) {
          break;
        } else if (i == 2) {
          continue;
        } else {}
      }
      for (;;) {}
      switch (id.x) {
        case 1, default: {
          return;
        }
        case 2: {}
        default: {
          _ = f(1);
        }
      }
      loop {
        x--;
        continuing {
          y = 2;
          break if x > 1;
        }
      }
      @diagnostic(off, derivative_uniformity) while (a < b) {
        g();
      }
    }
    "
  `);
});
