import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type Armed, runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { reportWords } from "../redundancy/reportBuffer.ts";
import { Names } from "../shared/names.ts";
import { type ArmedTriggerOptions, armedTrigger } from "./armedTrigger.ts";
import { faultExtent, injectionMembers, injectionWords } from "./injectionWords.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});
const lanes = 64;

/** The ways in which replicas run, with the replicas and the invocations that a lane executes. */
const ways = {
  alone: { redundancy: "none", pairing: "adjacent", executes: "0u, lane" },
  adjacent: { redundancy: "intra+lds", pairing: "adjacent", executes: "lane & 1u, lane >> 1u" },
  passes: { redundancy: "intra+lds", pairing: "passes", executes: "turn, lane ^ turn" },
} as const satisfies Record<string, Omit<ArmedTriggerOptions, "subgroups"> & { readonly executes: string }>;

/** Site 2 is executed three times, and is a load of line `local / 8` at the fourth execution. */
function kernelOf(way: keyof typeof ways): string {
  const names = new Names(typed(""));
  const { executes, ...replicas } = ways[way];
  const { declarations } = armedTrigger(names, { ...replicas, subgroups: false });
  const n = (thing: string) => names.the(thing);
  return `
    struct Report { head: array<u32, ${injectionWords.strikes}>, ${injectionMembers} last: u32 }
    @group(0) @binding(0) var<storage, read_write> ${n("report")}: Report;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    var<private> ${n("workgroup")}: vec3u;
    var<private> ${n("replica")}: u32;
    var<private> ${n("local")}: u32;
    ${declarations}
    fn execute(place: u32, replica: u32, local: u32) {
      ${n("replica")} = replica;
      ${n("local")} = local;
      ${n("aim")}();
      var hits = 0u;
      hits |= u32(${n("is_hit")}(1u)) << 8u;
      for (var i = 0u; i < 3u; i++) { hits |= u32(${n("is_hit")}(2u)) << i; }
      hits |= u32(${n("is_hit_in")}(2u, local / 8u)) << 3u;
      for (var i = 4u; i < 8u; i++) { hits |= u32(${n("is_spent")}()) << i; }
      ${n("settle")}();
      out[place] = hits;
    }
    @compute @workgroup_size(${lanes})
    fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3u) {
      ${n("workgroup")} = group;
      for (var turn = 0u; turn < ${way === "passes" ? 2 : 1}u; turn++) {
        let place = 2u * (${lanes}u * group.x + lane) + turn;
        execute(place, ${executes});
      }
    }`;
}

/** Returns the bits that lanes of workgroup 1 set, by `lane` or `lane turn`, and the report. */
async function strikesOf(armed: Armed, way: keyof typeof ways = "alone") {
  const report = new Uint32Array(reportWords.records + 1);
  const fault = { armedSite: 2, armedWorkgroupX: 1, ...armed };
  for (const [name, value] of Object.entries(fault)) report[injectionWords[name as keyof Armed]] = value;
  const buffers = { 0: report, 1: new Uint32Array(4 * lanes) };
  const ran = await runKernel(device, kernelOf(way), {
    buffers,
    workgroups: [2, 1, 1],
  });
  const out = [...ran.buffers[1]!];
  // Workgroup 0 is struck only by a broken line of memory.
  if (armed.armedExtent !== faultExtent.line)
    expect(out.slice(0, 2 * lanes).filter((hits) => hits & 0xf0f)).toEqual([]);
  const struck = out.slice(2 * lanes).flatMap((hits, place) => {
    const lane = place >> 1;
    return hits ? [[way === "passes" ? `${lane} ${place & 1}` : lane, hits]] : [];
  });
  const wordOf = (name: keyof Armed) => ran.buffers[0]![injectionWords[name]]!;
  return { struck, strikes: wordOf("strikes"), hangs: wordOf("hangs") };
}

const range = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
const always = 0xffff_ffff;

describe("a fault strikes", () => {
  it.each<[string, Armed, readonly [number, number][]]>([
    ["one execution of one invocation", { armedLocalIndex: 5, armedOccurrence: 1 }, [[5, 0b10]]],
    [
      "all later executions",
      { armedLocalIndex: 5, armedOccurrence: 1, armedOccurrences: always - 1 },
      [[5, 0b1110]],
    ],
    ["no other site", { armedSite: 3, armedLocalIndex: 5 }, []],
    ["no other replica", { armedReplica: 1 }, []],
    ["both replicas of memory with one copy", { armedReplica: 2, armedLocalIndex: 7 }, [[7, 1]]],
    ["no other workgroup", { armedWorkgroupY: 1 }, []],
    ["no other dispatch", { dispatch: 3, armedDispatch: 2 }, []],
    ["later dispatches", { dispatch: 3, armedDispatch: 2, armedDispatches: 1 }, [[0, 1]]],
    ["no earlier dispatch", { dispatch: 1, armedDispatch: 2, armedDispatches: 1 }, []],
    [
      "the lanes that are taken for its subgroup",
      { armedExtent: faultExtent.subgroup, armedLocalIndex: 37 },
      range(32, 32).map((lane) => [lane, 1]),
    ],
  ])("%s", async (_, armed, expected) => {
    const strikes = expected.reduce((sum, [, hits]) => sum + hits.toString(2).replaceAll("0", "").length, 0);
    expect(await strikesOf(armed)).toEqual({ struck: expected, strikes, hangs: 0 });
  });

  it("whoever loads from the armed line, whatever the execution", async () => {
    const armed = { armedExtent: faultExtent.line, armedLine: 3, armedOccurrence: 9 };
    // Line 3 is loaded by eight invocations of each of two workgroups.
    expect(await strikesOf(armed)).toEqual({
      struck: range(24, 8).map((lane) => [lane, 0b1000]),
      strikes: 16,
      hangs: 0,
    });
  });

  it("the lanes of adjacent replicas, of which each executes half as many invocations", async () => {
    const armed = { armedReplica: 1, armedLocalIndex: 20 };
    expect((await strikesOf(armed, "adjacent")).struck).toEqual([[41, 1]]);
    const mates = await strikesOf({ ...armed, armedExtent: faultExtent.subgroup }, "adjacent");
    expect(mates.struck).toEqual(range(32, 32).map((lane) => [lane, 1]));
  });

  it("one lane in one of two passes, or in both if it lasts", async () => {
    const armed = { armedReplica: 1, armedLocalIndex: 6 };
    expect((await strikesOf(armed, "passes")).struck).toEqual([["7 1", 1]]);
    const lasting = await strikesOf({ ...armed, armedOccurrences: always }, "passes");
    expect(lasting.struck).toEqual([
      ["7 0", 0b1111],
      ["7 1", 0b1111],
    ]);
  });
});

it("ends the loops of an invocation that has spent its fuel, and tells the host", async () => {
  const { struck, strikes, hangs } = await strikesOf({ armedSite: 0, fuel: 3 });
  expect(new Set(struck.map(([, hits]) => hits))).toEqual(new Set([0b1100_0000]));
  expect([struck.length, strikes, hangs]).toEqual([lanes, 0, 1]);
});
