import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { collisionKernel, countCollisions } from "./signatureCollisions.ts";

const { newDevice } = testDevices();
const options = { pairs: 30_000, seed: 1, confidence: 0.95 };

it("tells streams apart that differ in any of the ways", async () => {
  const kinds = await countCollisions(await newDevice(), options);
  for (const { difference, events, trials } of kinds) {
    expect({ difference, events }).toEqual({ difference, events: 0 });
    expect(trials).toBeGreaterThan(1000);
  }
});

it("sees what a hash without its rotation would miss", async () => {
  const rotation = /\(?\(hash << 5u\) \| \(hash >> 27u\)\)?/g;
  expect(collisionKernel()).toMatch(rotation);
  const code = collisionKernel().replaceAll(rotation, "hash");
  const kinds = await countCollisions(await newDevice(), { ...options, code });
  const events = (name: string) => kinds.find(({ difference }) => difference === name)!.events;
  expect(events("the top bit in each of two stores")).toBeGreaterThan(1000);
  expect(events("one bit of a value")).toBe(0);
});
