import { expect, it } from "vitest";
import { WatchedProcess } from "./watchedProcess.ts";

it.each([2 ** 31, Number.POSITIVE_INFINITY])(
  "waits for an answer that may take %d milliseconds",
  async (time) => {
    const watched = new WatchedProcess(new URL("../../../../test/campaign/programs.ts", import.meta.url));
    try {
      expect((await watched.ask("start", {}, time)).adapter).not.toBe("");
    } finally {
      watched.kill();
    }
  },
);
