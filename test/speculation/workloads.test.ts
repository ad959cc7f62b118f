/** The loops of the paper in the default engine, and in the published one with every part of it and with two left out. */
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSpeculated } from "../../src/bench/speculatedFunction.ts";
import { type SpeculateOptions, type Statistics, speculate } from "../../src/speculation/speculate.ts";
import { loops } from "../../workloads/loops/index.ts";
import { testDevices } from "../testDevices.ts";

const devices = testDevices({ full: true });
const engines: readonly SpeculateOptions[] = [
  { engine: "default", fallback: "never" },
  { engine: "published" },
  { engine: "published", published: { localization: false, scheduling: false } },
];

describe.each(loops)("$name", ({ name, small }) => {
  it("is right in each engine", async () => {
    const program = small();
    const run = await loadSpeculated(resolve(`workloads/loops/${name}.ts`), name);
    const device = await devices.newDevice();
    for (const options of engines) {
      const statistics: Statistics[] = [];
      const parameters = program.inputs();
      await run(async (call) => {
        const result = await speculate(call, { device, ...options });
        statistics.push(result.statistics);
        return result;
      }, parameters);
      expect(program.verify(parameters), JSON.stringify(options)).toMatchObject({ ok: true });
      expect(statistics.every(({ engine }) => engine === options.engine)).toBe(true);
    }
  });
});
