/** Protects the text of a kernel, without a GPU. */
import { protect } from "belay-gpu";
import { code as wgsl } from "./blur.ts";

const { code, entryPoints, checks, diagnostics } = protect(wgsl, { redundancy: "intra+lds", check: "store" });
for (const { name, redundancy } of entryPoints) console.log(`entry point ${name}: ${redundancy}`);
for (const { kind, name, functionName } of checks)
  console.log(`${kind} of ${name}, checked in ${functionName}`);
console.log("module:", code.slice(0, code.indexOf("\n")), "diagnostics:", diagnostics.length);
