import { Readable, Writable } from "node:stream";
import { afterEach, expect, it, vi } from "vitest";
import { withProgress } from "./progress.ts";

afterEach(() => vi.useRealTimers());

it("tells a pipe the first step at once, and the current one every five seconds", async () => {
  vi.useFakeTimers();
  const lines: string[] = [];
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const io = { stdin: Readable.from([]), stdout: stderr, stderr };
  await withProgress(io, "opening the GPU", async ({ doing, tell }) => {
    expect(lines).toEqual(["opening the GPU\n"]);
    doing("reduction, program 1 of 2");
    doing("histogram, program 2 of 2");
    await vi.advanceTimersByTimeAsync(5000);
    tell("reduction: right");
    await vi.advanceTimersByTimeAsync(5000);
  });
  await vi.advanceTimersByTimeAsync(5000);
  expect(lines.slice(1)).toEqual([
    "histogram, program 2 of 2 (5 s)\n",
    "reduction: right\n",
    "histogram, program 2 of 2 (10 s)\n",
  ]);
});
