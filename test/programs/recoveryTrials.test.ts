/**
 * Random injected faults are recovered from. `research/src/bench/recovery.ts` runs more of these
 * trials.
 */

import { rememberPipelines } from "belay-cli/internal/shared/workloads/rememberPipelines";
import { harden } from "belay-gpu/internal/runtime/harden";
import { runTrials, trialWorkloads } from "belay-research/internal/scripts/recovery/trials";
import { expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";

const { sharedDevice } = testDevices({ full: true });

it.each([
  "histogram",
  "bitonicSort, in place",
  "bitonicSort, three in flight",
  "indirect dispatch, in place",
])("%s: each detected fault is recovered from", async (name) => {
  const device = await harden(await sharedDevice(), { redundancy: "intra+lds", injectFaults: true });
  const count = 10;
  const remembering = rememberPipelines(device);
  const workload = () => trialWorkloads[name]!(remembering);
  const trials = await runTrials(workload, device, { count, seed: 7 });
  expect(trials).toMatchObject({ detected: count, recovered: count, wrong: 0, silent: [] });
  expect(await device.belay.report()).toMatchObject({
    recoveries: count,
    giveUps: 0,
    snapshots: { held: expect.any(Number) },
  });
  device.destroy();
});

it("a fault that strikes each time ends in the right error, and the device still works", async () => {
  const device = await harden(await sharedDevice(), {
    redundancy: "intra+lds",
    injectFaults: true,
    retries: 2,
    check: "store",
  });
  const workload = trialWorkloads["indirect dispatch, in place"]!;
  const expected = await workload(device);
  const { kernel, sites } = device.belay.faultSites().find(({ entryPoint }) => entryPoint === "step")!;
  const gaveUp = vi.fn();
  device.belay.addEventListener("giveUp", gaveUp);
  device.belay.arm({
    kernel,
    site: sites.findLast(({ kind }) => kind === "value")!.id,
    replica: 1,
    effect: { xor: 4 },
    permanent: true,
    workgroup: [0, 0, 0],
    localIndex: 3,
  });
  const failure = await workload(device).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    name: "FaultError",
    faults: [{ kernel, workgroup: [0, 0, 0], localIndex: 3 }],
  });
  expect(String(failure)).toMatch(
    /disagree at state, line \d+.*local index 3 computed \d+ and \d+[\s\S]*the fault came back 2 times/,
  );
  expect(await device.belay.report()).toMatchObject({ replays: 2, recoveries: 0, giveUps: 1 });
  expect(gaveUp).toHaveBeenCalledOnce();
  device.belay.disarm();
  expect(await workload(device)).toEqual(expected);
  device.destroy();
});
