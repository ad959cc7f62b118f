import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileLoop, describeCompiler, runCompiled } from "./compiled.ts";
import { loops } from "./index.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "belay-loops-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe.skipIf(describeCompiler() === null)("in C", () => {
  test.each(loops)("$name leaves the right values", ({ name, small }) => {
    const program = small();
    const before = program.inputs();
    const { seconds, left } = runCompiled(compileLoop(name, directory), before, 2);
    expect(seconds).toHaveLength(2);
    expect(program.verify(left)).toMatchObject({ ok: true });
    expect(before).toEqual(program.inputs());
  });
});
