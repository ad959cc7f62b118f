import { describe, expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { desugarLoops } from "../transforms/normalize/desugarLoops.ts";
import { normalizeAccesses } from "../transforms/normalize/normalizeAccesses.ts";
import { resolvePointers } from "../transforms/normalize/resolvePointers.ts";
import { Names } from "../transforms/shared/names.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { waitsOf } from "./waits.ts";

const prelude = `
  struct State { value: u32, tries: vec2u }
  @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
  @group(0) @binding(1) var<storage, read_write> data: array<u32>;
  @group(0) @binding(2) var<storage, read> given: array<u32>;
  var<workgroup> flag: atomic<u32>;
  var<workgroup> done: u32;
  var<workgroup> seen: array<u32, 64>;
  var<private> seed: u32;
  fn try_lock(i: u32) -> bool { return atomicCompareExchangeWeak(&n[i], 0u, 1u).exchanged; }
  fn add(i: u32, old: u32) -> bool { return atomicCompareExchangeWeak(&n[i], old, old + 1u).exchanged; }
  fn wait_for(p: ptr<storage, array<atomic<u32>>, read_write>) { while (atomicLoad(&p[0]) == 0u) {} }
  fn random() -> u32 { seed = seed * 747796405u + 1u; return seed; }
  fn poll(i: u32) { seed = atomicLoad(&n[i]); }
  fn step(p: ptr<function, u32>) { *p += 1u; }`;

/** Returns the variables that the loops of a body wait for. */
function waits(body: string): string[] {
  let program = typed(`requires unrestricted_pointer_parameters; ${prelude}
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
      let total = 8u; let i = w.x * 64u + l; data[i] = given[i]; ${body} }`);
  const names = new Names(program);
  program = typed(desugarLoops(program));
  program = typed(resolvePointers(program, names));
  program = typed(normalizeAccesses(program, names));
  const kernel = functionsOf(program).find((fn) => stageOf(fn) === "compute")!;
  return waitsOf(program, kernel).map(({ variable }) => variable.name);
}

describe("a loop waits", () => {
  it.each([
    ["at a barrier across workgroups", "atomicAdd(&n[0], 1u); while (atomicLoad(&n[0]) < total) {}"],
    [
      "at a barrier that loads by adding zero",
      "atomicAdd(&n[0], 1u); while (atomicAdd(&n[0], 0u) < total) {}",
    ],
    [
      "and counts its iterations",
      "atomicAdd(&n[0], 1u); var spins = 0u; loop { if (atomicLoad(&n[0]) >= total) { break; } spins++; } data[i] = spins;",
    ],
    [
      "for a leader's flag",
      "if (l == 0u) { atomicStore(&n[1], 1u); } var v = atomicLoad(&n[1]); while (v == 0u) { v = atomicLoad(&n[1]); }",
    ],
    [
      "together with its leader",
      `if (l == 0u) { atomicAdd(&n[0], 1u); }
      loop { if (l == 0u) { done = atomicLoad(&n[0]); } if (workgroupUniformLoad(&done) >= total) { break; } }`,
    ],
    [
      "for a ticket",
      "let t = atomicAdd(&n[0], 1u); while (atomicLoad(&n[1]) != t) {} data[0] += 1u; atomicAdd(&n[1], 1u);",
    ],
    [
      "for a lock by exchange",
      "while (atomicExchange(&n[0], 1u) == 1u) {} data[0] += 1u; atomicStore(&n[0], 0u);",
    ],
    [
      "for a lock by a bit",
      "while ((atomicOr(&n[0], 2u) & 2u) != 0u) {} data[0] += 1u; atomicAnd(&n[0], 1u);",
    ],
    [
      "for a lock by compare and exchange",
      "loop { if (atomicCompareExchangeWeak(&n[0], 0u, i + 1u).exchanged) { break; } } atomicStore(&n[0], 0u);",
    ],
    ["for a lock that a function tries", "while (!try_lock(i % 4u)) {} atomicStore(&n[i % 4u], 0u);"],
    [
      "for a lock until its work is done",
      `var is_done = false;
      while (!is_done) { if (atomicExchange(&n[0], 1u) == 0u) { data[0] += 1u; is_done = true; atomicStore(&n[0], 0u); } }`,
    ],
    [
      "for a lock in a workgroup",
      "while (atomicExchange(&flag, 1u) == 1u) {} data[0] += 1u; atomicStore(&flag, 0u);",
    ],
    [
      "for locks one after the other",
      `for (var k = 0u; k < 4u; ) {
      if (atomicExchange(&n[k], 1u) == 0u) { data[k] += 1u; atomicStore(&n[k], 0u); k++; } }`,
    ],
    [
      "in a decoupled lookback",
      `atomicStore(&n[i], 1u); var j = i; var sum = 0u;
      loop { let s = atomicLoad(&n[j]); if (s == 0u) { continue; } sum += s; if (s > 2u || j == 0u) { break; } j--; } data[i] = sum;`,
    ],
    [
      "with longer and longer pauses",
      `var pause = 1u; while (atomicLoad(&n[0]) == 0u) { for (var k = 0u; k < pause; k++) { data[i] = k; } pause *= 2u; }
      atomicStore(&n[0], 1u);`,
    ],
    [
      "with pauses that end early",
      `var pause = 9u; loop { if (atomicLoad(&n[0]) != 0u) { break; } loop { pause--; if (pause % 4u == 0u) { break; } } }
      atomicStore(&n[0], 1u);`,
    ],
    [
      "and notes each fourth try",
      `var k = 0u; while (atomicLoad(&n[0]) == 0u) { k++; if (k % 4u == 0u) { data[i] = k; } } atomicStore(&n[0], 1u);`,
    ],
    [
      "for a number that a function loads",
      "loop { poll(0u); if (seed != 0u) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "and counts in another component",
      "var s = vec2u(0u); loop { s.x = atomicLoad(&n[0]); s.y += 1u; if (s.r != 0u) { break; } } data[i] = s.y; atomicStore(&n[0], 1u);",
    ],
    [
      "and counts in another member",
      "var s: State; loop { s.value = atomicLoad(&n[0]); s.tries.x += 1u; if (s.value != 0u) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "in a lookback that a workgroup does together",
      `atomicStore(&n[w.x], 1u); var j = w.x;
      loop { if (l < 32u) { seen[l] = atomicLoad(&n[j - l]); } workgroupBarrier();
        if (seen[0] > 2u) { break; } if (seen[0] > 0u) { j--; } workgroupBarrier(); }`,
    ],
    ["in a function that takes a pointer", "atomicStore(&n[0], i); wait_for(&n);"],
    ["for a plain store of another invocation", "data[0] = 1u; while (data[1] == 0u) {} data[1] = i;"],
  ])("%s", (_, body) => expect(waits(body)).toHaveLength(1));
});

describe("a loop progresses by itself", () => {
  it.each([
    ["with a counter", "for (var k = 0u; k < atomicLoad(&n[0]); k++) { atomicAdd(&n[1], k); }"],
    [
      "with a bound on its tries",
      "for (var k = 0u; k < 9u && atomicLoad(&n[0]) == 0u; k++) {} atomicStore(&n[0], 1u);",
    ],
    [
      "with a counter of tries that ends it",
      "var k = 0u; loop { if (atomicExchange(&n[0], 1u) == 0u) { break; } k++; if (k > 99u) { break; } }",
    ],
    [
      "with a bound that a branch counts to",
      "var k = 0u; var tries = 0u; while (atomicLoad(&n[0]) == 0u && tries < 9u) { k++; if (k % 4u == 0u) { tries++; } } atomicStore(&n[0], 1u);",
    ],
    [
      "with a bound in another component",
      "var s = vec2u(0u); loop { s.x = atomicLoad(&n[0]); s.y += 1u; if (any(s > vec2u(0u, 9u))) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "with a bound in a member",
      "var s: State; loop { s.value = atomicLoad(&n[0]); s.tries.x += 1u; if (s.value != 0u || s.tries.x > 9u) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "with a member of a whole that it assigns",
      "var s: State; loop { let next = s.tries + 1u; s = State(atomicLoad(&n[0]), next); if (s.value != 0u || s.tries.x > 9u) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "over numbers that a function loads",
      "var k = 0u; loop { poll(k); k++; if (seed != 0u || k > 9u) { break; } } atomicStore(&n[0], 1u);",
    ],
    [
      "taking work from a counter",
      "loop { let k = atomicAdd(&n[0], 1u); if (k >= total) { break; } data[k] = k; }",
    ],
    ["taking work back", "while (atomicSub(&n[0], 1u) > 3u) { data[i] += 1u; }"],
    [
      "adding without a lock",
      `var old = atomicLoad(&n[0]);
      loop { let r = atomicCompareExchangeWeak(&n[0], old, old * 2u); if (r.exchanged) { break; } old = r.old_value; }`,
    ],
    [
      "adding to a value that it reloads",
      `loop { let old = atomicLoad(&n[0]); if (atomicCompareExchangeWeak(&n[0], old, max(old, i)).exchanged) { break; } }`,
    ],
    ["adding in a function", "loop { let old = atomicLoad(&n[0]); if (add(0u, old)) { break; } }"],
    [
      "inserting into a table",
      `var slot = i % 8u;
      loop { let r = atomicCompareExchangeWeak(&n[slot], 0u, i); if (r.exchanged || r.old_value == i) { break; } slot = (slot + 1u) % 8u; }`,
    ],
    [
      "by changing the memory that it checks",
      "while (atomicLoad(&n[1]) < 9u && atomicAdd(&n[1], 0u) == 0u) { atomicMax(&n[1], 1u); }",
    ],
    [
      "searching",
      "var low = 0u; var high = 64u; while (low < high) { let mid = (low + high) / 2u; if (data[mid] < i) { low = mid + 1u; } else { high = mid; } } data[i] = low;",
    ],
    ["following a list", "var at = i; while (data[at] != at) { at = data[at]; } data[i] = at;"],
    [
      "together with its workgroup",
      `loop { if (l == 0u) { done = data[0] + 1u; data[0] = done; } if (workgroupUniformLoad(&done) > 4u) { break; } }`,
    ],
    [
      "between barriers",
      "while (true) { workgroupBarrier(); if (atomicLoad(&flag) > 3u) { break; } workgroupBarrier(); if (l == 0u) { atomicAdd(&flag, 1u); } }",
    ],
    ["with random numbers", "while (random() % 7u != 0u) { atomicAdd(&n[0], 1u); }"],
    ["through a pointer", "var k = 0u; while (atomicLoad(&n[k]) > 0u) { step(&k); } atomicStore(&n[0], k);"],
    [
      "with memory that only the host changes",
      "while (given[i] > 3u) { if (atomicAdd(&n[0], 1u) > 3u) { break; } }",
    ],
    [
      "over a shared list of work",
      "while (atomicLoad(&n[0]) > 0u) { let k = atomicSub(&n[0], 1u); if (k > 99u) { break; } data[k] = k; }",
    ],
    [
      "in a nest of loops",
      "for (var k = 0u; k < 4u; k++) { var j = k; while (j > 0u && data[j - 1u] > data[j]) { let t = data[j]; data[j] = data[j - 1u]; data[j - 1u] = t; j--; } }",
    ],
  ])("%s", (_, body) => expect(waits(body)).toEqual([]));
});
