/**
 * Corrections that are found while a kernel leaves doubt about granules. They count as damage, so
 * the work runs again.
 */
import { expect, it, vi } from "vitest";
import { reportWords } from "../../compiler/contract.ts";
import { Events } from "../context/events.ts";
import type { ReportArena } from "../context/reportArena.ts";
import type { KernelDamaged } from "../memory/memoryLog.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { type Epoch, newEpoch } from "./epoch.ts";
import { EpochReports } from "./epochReports.ts";

const clean = { count: 0, damage: [], corrected: { count: 0, places: [] } };
const owner = { buffer: { label: "b" } };
const place = { owner, error: { buffer: "b", byteOffset: 16, granuleBytes: 16, kernel: null, syndrome: 7 } };
const corrected = { ...clean, corrected: { count: 1, places: [place] } };

/**
 * Returns reports with the given results, one check after the other. `own` are those of Belay's
 * kernels.
 */
function reportsOf(own: readonly unknown[], kernels: readonly Partial<KernelDamaged>[]) {
  const [owns, kernelReports] = [[...own], [...kernels]];
  const memory = {
    slots: [{}],
    beginCheck: () => undefined,
    continueCheck: () => undefined,
    scrub: vi.fn(),
    read: () => owns.shift() ?? clean,
    readKernel: () => ({ ...clean, owners: new Set(), leavesDoubt: false, ...kernelReports.shift() }),
    untrusted: ({ places }: typeof corrected.corrected) => places,
  };
  const arena = { takeSnapshot: async () => () => new Uint32Array(reportWords.total) };
  const context = { reports: arena as unknown as ReportArena, events: new Events() };
  const reports = new EpochReports(context, memory as unknown as DamageDetection);
  const kernel = {
    slot: {},
    name: "main",
    memory: { checks: {} },
    protection: { checks: [], faultSites: [], report: {} },
  };
  const check = async () => {
    const epoch: Epoch = newEpoch();
    const record = { kernels: new Set([kernel as unknown as ProtectedKernel]) };
    epoch.events.push({ record } as unknown as Epoch["events"][number]);
    const found = reports.read([epoch], await reports.takeSnapshot([epoch]));
    return (await reports.scrubSuspects([epoch], found)).damaged;
  };
  return { check, memory };
}

const doubt = { owners: new Set([owner]), leavesDoubt: true } as unknown as Partial<KernelDamaged>;

it("are trusted if no kernel leaves doubt", async () => {
  const { check } = reportsOf([corrected], []);
  expect(await check()).toBe(0);
});

it.each([
  ["before the scrub", [corrected, clean]],
  ["by the scrub", [clean, corrected]],
])("are damage if they are made %s", async (_, own) => {
  const { check, memory } = reportsOf(own, [doubt]);
  expect(await check()).toBe(1);
  expect(memory.scrub).toHaveBeenCalledWith(new Set([owner]));
});

it("are damage in the epoch that was open during the scrub, and in no later one", async () => {
  const { check } = reportsOf([clean, clean, corrected, corrected], [doubt]);
  expect([await check(), await check(), await check()]).toEqual([0, 1, 0]);
});

it("leave doubt without consequence if there are none", async () => {
  const { check } = reportsOf([], [doubt]);
  expect(await check()).toBe(0);
});
