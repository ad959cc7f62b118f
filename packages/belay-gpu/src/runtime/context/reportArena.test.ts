import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { reportWords } from "../../compiler/contract.ts";
import { ReportArena } from "./reportArena.ts";

const { sharedDevice } = testDevices();
const { detections, records, total } = reportWords;

it("reads the reports of several pages at once, and clears them", async () => {
  const arena = new ReportArena(await sharedDevice());
  const without = { bytes: 4 * total, cells: 0 };
  const cells = 16_000;
  const slots = [
    arena.allocate(without),
    arena.allocate(without),
    arena.allocate({ bytes: 4 * (total + 20_000), cells: 4 }),
    arena.allocate({ bytes: 4 * (total + cells), cells }),
  ] as const;
  const [clean, found, large, withCells] = slots;
  expect(new Set(slots.map(({ page }) => page)).size).toBe(3);
  arena.write(found, detections, [1]);
  arena.write(found, records, [7, 8]);
  arena.write(large, total, [1, 2, 3, 4]);
  arena.write(withCells, total + cells - 1, [9]);
  const snapshot = await arena.takeSnapshot([clean, found, large, withCells, found]);
  expect([...snapshot(clean)]).toEqual(new Array(records).fill(0));
  expect(snapshot(found)).toHaveLength(total);
  expect(snapshot(found)[detections]).toBe(1);
  expect([...snapshot(found).subarray(records, records + 2)]).toEqual([7, 8]);
  expect([...snapshot(large).subarray(total)]).toEqual([1, 2, 3, 4]);
  expect(snapshot(withCells)).toHaveLength(total + cells);
  expect(snapshot(withCells).at(-1)).toBe(9);
  const later = await arena.takeSnapshot([withCells, found, large]);
  for (const slot of [found, large, withCells]) expect(later(slot).every((word) => word === 0)).toBe(true);
});
