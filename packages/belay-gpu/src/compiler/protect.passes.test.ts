import { describe, expect, it } from "vitest";
import { twoTexts } from "../transforms/diversity/index.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const kernel = (body: string) => `
  enable subgroups;
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> count: atomic<u32>;
  @group(0) @binding(2) var picture: texture_storage_2d<r32uint, read_write>;
  var<workgroup> next: atomic<u32>;
  fn bump(i: u32) -> u32 { a[i] += 1u; return i; }
  fn draw(i: u32) -> u32 { return atomicAdd(&count, 1u) + subgroupMax(i); }
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`;

/** Returns the obstacles to passes, each with its place. */
const obstacles = (body: string, options: CompilerOptions = {}) => {
  const code = kernel(body);
  const { diagnostics } = protect(code, { pairing: "passes", features: ["subgroups"], ...options });
  return diagnostics
    .filter((diagnostic) => diagnostic.code === "BELAY215")
    .map(({ message, span }) => [
      /unprotected: (.*), and its replicas run one after the other$/.exec(message)?.[1],
      code.slice(span.start, span.end),
    ]);
};

describe("replicas can run one after the other", () => {
  it.each([
    ["when loads come before stores", "let v = a[i] + a[i + 1]; storageBarrier(); a[i] = v;"],
    ["when nobody needs the result of an atomic operation", "atomicAdd(&count, i); a[i] = 1;"],
    ["when textures are only stored", "textureStore(picture, id.xy, vec4u(i));"],
    ["when textures are only loaded", "a[i] = textureLoad(picture, id.xy).x;"],
    [
      "when atomics of a workgroup commute",
      "atomicAdd(&next, i); workgroupBarrier(); a[i] = atomicLoad(&next);",
    ],
  ])("%s", (_, body) => expect(obstacles(body)).toEqual([]));

  it.each([
    ["once", "a[i] = atomicAdd(&count, 1u) + subgroupMax(i);"],
    ["in a function that it calls twice", "a[i] = draw(i) + draw(i + 1u);"],
  ])("when a lane runs both replicas, and executes an operation %s", (_, body) =>
    expect(obstacles(body)).toEqual([]),
  );

  it.each([
    [
      "what it has stored",
      "a[i] = 1; storageBarrier(); _ = a[i ^ 1];",
      [
        ['it stores to "a" before it loads from there', "a[i]"],
        ['it loads from "a" after it has stored there', "a"],
      ],
    ],
    [
      "in a loop, through a function",
      "for (var k = 0u; k < 2u; k++) { _ = bump(i + k); }",
      [
        ['it stores to "a" before it loads from there', "a[i]"],
        ['it loads from "a" after it has stored there', "a"],
      ],
    ],
    [
      "the result of an operation that runs once",
      "a[i] = atomicAdd(&count, 1u);",
      [["both replicas need the result of this atomicAdd", "atomicAdd(&count, 1u)"]],
    ],
    [
      "a result in each turn of a loop",
      "for (var k = 0u; k < 2u; k++) { a[i] = atomicAdd(&count, 1u) + subgroupMax(i); }",
      [["both replicas need the result of this atomicAdd", "atomicAdd(&count, 1u)"]],
    ],
    [
      "a result each time that a function is called, and calls it often",
      `a[i] = ${Array(17).fill("draw(i)").join(" + ")};`,
      [["both replicas need the result of this atomicAdd", "atomicAdd(&count, 1u)"]],
    ],
    [
      "the order of operations on workgroup memory",
      "a[i] = atomicAdd(&next, 1u);",
      [['the order of its atomic operations on "next" matters', "atomicAdd(&next, 1u)"]],
    ],
    [
      "a texture that it stores to",
      "textureStore(picture, id.xy, textureLoad(picture, id.yx));",
      [["it loads from a texture that it stores to", "textureLoad(picture, id.yx)"]],
    ],
  ])("unless a kernel needs %s (BELAY215)", (_, body, found) => expect(obstacles(body)).toEqual(found));

  it("unless a kernel with two texts needs the result of an operation that runs once", () => {
    const code = "a[i] = atomicAdd(&count, 1u) + subgroupMax(i);";
    expect(obstacles(code, { diversity: twoTexts })).toEqual([
      ["both replicas need the result of this atomicAdd", "atomicAdd(&count, 1u)"],
    ]);
  });

  it("and leave a signature only (BELAY213)", () => {
    const { code, diagnostics } = protect(kernel("a[i] = 1u;"), { pairing: "passes", check: "store" });
    expect(diagnostics).toMatchObject([
      {
        code: "BELAY213",
        message:
          "the pairing passes excludes this check: of replicas that run one after the other, one can leave no more than a signature",
      },
    ]);
    expect(code).toBe(kernel("a[i] = 1u;"));
  });
});
