import { it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { Comparison } from "./comparison/comparison.ts";
import { duplicateValues } from "./duplicateValues.ts";
import { CheckSites } from "./reportBuffer.ts";

const golden = goldens("duplicateValues");

/** Returns the step that computes the values at these pieces of a source twice. */
const duplicate =
  (source: string, pieces: readonly string[]): Step =>
  (program, names) =>
    duplicateValues(program, names, {
      chosen: pieces.map((piece) => {
        const start = source.indexOf(piece);
        return { start, end: start + piece.length };
      }),
      functions: new Set(
        program.module.declarations.flatMap((each) =>
          each.kind === "function" && !names.isGenerated(each.name) ? [each] : [],
        ),
      ),
      entryPoints: new Set(["main"]),
      comparison: new Comparison(names, { channel: "workgroup", lanes: "8u" }),
      sites: new CheckSites(),
      twice: new Set(),
    });

const kernel = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> n: atomic<u32>;
fn squared(a: f32) -> f32 { return a * a; }
fn put(i: u32, value: f32) { y[i] = value; }
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  var sum = 0.0;
  loop {
    let a = x[i] + sum;
    if (a > 4.0) { break; }
    sum += squared(a);
  }
  let place = atomicAdd(&n, 1u);
  put(place + i, sum);
}`;

it("carries second values from one chosen variable to the next, and compares them where they leave", () =>
  golden("a sum and its terms", kernel, report(), duplicate(kernel, ["x[i] + sum", "sum += squared(a)"])));

it("calls functions twice that change nothing, in place of computing twice in them", () =>
  golden("a value in a function", kernel, report(), duplicate(kernel, ["a * a"])));

it("copies the results of operations that happen once", () =>
  golden("an atomic operation", kernel, report(), duplicate(kernel, ["atomicAdd(&n, 1u)"])));
