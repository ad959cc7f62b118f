import { describe, expect, it } from "vitest";
import { SnapshotMemory } from "./snapshotMemory.ts";

const PAGE = 64 * 1024;

/** Returns memory on a device that only counts its buffers. */
function memoryOf(budget: number) {
  const alive = new Set<object>();
  let created = 0;
  const device = {
    limits: { maxBufferSize: 2 ** 28 },
    createBuffer: ({ size }: GPUBufferDescriptor) => {
      const buffer = { size, destroy: () => alive.delete(buffer) };
      alive.add(buffer);
      created++;
      return buffer;
    },
  } as unknown as GPUDevice;
  return { memory: new SnapshotMemory(device, budget), alive, created: () => created };
}

describe("the memory of snapshots", () => {
  it("divides a page into copies that do not overlap", () => {
    const { memory, created } = memoryOf(2 ** 30);
    const parts = [400, 96, 1024].map((size) => memory.allocate(size));
    expect(parts.map(({ offset, size }) => [offset, offset + size])).toEqual([
      [0, 400],
      [400, 496],
      [496, 1520],
    ]);
    expect(created()).toBe(1);
    expect(memory).toMatchObject({ used: 1520, held: PAGE, peak: PAGE });
  });

  it("joins freed ranges with their neighbors, in any order", () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [0, 2, 1],
      [1, 0, 2],
    ]) {
      const { memory, created } = memoryOf(2 ** 30);
      const parts = [0, 1, 2].map(() => memory.allocate(PAGE / 4));
      for (const i of order) memory.free(parts[i]!);
      expect(memory.allocate(PAGE)).toMatchObject({ offset: 0, size: PAGE });
      expect(created()).toBe(1);
    }
  });

  it("allocates nothing for work that repeats", () => {
    const { memory, created } = memoryOf(2 ** 30);
    const round = () => [300_000, 5000, 70_000, 12].map((size) => memory.allocate(size));
    for (const part of round()) memory.free(part);
    const first = created();
    for (let i = 0; i < 500; i++) {
      for (const part of round()) memory.free(part);
      memory.destroyUnused();
    }
    expect(created()).toBe(first);
  });

  it("destroys pages that no copy uses for long", () => {
    const { memory, alive } = memoryOf(2 ** 30);
    const [small, large] = [memory.allocate(100), memory.allocate(2 ** 20)];
    memory.free(large);
    for (let i = 0; i < 100; i++) memory.destroyUnused();
    expect([...alive]).toEqual([small.buffer]);
    expect(memory).toMatchObject({ used: 100, held: PAGE, peak: PAGE + 2 ** 20 });
  });

  it("knows whether a copy stays within the budget, textures included", () => {
    const { memory } = memoryOf(1000);
    const part = memory.allocate(600);
    expect([memory.hasRoomFor(400), memory.hasRoomFor(404)]).toEqual([true, false]);
    memory.addTexture(400);
    expect(memory.hasRoomFor(4)).toBe(false);
    memory.removeTexture(400);
    memory.free(part);
    expect(memory.hasRoomFor(1000)).toBe(true);
    expect(memory.held).toBe(1000);
  });
});
