import { expect, it } from "vitest";
import { prepareStruckKernel, struckCode } from "../../test/struckKernel.ts";
import { testDevices } from "../../test/testDevices.ts";
import { harden } from "./harden.ts";
import type { Policy } from "./policy.ts";

const { newDevice } = testDevices({ full: true });

const policies: Policy[] = [
  { redundancy: "none" },
  { redundancy: "intra+lds" },
  { redundancy: "intra-lds", check: "store" },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "inter" },
];

it.each(policies)("counts what would be struck, and draws samples that strike: %j", async (policy) => {
  const plain = await newDevice();
  const profiled = await harden(plain, { ...policy, injectFaults: "profile" });
  const run = await prepareStruckKernel(profiled, 3);
  const right = await (await prepareStruckKernel(plain, 3))();
  expect(await run()).toEqual(right);
  const [first] = await profiled.belay.profile();
  expect(first!.sites.flatMap(({ samples }) => samples)).toEqual([]);
  expect(await run()).toEqual(right);
  const [profile] = await profiled.belay.profile();
  const executions = (source: string, of = profile!) =>
    Object.fromEntries(
      of.sites
        .filter(({ span }) => struckCode.slice(span.start, span.end) === source)
        .map((site) => [site.kind, site.executions]),
    );
  expect(profile).toMatchObject({ dispatches: 3, iterations: 3 });
  // Three dispatches of two workgroups of 32; a third branch is taken in one of the workgroups; loops run 0 to 3 times.
  expect(executions("a[i] + base")).toEqual({ value: 192 });
  expect(executions("tile[l] = sum")).toEqual({ statement: 192, local: 192 });
  expect(executions("sum += 5u")).toEqual({ value: 96, statement: 96 });
  expect(executions("steps += sum")).toEqual({ value: 288, statement: 288 });
  expect(executions("steps += sum", first)).toEqual({ value: 288, statement: 288 });

  const device = await harden(plain, { ...policy, injectFaults: true, onFault: "report" });
  const strikes = await prepareStruckKernel(device, 3);
  await strikes();
  const { kernel } = device.belay.faultSites()[0]!;
  for (const { id, kind, executions, samples } of profile!.sites) {
    if (executions === 0) continue;
    // Every third of 288, and so on; all of those that are few.
    const kept = executions / Math.ceil(executions / 128);
    expect(Math.abs(samples.length - kept)).toBeLessThanOrEqual(1);
    const sample = samples[(id * 7) % samples.length]!;
    device.belay.arm({
      ...{ ...sample, kernel, site: id, replica: kind === "local" ? 0 : 1, effect: { xor: 0 } },
      ...(policy.redundancy === "none" && { replica: 0 }),
    });
    await strikes();
    expect(await device.belay.strikes(), `${kind} ${JSON.stringify(sample)}`).toBe(1);
  }
  profiled.destroy();
});

it("samples each execution as often as any other", async () => {
  const device = await harden(await newDevice(), { redundancy: "none", injectFaults: "profile" });
  const run = await prepareStruckKernel(device, 3);
  await run();
  await device.belay.profile();
  const occurrences = [0, 0, 0];
  for (let i = 0; i < 20; i++) {
    await run();
    const [{ sites } = { sites: [] }] = await device.belay.profile();
    const { samples } = sites.find(
      ({ kind, span }) => kind === "value" && struckCode.slice(span.start, span.end) === "steps += sum",
    )!;
    expect(samples.length).toBe(96);
    for (const { occurrence } of samples) occurrences[occurrence!]!++;
  }
  // Of six executions by invocations with 1, 2 and 3 of them, three are a first one and two a second one.
  expect(occurrences.map((count) => count / 320)).toEqual([
    expect.closeTo(3, 0),
    expect.closeTo(2, 0),
    expect.closeTo(1, 0),
  ]);
  device.destroy();
});
