import { describe, it } from "vitest";
import { goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { desugarLoops } from "./desugarLoops.ts";
import { resolvePointers } from "./resolvePointers.ts";

const golden = goldens("resolvePointers");
const memory = `
  requires unrestricted_pointer_parameters;
  struct Part { mass: f32, at: array<vec2u, 4>, hits: array<u32, 3>, count: atomic<u32> }
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> parts: array<Part>;
  @group(0) @binding(2) var<uniform> sizes: array<vec4u, 4>;
  var<workgroup> tile: array<array<u32, 4>, 8>;
  fn next(p: ptr<function, u32>) -> u32 { *p += 1u; return *p; }
`;

describe("replaces a pointer in a let by its place", () => {
  it("with the index it had there, though its variable changes", () =>
    golden(
      "an index that changes afterwards",
      `${memory} fn f() { var i = 0u; let p = &a[i]; i++; *p = i; let q = p; i++; *q += 1u; }`,
      resolvePointers,
    ));

  it("with an index that is computed once", () =>
    golden(
      "an index that is computed once",
      `${memory} fn f() { var i = 0u; let p = &a[next(&i)]; *p = *p + 1u; }`,
      resolvePointers,
    ));

  it("down to members and elements, by every way of writing it", () =>
    golden(
      "members and elements",
      `${memory} fn f(i: u32) {
        let part: ptr<storage, Part, read_write> = &parts[i];
        let at = &(*part).at;
        (*part).mass = 1.0;
        part.mass = f32(at[1].x);
        (*at)[i + 1u].y = (*(&(*at)[2]))[0];
        let element = &at[i];
        element.x += 1u;
        (*element)[i % 2u] = 1u;
        atomicAdd(&part.count, arrayLength(&parts));
      }`,
      resolvePointers,
    ));

  it("of uniform and workgroup memory, and of constant indices", () =>
    golden(
      "other memory and constant indices",
      `${memory} fn f(i: i32) -> u32 {
        const two = 2;
        let row = &tile[two];
        let size = &sizes[-1 + two];
        row[i] = (*size).y;
        return (*row)[3] + workgroupUniformLoad(row)[1] + size[i];
      }`,
      resolvePointers,
    ));

  it("in a loop, with the index of each round, in its continuing too", () =>
    golden(
      "a pointer in a loop",
      `${memory} fn f() {
        var i = 0u;
        loop {
          let p = &a[i];
          if (*p > 3u) { continue; }
          *p = 4u;
          continuing { *p += 1u; i++; break if *p > 9u; }
        }
        for (let p = &a[i]; *p < 3u; *p += 1u) { a[*p] = i; }
      }`,
      desugarLoops,
      resolvePointers,
    ));
});

describe("specializes a function", () => {
  it("for each shape of its arguments, with indices as parameters", () =>
    golden(
      "two shapes",
      `${memory} fn add(p: ptr<storage, u32, read_write>, n: u32) -> u32 { *p += n; return *p; }
      fn f(i: u32, j: i32) -> u32 { return add(&a[i], 1u) + add(&a[j], 2u) + add(&parts[i].hits[j + 1], 3u) + add(&a[7], 4u); }`,
      resolvePointers,
    ));

  it("through two levels, with a pointer to a part", () =>
    golden(
      "two levels",
      `${memory} fn clear(v: ptr<storage, vec2u, read_write>) { for (var i = 0; i < 2; i++) { (*v)[i] = 0u; } }
      fn reset(part: ptr<storage, Part, read_write>, i: u32) { part.mass = 0.0; clear(&part.at[i]); clear(&(*part).at[3]); }
      fn f(i: u32) { let part = &parts[i]; reset(part, i + 1u); reset(&parts[0], i); }`,
      resolvePointers,
    ));

  it("of several pointers, aliases of their types and the function's own pointers among them", () =>
    golden(
      "several pointers",
      `${memory} alias Row = ptr<workgroup, array<u32, 4>>;
      alias Size = ptr<uniform, vec4u>;
      fn fill(to: Row, k: ptr<function, u32>, other: ptr<storage, array<vec2u, 4>, read_write>, size: Size) { for (; *k < size.x; *k += 1u) { to[*k] = (*other)[*k].x; } }
      fn f(j: u32) { var i = j; var k = 0u; fill(&tile[i], &k, &parts[next(&i)].at, &sizes[next(&i)]); }`,
      resolvePointers,
    ));

  it("whose locals and attributes stay", () =>
    golden(
      "locals and attributes",
      `${memory} @must_use fn biggest(p: ptr<storage, array<u32>, read_write>) -> u32 {
        const first = 0;
        let n = arrayLength(p);
        var most = p[first];
        for (var i = 1u; i < n; i++) { let x = (*p)[i]; most = max(most, x); }
        return most;
      }
      fn f() -> u32 { let all = &a; return biggest(all) + biggest(&a); }`,
      resolvePointers,
    ));

  it("and drops those that nobody calls", () =>
    golden(
      "dropped functions",
      `${memory} fn unused(p: ptr<storage, u32, read_write>) { *p = 1u; }
      fn f(p: ptr<private, u32>) { *p = 1u; }`,
      resolvePointers,
    ));

  it("keeps the order in which arguments are computed", () =>
    golden(
      "the order of arguments",
      `${memory} fn put(to: ptr<storage, u32, read_write>, v: u32) { *to = v; }
      fn f() { var i = 0u; put(&a[next(&i)], next(&i)); }`,
      resolvePointers,
    ));
});

it("turns a buffer with views into a struct of them", () =>
  golden(
    "views of buffers",
    `requires buffer_view;
    struct Tail { count: u32, rest: array<u32> }
    @group(0) @binding(0) var<storage, read_write> memory: buffer;
    @group(0) @binding(1) var<storage, read_write> whole: buffer;
    var<workgroup> scratch: buffer<64>;
    fn count(b: ptr<storage, buffer, read_write>) { bufferView<vec2u>(b, 8).x += bufferLength(&scratch); }
    fn f(i: u32) {
      let list = bufferArrayView<array<f32>>(&memory, 16, 32);
      list[i] = *bufferView<f32>(&scratch, 4);
      count(&memory);
      bufferView<Tail>(&whole, 0).rest[i] = 1;
    }`,
    resolvePointers,
  ));
