import { expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { takeTurns } from "./takeTurns.ts";

const { newDevice } = testDevices({ full: true });

it("keeps the second run of each program in each round", async () => {
  const order: string[] = [];
  const program = (name: string) => {
    let runs = 0;
    return async () => {
      order.push(name);
      return ++runs;
    };
  };
  const samples = await takeTurns(await newDevice(), [program("a"), program("b")], { rounds: 3 });
  expect(samples).toEqual([
    [2, 4, 6],
    [2, 4, 6],
  ]);
  expect(order.join("")).toBe("aabbaabbaabb");
});
