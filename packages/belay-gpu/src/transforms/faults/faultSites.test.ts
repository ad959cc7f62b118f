import { expect, it } from "vitest";
import { FaultSites } from "./faultSites.ts";

it("numbers sites from 1, in the order in which they are added", () => {
  const sites = new FaultSites();
  const site = { span: { start: 3, end: 5 }, functionName: "main", components: 1, uniform: false } as const;
  expect(sites.add({ kind: "value", ...site })).toBe(1);
  expect(sites.add({ kind: "branch", ...site, machinery: "window" })).toBe(2);
  expect(sites.all).toEqual([
    { id: 1, kind: "value", ...site },
    { id: 2, kind: "branch", ...site, machinery: "window" },
  ]);
});
