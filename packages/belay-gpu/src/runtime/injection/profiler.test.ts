import { describe, expect, it } from "vitest";
import { prepareStruckKernel, struckCode } from "../../../../../test/support/devices/struckKernel.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { hardenForCampaign } from "../harden.ts";
import type { Execution } from "./injector.ts";

const { sharedDevice } = testDevices({ full: true });

const policies: Policy[] = [
  { redundancy: "none" },
  { redundancy: "intra+lds" },
  { redundancy: "intra-lds", check: "store" },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "inter" },
];

it.each(policies)(
  "counts executions that can be struck, and draws samples that strike: %j",
  async (policy) => {
    const plain = await sharedDevice();
    const profiled = hardenForCampaign(plain, { ...policy, injectFaults: "profile" });
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
    // Three dispatches of two workgroups of 32. One workgroup takes a third branch. Loops run 0 to
    // 3 times.
    expect(executions("a[i] + base")).toEqual({ value: 192 });
    expect(executions("tile[l] = sum")).toEqual({ statement: 192, local: 192 });
    expect(executions("sum += 5u")).toEqual({ value: 96, statement: 96 });
    expect(executions("steps += sum")).toEqual({ value: 288, statement: 288 });
    expect(executions("steps += sum", first)).toEqual({ value: 288, statement: 288 });

    const device = hardenForCampaign(plain, { ...policy, injectFaults: true, onFault: "report" });
    const strikes = await prepareStruckKernel(device, 3);
    await strikes();
    const { kernel } = device.belay.faultSites()[0]!;
    for (const { id, kind, executions, samples } of profile!.sites) {
      if (executions === 0) continue;
      // All executions are drawn if they are few. Of 288, one in three is drawn on average, and so
      // on.
      const stride = executions <= 192 ? 1 : Math.ceil(executions / 128);
      expect(Math.abs(samples.length - executions / stride)).toBeLessThanOrEqual(
        stride === 1 ? 0 : 4 * Math.sqrt(executions / stride),
      );
      const sample = samples[(id * 7) % samples.length]!;
      device.belay.arm({
        ...sample,
        kernel,
        site: id,
        replica: kind === "local" ? 0 : 1,
        effect: { xor: 0 },
        ...(policy.redundancy === "none" && { replica: 0 }),
      });
      await strikes();
      expect(await device.belay.strikes(), `${kind} ${JSON.stringify(sample)}`).toBe(1);
    }
    profiled.destroy();
  },
);

describe("the drawn executions", () => {
  const drawnBy = async (seeds: readonly number[]) => {
    const device = hardenForCampaign(await sharedDevice(), { redundancy: "none", injectFaults: "profile" });
    const run = await prepareStruckKernel(device, 3);
    await run();
    const drawn: (readonly Required<Execution>[])[] = [];
    await device.belay.profile({ seed: seeds[0]! });
    for (const seed of [...seeds.slice(1), 0]) {
      await run();
      const [{ sites } = { sites: [] }] = await device.belay.profile({ seed });
      const site = sites.find(
        ({ kind, span }) => kind === "value" && struckCode.slice(span.start, span.end) === "steps += sum",
      )!;
      expect(site.drawn).toBe(site.samples.length);
      drawn.push(site.samples);
    }
    device.destroy();
    return drawn;
  };

  it("are determined by the seed, on any device", async () => {
    const [first, other, again] = await drawnBy([5, 6, 5]);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(await drawnBy([5])).toEqual([first]);
  });

  it("are equally likely", async () => {
    const seeds = Array.from({ length: 60 }, (_, seed) => seed);
    const occurrences = [0, 0, 0];
    const invocations = new Map<string, number>();
    for (const { occurrence, dispatch, workgroup, localIndex } of (await drawnBy(seeds)).flat()) {
      occurrences[occurrence]!++;
      const invocation = [dispatch, ...workgroup, localIndex].join();
      invocations.set(invocation, 1 + (invocations.get(invocation) ?? 0));
    }
    const all = occurrences.reduce((sum, count) => sum + count);
    // One in three of 288.
    expect(all / 60).toBeCloseTo(96, -1);
    // Of six executions by invocations with 1, 2 and 3 of them, three are a first one and two a
    // second one.
    expect(occurrences.map((count) => (6 * count) / all)).toEqual([
      expect.closeTo(3, 0),
      expect.closeTo(2, 0),
      expect.closeTo(1, 0),
    ]);
    // One in three executions is drawn: always one of an invocation with three, and sometimes one
    // of the others.
    expect(invocations.size).toBe(144);
    expect([...invocations.values()].filter((count) => count === 60).length).toBe(48);
  });
});
