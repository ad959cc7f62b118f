import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DawnValidator, startDawn } from "../support/wgsl/dawnValidator.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const kernel = (size: string) => `override n: u32;\n@compute @workgroup_size(${size}) fn main() {}`;

test("accepts a valid module", async () => {
  expect(await dawn.validate(kernel("64"))).toEqual({ ok: true });
});

test("passes on Dawn's message about an invalid one", async () => {
  const verdict = await dawn.validate("fn f() -> u32 { return 1.5; }");
  expect(verdict.ok).toBe(false);
  expect(verdict).toHaveProperty("message", expect.stringContaining("1:24 error"));
});

test("offers f16 and subgroups", async () => {
  const code = `enable f16; enable subgroups; fn f(x: f16) -> f16 { return subgroupAdd(x); }`;
  expect(await dawn.validate(code)).toEqual({ ok: true });
});

test("finds errors that only pipelines can have", async () => {
  const code = kernel("n");
  expect(await dawn.validate(code)).toEqual({ ok: true });
  expect(await dawn.validatePipeline(code, "main", { n: 64 })).toEqual({ ok: true });
  expect(await dawn.validatePipeline(code, "main", { n: 4096 })).toHaveProperty("ok", false);
  expect(await dawn.validatePipeline(code, "main")).toHaveProperty("ok", false);
  expect(await dawn.validatePipeline(code, "other", { n: 64 })).toHaveProperty("ok", false);
});

test("keeps the order of a batch", async () => {
  const codes = Array.from({ length: 200 }, (_, i) =>
    i % 3 === 0 ? `const x${i} = ;` : `const x${i} = ${i};`,
  );
  const verdicts = await dawn.validateAll(codes);
  expect(verdicts.map((verdict) => verdict.ok)).toEqual(codes.map((_, i) => i % 3 !== 0));
});

test("restarts after its process crashes, and reports the program that crashed it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belay-"));
  const mortal = join(folder, "mortal.mjs");
  await writeFile(
    mortal,
    `process.on("message", ({ code }) => (code === "lethal" ? process.exit(134) : process.send(null)));
     process.on("disconnect", () => process.exit(0));
     process.send("ready");`,
  );
  const fragile = await startDawn(pathToFileURL(mortal));
  const verdicts = await fragile.validateAll(["a", "lethal", "b", "c"]);
  expect(verdicts.map((verdict) => verdict.ok)).toEqual([true, false, true, true]);
  expect(verdicts[1]).toHaveProperty("message", expect.stringContaining("crash: "));
  await fragile.close();
  await rm(folder, { recursive: true });
});
