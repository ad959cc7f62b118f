import { readFileSync } from "node:fs";

/** Arguments that let a process of Node.js run TypeScript. */
export const typescript = ["--import", new URL("typescript.mjs", import.meta.url).href] as const;

/** Returns true if a process has ended, also if its parent has not asked for its status yet. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform === "linux" && /\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
