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

/**
 * A function `fn (site: u32)` for replicas anywhere in the workgroup: the second leaves its signature in workgroup
 * memory, the first compares, and records what both have. `lanes` is the number of invocations of the doubled workgroup,
 * as a WGSL expression (the largest, when several entry points share the function).
 */
export function concludeByBarrier(library: Library, signature: string, lanes: string): string {
  const [record, replica, local] = ["record", "replica", "local"].map((name) => library.names.the(name));
  const finals = library.once("finals", (name) => `var<workgroup> ${name}: array<u32, (${lanes}) / 2u>;`);
  return library.once(
    "conclude",
    (name) => `
    fn ${name}(site: u32) {
      if (${replica} == 1u) { ${finals}[${local}] = ${signature}; }
      workgroupBarrier();
      if (${replica} == 0u) {
        let theirs = ${finals}[${local}];
        if (theirs != ${signature}) {
          ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${signature}, 0u, 0u, 0u));
          ${replica} = 1u;
          ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(theirs, 0u, 0u, 0u));
        }
      }
    }`,
  );
}
