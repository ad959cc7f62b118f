import { expect, it } from "vitest";
import { programsModule } from "../../../../../test/campaign/settings.ts";
import { openDevice, ProcessLost, WatchedProcess } from "./watchedProcess.ts";

it.each([2 ** 31, Number.POSITIVE_INFINITY])(
  "waits for an answer that may take %d milliseconds",
  async (time) => {
    const watched = new WatchedProcess(programsModule);
    try {
      expect((await watched.ask("start", {}, time)).adapter).not.toBe("");
    } finally {
      watched.kill();
    }
  },
);

/** Returns a process that is lost `times` times before it has a device. */
function lostTimes(times: number) {
  let asked = 0;
  const ask = (async () => {
    if (++asked <= times) throw new ProcessLost("crash", "the process ended by SIGSEGV");
    return { adapter: "a GPU", isSoftware: false };
  }) as WatchedProcess["ask"];
  return { ask, asked: () => asked };
}

it("tries again where the process is lost, and gives up with a message", async () => {
  const once = lostTimes(1);
  expect((await openDevice(once)).adapter).toBe("a GPU");
  expect(once.asked()).toBe(2);
  const always = lostTimes(100);
  await expect(openDevice(always)).rejects.toMatchObject({
    code: "BELAY612",
    message: "no device can be opened: the process ended by SIGSEGV",
  });
  expect(always.asked()).toBe(3);
});
