import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { findPowerMeter, readPower } from "./power.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function command(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

/** Knows only the older field, and prints two powers in turn when it is asked to go on. */
const meter = `
case "$*" in *instant*) echo "is not a valid field"; exit 2;; esac
case "$*" in *loop*) while :; do echo 150; echo 250; sleep 0.01; done;; esac
echo 100.5`;

const untilRead = async (isReading: () => boolean) => {
  while (!isReading()) await setTimeout(5);
};

describe.skipIf(process.platform === "win32")("a power meter", () => {
  it("is read while work runs", async () => {
    const found = await findPowerMeter(command("smi", meter));
    expect(found?.source).toMatch(/smi power\.draw$/);
    const readings = await readPower(found!, untilRead, () => setTimeout(200));
    expect(readings.length).toBeGreaterThan(4);
    expect(new Set(readings)).toEqual(new Set([150, 250]));
  });

  it("is missing where the driver has no tool, or the GPU no sensor", async () => {
    expect(await findPowerMeter(join(folder, "nothing"))).toBeUndefined();
    expect(await findPowerMeter(command("blind", "echo '[N/A]'"))).toBeUndefined();
  });

  it("that ends is an error, and no wait without end", async () => {
    const found = { source: "", command: command("broken", "exit 1"), args: [] };
    await expect(readPower(found, untilRead, () => setTimeout(1))).rejects.toThrow("ended");
  });
});
