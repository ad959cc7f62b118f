/**
 * The loops of the paper in the default engine, and in the published one with every part of it and
 * with two left out.
 */

import { join } from "node:path";
import { loadSpeculated } from "belay-research/internal/bench/speculation/programRuns";
import { publishedEngine } from "belay-research/internal/published/published";
import { loops } from "belay-research/internal/workloads/loops/index";
import type { ExecutionOptions, Statistics } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { root } from "../support/workspaces.ts";

const devices = testDevices({ full: true });
const engines: readonly (readonly [name: string, ExecutionOptions])[] = [
  ["default", { engine: "default", fallback: "never" }],
  ["published", { engine: publishedEngine() }],
  ["published", { engine: publishedEngine({ localization: false, scheduling: false }) }],
];

describe.each(loops)("$name", ({ name, small }) => {
  it("is right in each engine", async () => {
    const program = small();
    const run = await loadSpeculated(join(root, `research/src/workloads/loops/${name}.ts`), name);
    const device = await devices.newDevice();
    for (const [name, options] of engines) {
      const statistics: Statistics[] = [];
      const parameters = program.inputs();
      await run(async (call) => {
        const result = await speculate(call, { device, ...options });
        statistics.push(result.statistics);
        return result;
      }, parameters);
      expect(program.verify(parameters), JSON.stringify(options)).toMatchObject({ ok: true });
      expect(statistics.every(({ engine }) => engine === name)).toBe(true);
    }
  });
});
