import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { digestOfModule } from "./moduleGraph.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-graph-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const files: Readonly<Record<string, string>> = {
  "workload.ts": `import { a } from "./a.ts";
    import type { T } from "./types.ts";
    import "./side.ts";
    import { version } from "some-package";
    import { readFileSync } from "node:fs";
    export * from "./again.ts";
    const later = () => import("./later.ts");
    const text = readFileSync(new URL("./kernel.wgsl", import.meta.url), "utf8");
    export default async () => ({ a, later, text, version });`,
  "a.ts": `import { b } from "./deep/b"; import size from "./size.json"; export const a = b + size;`,
  "deep/b.ts": `import { a } from "../a.ts"; const c = require("./c.cjs"); export const b = 1 + c; export { a };`,
  "deep/c.cjs": "module.exports = 1;",
  "side.ts": "globalThis.side = 1;",
  "types.ts": "export type T = 1;",
  "again.ts": "export const again = 1;",
  "later.ts": "export const later = 1;",
  "kernel.wgsl": "fn f() {}",
  "size.json": "1",
  "unrelated.ts": "export const unrelated = 1;",
  "node_modules/some-package/package.json": `{ "name": "some-package", "version": "1.0.0", "main": "main.js" }`,
  "node_modules/some-package/main.js": "exports.version = 1;",
};
let made = 0;

function workload(changed: Readonly<Record<string, string>> = {}): string {
  const at = join(folder, String(made++));
  for (const [name, text] of Object.entries({ ...files, ...changed })) {
    mkdirSync(dirname(join(at, name)), { recursive: true });
    writeFileSync(join(at, name), text);
  }
  return join(at, "workload.ts");
}

describe("the digest of a module", () => {
  const original = digestOfModule(workload());

  it("stays the same elsewhere, and where nothing of it changes", () => {
    expect(digestOfModule(workload())).toBe(original);
    expect(digestOfModule(workload({ "unrelated.ts": "export const unrelated = 2;" }))).toBe(original);
    expect(digestOfModule(workload({ "types.ts": "export type T = 2;" }))).toBe(original);
    const link = join(folder, "link.ts");
    symlinkSync(workload(), link);
    expect(digestOfModule(link)).toBe(original);
  });

  it.each([
    "workload.ts",
    "a.ts",
    "deep/b.ts",
    "deep/c.cjs",
    "side.ts",
    "again.ts",
    "later.ts",
    "kernel.wgsl",
    "size.json",
  ])("follows %s", (name) => {
    expect(digestOfModule(workload({ [name]: `${files[name]} ` }))).not.toBe(original);
  });

  it("follows the version of a package", () => {
    const manifest = "node_modules/some-package/package.json";
    const changed = files[manifest]!.replace("1.0.0", "1.0.1");
    expect(digestOfModule(workload({ [manifest]: changed }))).not.toBe(original);
  });

  it("leaves what is not there to whoever loads the module", () => {
    const broken = workload();
    rmSync(join(dirname(broken), "a.ts"));
    expect(digestOfModule(broken)).not.toBe(original);
    const copy = join(folder, "copy");
    cpSync(dirname(broken), copy, { recursive: true });
    expect(digestOfModule(join(copy, "workload.ts"))).toBe(digestOfModule(broken));
  });
});
