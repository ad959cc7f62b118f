/** How the replicas compare their final signatures, at the end of an entry point, where control flow is uniform. */
import { recordCause } from "../reportBuffer.ts";
import type { Library } from "./library.ts";

/** Bytes of workgroup memory that an invocation takes when the conclusion needs a barrier. */
export const finalBytes = 4;

/** A function `fn (site: u32)` for replicas that are lanes of one subgroup, `distance` apart. */
export function concludeByExchange(library: Library, signature: string, distance: string): string {
  return library.once(
    "conclude",
    (name) => `
    fn ${name}(site: u32) {
      if (subgroupShuffleXor(${signature}, ${distance}) != ${signature}) {
        ${library.names.the("record")}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${signature}, 0u, 0u, 0u));
      }
    }`,
  );
}

/** Records that the signatures of the replicas differ, for both: `theirs` is what the second has, as WGSL. */
function recordBoth({ names }: Library, signature: string, theirs: string): string {
  const [record, replica] = [names.the("record"), names.the("replica")];
  return `
    ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${signature}, 0u, 0u, 0u));
    ${replica} = 1u;
    ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${theirs}, 0u, 0u, 0u));`;
}

/**
 * A function `fn (site: u32)` for replicas anywhere in the workgroup: the second leaves its signature in workgroup
 * memory, the first compares, and records what both have. `lanes` is the number of invocations of the doubled workgroup,
 * as a WGSL expression (the largest, when several entry points share the function).
 */
export function concludeByBarrier(library: Library, signature: string, lanes: string): string {
  const [replica, local] = ["replica", "local"].map((name) => library.names.the(name));
  const finals = library.once("finals", (name) => `var<workgroup> ${name}: array<u32, (${lanes}) / 2u>;`);
  return library.once(
    "conclude",
    (name) => `
    fn ${name}(site: u32) {
      if (${replica} == 1u) { ${finals}[${local}] = ${signature}; }
      workgroupBarrier();
      if (${replica} == 0u) {
        let theirs = ${finals}[${local}];
        if (theirs != ${signature}) { ${recordBoth(library, signature, "theirs")} }
      }
    }`,
  );
}

/** How a replica that runs before the other leaves its signature, and how the other finds it: WGSL functions. */
export interface Succession {
  /** `fn ()`: ends the first pass. */
  readonly keep: string;
  /** `fn (site: u32)`: ends the second. */
  readonly conclude: string;
}

/** For invocations that have swapped lanes within a subgroup, all but those that had nobody to swap with. */
export function succeedByExchange(library: Library, signature: string): Succession {
  const local = library.names.the("local");
  const kept = library.once("kept", (name) => `var<private> ${name}: u32;`);
  const whose = library.once("whose", (name) => `var<private> ${name}: u32;`);
  return {
    keep: library.once(
      "keep",
      (name) => `fn ${name}() { ${kept} = ${signature}; ${whose} = ${local}; ${signature} = 0u; }`,
    ),
    conclude: library.once(
      "conclude",
      (name) => `
      fn ${name}(site: u32) {
        let theirs = select(subgroupShuffleXor(${kept}, 1u), ${kept}, ${whose} == ${local});
        if (theirs != ${signature}) { ${recordBoth(library, signature, "theirs")} }
      }`,
    ),
  };
}

/**
 * For invocations that have swapped lanes anywhere in the workgroup, of as many invocations as `lanes` says (the largest,
 * when several entry points share the functions).
 */
export function succeedByBarrier(library: Library, signature: string, lanes: string): Succession {
  const local = library.names.the("local");
  const finals = library.once("finals", (name) => `var<workgroup> ${name}: array<u32, ${lanes}>;`);
  return {
    keep: library.once(
      "keep",
      (name) => `fn ${name}() { ${finals}[${local}] = ${signature}; ${signature} = 0u; }`,
    ),
    conclude: library.once(
      "conclude",
      (name) => `
      fn ${name}(site: u32) {
        workgroupBarrier();
        let theirs = ${finals}[${local}];
        if (theirs != ${signature}) { ${recordBoth(library, signature, "theirs")} }
      }`,
    ),
  };
}
