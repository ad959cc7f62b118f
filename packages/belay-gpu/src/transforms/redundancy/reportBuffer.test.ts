import { expect, it } from "vitest";
import { CheckSites } from "./reportBuffer.ts";

it("numbers check sites from 1, in order", () => {
  const sites = new CheckSites();
  const site = {
    kind: "store",
    span: { start: 0, end: 1 },
    functionName: "f",
    name: "a",
    scalar: "u32",
    components: 1,
  } as const;
  expect([sites.add(site), sites.add({ ...site, name: "b" })]).toEqual([1, 2]);
  expect(sites.all.map(({ id, name }) => [id, name])).toEqual([
    [1, "a"],
    [2, "b"],
  ]);
});
