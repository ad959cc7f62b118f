/** `belay bench speculation` on loops that are small enough for any adapter. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { belay } from "../support/processes/belay.ts";

describe("belay bench speculation", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "belay-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("verifies and measures loops, and writes a report", async () => {
    const options = [
      "--only",
      "trfd",
      "--growth",
      "8",
      "--runs",
      "1",
      "--threads",
      "2",
      "--variant-limit",
      "600",
      "--out",
      directory,
    ];
    const { status, stdout } = await belay(["bench", "speculation", ...options]);
    expect(stdout).toContain("1 loop measured, every result right");
    expect(stdout).toMatch(/Geometric mean over C|Without a C compiler/);
    expect(status).toBe(0);
    const run = JSON.parse(await readFile(join(directory, "speculation.json"), "utf8"));
    const [program] = run.programs;
    expect(program).toMatchObject({ name: "trfd", iterations: 192, threads: { right: true } });
    for (const variant of [
      "default",
      "published",
      "no localization",
      "no copy optimization",
      "no scheduling",
    ]) {
      expect(program.variants[variant], variant).toMatchObject({ right: true });
    }
    expect(run.growth[0]).toMatchObject({ size: "2^8", variants: { published: { right: true } } });
    const page = await readFile(join(directory, "speculation.html"), "utf8");
    for (const figure of [8, 9, 10, 11]) expect(page).toContain(`(figure ${figure})`);
  });

  it("rejects unknown loops and sizes", async () => {
    for (const option of [
      ["--only", "nothing"],
      ["--variants", "everything"],
      ["--growth", "31"],
      ["--threads", "0"],
      ["--size", "huge"],
    ]) {
      const { status, stderr } = await belay(["bench", "speculation", ...option]);
      expect(status, option.join(" ")).not.toBe(0);
      expect(stderr).toContain(
        option[1] === "0" ? "whole number" : option[1] === "31" ? "1 to 30" : option[1],
      );
    }
  });
});
