import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../../../test/support/until.ts";
import { findPowerMeter, readPower } from "./power.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function command(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

const printed = join(folder, "printed");
const timesPrinted = () => statSync(printed, { throwIfNoEntry: false })?.size ?? 0;
/**
 * The script of a meter that knows only the older field, and prints two powers in turn when it
 * loops. A file grows by a byte each time.
 */
const meter = `
case "$*" in *instant*) echo "is not a valid field"; exit 2;; esac
case "$*" in *loop*) while :; do echo 150; echo 250; printf x >> ${printed}; sleep 0.01; done;; esac
echo 100.5`;

/** Works until the meter has printed both powers ten times more, and its output has arrived. */
async function untilPrinted(): Promise<void> {
  const before = timesPrinted();
  await until(() => timesPrinted() >= before + 10);
  await setImmediate();
}

describe.skipIf(process.platform === "win32")("a power meter", () => {
  it("is read while work runs", async () => {
    const found = await findPowerMeter(command("smi", meter));
    expect(found?.source).toMatch(/smi power\.draw$/);
    const readings = await readPower(found!, until, untilPrinted);
    expect(readings.length).toBeGreaterThan(4);
    expect(new Set(readings)).toEqual(new Set([150, 250]));
  });

  it("is missing where the driver has no tool, or the GPU no sensor", async () => {
    expect(await findPowerMeter(join(folder, "nothing"))).toBeUndefined();
    expect(await findPowerMeter(command("blind", "echo '[N/A]'"))).toBeUndefined();
  });

  it("that ends is an error, and no wait without end", async () => {
    const found = { source: "", command: command("broken", "exit 1"), args: [] };
    await expect(readPower(found, until, () => setImmediate())).rejects.toThrow("ended");
  });
});
