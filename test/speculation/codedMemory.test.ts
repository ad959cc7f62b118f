/** Speculation on a device whose memory is protected by check words. */

import { harden } from "belay-gpu";
import { publishedEngine } from "belay-research/internal/published/published";
import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices({ full: true });
const n = 200;
const order = numbers(n, (i) => (i * 77 + 5) % n);

it.each([
  ["default", "default"],
  ["published", publishedEngine()],
] as const)("is as in sequence in the %s engine, and flips are corrected", async (name, engine) => {
  const policy = { redundancy: "none", memory: "secded64", injectFaults: true } as const;
  const device = await harden(await devices.newDevice(), policy);
  const loop = loopFrom(
    "a: Int32Array, p: Int32Array, q: Int32Array",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = (Math.imul(a[q[i]!]!, 3) + i) | 0; }",
    "speculate(a)",
  );
  const a = resident(numbers(n, (i) => i * i));
  const given = { arrays: { a, p: order, q: order.map((_, i) => order[i - 50] ?? order[i]!) }, count: n };
  const { statistics } = await expectSequential(loop, given, { device, engine });
  expect(statistics).toMatchObject({ engine: name, onCpu: 0 });
  expect((await device.belay.report()).memory).toMatchObject({ corrected: 0, uncorrectable: 0 });

  const buffer = await a.upload(Workspace.of(device), { uploaded: 0, downloaded: 0 });
  device.belay.flip(buffer, 4 * order[0]!, 1 << 7);
  await expectSequential(loop, given, { device, engine });
  const { memory } = await device.belay.report();
  expect(memory).toMatchObject({ uncorrectable: 0 });
  expect(memory!.corrected).toBeGreaterThan(0);
});
