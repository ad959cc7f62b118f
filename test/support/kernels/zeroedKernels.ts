/**
 * Random kernels whose variables have no initializer: WGSL sets each to zero whenever its
 * declaration is executed. They use this in loops, in functions that several calls share, and in
 * private and workgroup memory.
 */
import fc from "fast-check";
import type { KernelInput } from "./kernelRunner.ts";

const workgroupSize = 32;

/** The input of all kernels. */
export const zeroedInput: KernelInput = {
  buffers: {
    0: Uint32Array.from({ length: 96 }, (_, i) => (i * 2654435761) >>> 7),
    1: new Uint32Array(192),
  },
  workgroups: [3, 1, 1],
};

/** A type, an expression of type u32 that reads all of it, and statements that change it. */
interface Sample {
  readonly type: string;
  read(variable: string): string;
  change(variable: string): string;
}

const samples: readonly Sample[] = [
  { type: "u32", read: (v) => v, change: (v) => `${v} += acc | 1u;` },
  { type: "i32", read: (v) => `u32(${v})`, change: (v) => `${v} -= 7i;` },
  { type: "f32", read: (v) => `bitcast<u32>(${v})`, change: (v) => `${v} = ${v} + 1.5;` },
  { type: "bool", read: (v) => `u32(${v})`, change: (v) => `${v} = !${v};` },
  { type: "vec3u", read: (v) => `(${v}.x + ${v}.y * 3u + ${v}.z)`, change: (v) => `${v}.y += acc | 4u;` },
  {
    type: "vec2<bool>",
    read: (v) => `select(u32(${v}.y), 9u, ${v}.x)`,
    change: (v) => `${v}.x = true; ${v}.y = !${v}.y;`,
  },
  {
    type: "mat2x2f",
    read: (v) => `u32(${v}[0].x + ${v}[1].y * 2f + ${v}[acc & 1u][1])`,
    change: (v) => `${v}[acc & 1u].y += 3f; ${v}[1] = ${v}[1] + vec2f(1f, 2f);`,
  },
  {
    type: "array<u32, 3>",
    read: (v) => `(${v}[acc % 3u] + ${v}[0] * 3u + ${v}[2])`,
    change: (v) => `${v}[acc % 3u] += 5u; ${v}[2]++;`,
  },
  {
    type: "array<mat2x2f, 2>",
    read: (v) => `u32(${v}[acc & 1u][1].x + ${v}[1][0].y)`,
    change: (v) => `${v}[acc & 1u][1].x += 2f; ${v}[1][0].y = 4f;`,
  },
  {
    type: "Part",
    read: (v) => `(${v}.at.y + ${v}.list[acc & 3u].x + u32(${v}.turn[1].x) + u32(${v}.isOpen))`,
    change: (v) => `${v}.at.y += 3u; ${v}.list[acc & 3u].x ^= 9u; ${v}.turn[1].x = 2f; ${v}.isOpen = true;`,
  },
  {
    type: "array<Part, 2>",
    read: (v) => `(${v}[1].list[2].y + ${v}[acc & 1u].at.x)`,
    change: (v) => `${v}[1].list[2].y += acc | 1u; ${v}[acc & 1u].at = vec2u(3u);`,
  },
];

const mix = (value: string) => `acc = (acc ^ ${value}) * 0x9e3779b1u + 1u;`;
const sample = fc.constantFrom(...samples);

/** Numbers names, so that no two declarations have the same one. */
let names = 0;

/** A declaration without initializer, and its uses. */
const declaration = sample.chain(({ type, read, change }) =>
  fc.constantFrom("once", "twice", "late").map((how) => {
    const v = `v${names++}`;
    const declared = `var ${v}: ${type};`;
    const first = how === "late" ? `if ((acc & 2u) != 0u) { ${change(v)} }` : mix(read(v));
    return `${declared} ${first} ${change(v)} ${mix(read(v))}${how === "twice" ? ` ${change(v)} ${mix(read(v))}` : ""}`;
  }),
);

function statements(calls: readonly string[]) {
  return fc.letrec<Record<"statement" | "body", string>>((tie) => {
    const body = tie("body");
    const bounded = { maxDepth: 2, depthSize: "small" } as const;
    const loop = (header: string, begin = "") =>
      fc.tuple(declaration, body).map(([own, inner]) => {
        const k = `k${names++}`;
        return `${header.replaceAll("$k", k)} { ${begin.replaceAll("$k", k)} ${own} ${inner} }`;
      });
    return {
      statement: fc.oneof(
        bounded,
        declaration,
        declaration,
        ...calls.map((call) => fc.constant(`acc = ${call}(acc); acc = ${call}(acc);`)),
        fc.constant(`out[id.x + 96u] = acc;`),
        loop("for (var $k = 0u; $k < 3u; $k++)"),
        loop("for (var $k = 0u; $k < 4u; $k++)", "if ((acc & 3u) == 1u) { acc++; continue; }"),
        loop("for (var $k = 0u; $k < 2u + (acc & 1u); $k++)"),
        fc.tuple(declaration, body).map(([own, inner]) => {
          const k = `k${names++}`;
          return `var ${k}: u32; loop { ${own} ${inner} continuing { ${k}++; break if ${k} > 2u; } }`;
        }),
        body.map((inner) => `{ ${inner} }`),
        fc.tuple(body, body).map(([yes, no]) => `if ((acc & 1u) == 0u) { ${yes} } else { ${no} }`),
        fc
          .tuple(body, body)
          .map(([one, other]) => `switch acc % 3u { case 0u: { ${one} } default: { ${other} } }`),
      ),
      body: fc.array(tie("statement"), { minLength: 1, maxLength: 2 }).map((all) => all.join("\n")),
    };
  }).body;
}

/** A kernel that relies on zeros. */
export const zeroedKernel: fc.Arbitrary<string> = fc
  .tuple(
    statements([]),
    statements(["first"]),
    statements(["first", "second"]),
    fc.uniqueArray(sample, { maxLength: 2 }),
    fc.uniqueArray(sample, { maxLength: 2 }),
    fc.integer({ max: 3, min: 0 }).map((chance) => chance === 0),
  )
  .map(([first, second, body, privates, shared, hasAtomics]) => {
    const inFunction = (text: string) => text.replaceAll(/out\[[^\]]*\] = acc;/g, "");
    const privateUses = privates.map(
      ({ read, change }, k) => `${mix(read(`p${k}`))} ${change(`p${k}`)} ${mix(read(`p${k}`))}`,
    );
    const sharedUses = shared.map(
      ({ read, change }, k) =>
        `${mix(read(`w${k}[lid]`))} ${change(`w${k}[lid]`)} ${mix(read(`w${k}[lid]`))}`,
    );
    const atomics = `${mix("atomicLoad(&counts[lid].n)")} atomicAdd(&counts[lid].n, acc); atomicMax(&total, acc);
        workgroupBarrier(); ${mix("atomicLoad(&total)")} ${mix("atomicLoad(&counts[(lid + 1u) % 32u].n)")}`;
    return `
struct Part { at: vec2u, list: array<vec2u, 4>, turn: mat2x2f, isOpen: bool }
struct Count { a: u32, n: atomic<u32> }
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
${privates.map(({ type }, k) => `var<private> p${k}: ${type};`).join("\n")}
${shared.map(({ type }, k) => `var<workgroup> w${k}: array<${type}, ${workgroupSize}>;`).join("\n")}
${hasAtomics ? `var<workgroup> counts: array<Count, ${workgroupSize}>; var<workgroup> total: atomic<u32>;` : ""}
fn first(from_first: u32) -> u32 { var acc = from_first; ${inFunction(first)} return acc; }
fn second(from_second: u32) -> u32 { var acc = from_second; ${privateUses.join(" ")} ${inFunction(second)} return acc; }
@compute @workgroup_size(${workgroupSize})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) lid: u32) {
  var acc = a[id.x];
  ${privateUses.join("\n  ")}
  ${sharedUses.join("\n  ")}
  ${hasAtomics ? atomics : ""}
  ${body}
  ${sharedUses.join("\n  ")}
  out[id.x] = acc;
}`;
  });
