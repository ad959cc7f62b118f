import { Library } from "belay-gpu/internal/transforms/redundancy/comparison/library";
import { Names } from "belay-gpu/internal/transforms/shared/names";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { expect } from "vitest";
import { runReference, translated } from "./reference.ts";

/** A record of the report: the replica that made it, and its first value. */
export interface MadeRecord {
  readonly invocation: number;
  readonly replica: number;
  readonly cause: number;
  readonly value: number;
}

/** Returns a library for an empty module. */
export const newLibrary = (): Library => new Library(new Names(resolve(parse("").module)));

/** Returns the declarations of a library, as WGSL. */
export const codeOf = (library: Library): string =>
  print({ ...parse("").module, declarations: library.takeDeclarations() });

/**
 * Runs replicas on the reference executor, in one workgroup whose subgroups have four lanes. The
 * body uses the library, `lane`, and `input`, which has four numbers for each lane. It may write
 * one number to `output[lane]`. `changed` may break the library.
 */
export function runReplicas(
  library: Library,
  body: string,
  input: readonly (readonly number[])[],
  changed = (declarations: string) => declarations,
) {
  const lanes = input.length;
  const declarations = changed(codeOf(library));
  const source = `
    enable subgroups;
    diagnostic(off, subgroup_uniformity);
    struct Records { count: atomic<u32>, list: array<vec4u, ${4 * lanes}> }
    @group(0) @binding(0) var<storage, read> input: array<vec4u>;
    @group(0) @binding(1) var<storage, read_write> output: array<u32>;
    @group(0) @binding(2) var<storage, read_write> records: Records;
    var<private> belay_replica: u32;
    var<private> belay_local: u32;
    var<private> belay_partner: vec4u;
    fn belay_record(site: u32, cause: u32, address: u32, value: vec4u) {
      records.list[atomicAdd(&records.count, 1u)] = vec4u(belay_local, belay_replica, cause, value.x);
    }
    ${declarations}
    @compute @workgroup_size(${lanes}) fn main(@builtin(local_invocation_index) lane: u32) {
      belay_replica = lane & 1u;
      belay_local = lane >> 1u;
      belay_partner = vec4u(1u << ((lane ^ 1u) % 4u), 0u, 0u, 0u);
      ${body}
    }`;
  const numbers = Uint32Array.from(input.flatMap((each) => [0, 1, 2, 3].map((i) => each[i] ?? 0)));
  const run = {
    buffers: { 0: numbers, 1: new Uint32Array(lanes), 2: new Uint32Array(4 + 16 * lanes) },
    workgroups: [1, 1, 1],
  } as const;
  const { buffers, undecided } = runReference(translated(source, run), run);
  expect(undecided).toBeUndefined();
  const words = (binding: 1 | 2) => [...new Uint32Array(buffers[binding]!.bytes.buffer)];
  const [count, , , , ...list] = words(2);
  const records = Array.from({ length: count! }, (_, i): MadeRecord => {
    const [invocation, replica, cause, value] = list.slice(4 * i) as [number, number, number, number];
    return { invocation, replica, cause, value };
  });
  records.sort((a, b) => a.invocation - b.invocation || a.replica - b.replica);
  return { output: words(1), records };
}
