import { describe, expect, it, vi } from "vitest";
import { uncaughtIn } from "../../../../../test/support/uncaught.ts";
import type { Detection } from "./detectedFault.ts";
import { BelayEvent, type BelayEventDetails, Events } from "./events.ts";
import type { MemoryError } from "./memoryFault.ts";
import { UnverifiedError } from "./unverified.ts";

const detection: Detection = {
  kernel: "square",
  entryPoint: "main",
  cause: "mismatch",
  site: null,
  workgroup: [1, 0, 0],
  localIndex: 5,
  wordOffsets: [0, 0],
  values: ["1", "2"],
  difference: null,
  stored: null,
};
const damage: MemoryError = { buffer: "a", byteOffset: 16, granuleBytes: 8, kernel: null, syndrome: 3 };
const unverified = { kernel: "k", entryPoint: "k", cause: "waitedTooLong", workgroup: [0, 0, 0] } as const;

const details: BelayEventDetails = {
  unprotected: { kernel: "k", entryPoint: "k", redundancy: "none", diagnostics: [] },
  detection,
  fault: { ...detection, outcome: "recovered" },
  unverified,
  corrected: { count: 2, errors: [damage] },
  memoryFault: { ...damage, outcome: "refused" },
  suspectResults: { errors: [damage], milliseconds: 2.5 },
  recovery: { faults: [detection], damage: [], attempts: 1, milliseconds: 3 },
  giveUp: { error: new UnverifiedError("gone"), attempts: 0, reason: "gone" },
  repair: { kernel: "k", entryPoint: "k", count: 1, message: "computed again" },
  disagreement: {
    kernel: "square",
    entryPoint: "main",
    workgroup: [1, 0, 0],
    place: "x[65]",
    offset: 260,
    expected: "4",
    actual: "5",
    wrong: 3,
    site: { line: 7, column: 3 },
  },
};
const disagree =
  'replicas of kernel "square" disagree at an unknown place: workgroup (1, 0, 0), local index 5 computed 1 and 2';
const damaged = 'the contents of buffer "a", bytes 16 to 23, did not fit their check word';

describe("an event", () => {
  it.each([
    ["unprotected", 'kernel "k" is not protected as the policy asks'],
    ["detection", disagree],
    ["fault", `${disagree} (recovered)`],
    ["unverified", 'workgroup (0, 0, 0) of kernel "k" waited too long for its twin'],
    ["corrected", `2 errors in memory corrected: ${damaged}`],
    ["memoryFault", `${damaged} (refused)`],
    ["suspectResults", `results of the last 3 ms may be wrong: ${damaged}`],
    ["recovery", "work ran again 1 time until its check was clean"],
    ["giveUp", "results could not be verified: gone"],
    ["repair", "computed again"],
    [
      "disagreement",
      'kernel "square" is computed wrong in workgroup (1, 0, 0): x[65], stored in line 7, is 5, not 4, and 2 more words are wrong',
    ],
  ] as const)("%s has its details and a message", (type, message) => {
    const events = new Events();
    const heard = vi.fn();
    events.addEventListener(type, heard);
    events.emit(type, details[type]);
    const event: BelayEvent = heard.mock.calls[0]![0];
    expect(event).toBeInstanceOf(BelayEvent);
    expect(event).toMatchObject({ type, message, target: events });
    expect(event.detail).toBe(details[type]);
  });

  it("calls listeners by the platform's rules: functions and objects, once, until a signal, each only once", () => {
    const events = new Events();
    const [once, until, removed, twice] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
    const object = { handleEvent: vi.fn() };
    const ending = new AbortController();
    events.addEventListener("fault", once, { once: true });
    events.addEventListener("fault", until, { signal: ending.signal });
    events.addEventListener("fault", removed);
    events.addEventListener("fault", object);
    for (let i = 0; i < 2; i++) events.addEventListener("fault", twice);
    events.removeEventListener("fault", removed);
    events.emit("fault", details.fault);
    ending.abort();
    events.emit("fault", details.fault);
    const calls = [once, until, removed, object.handleEvent, twice].map(({ mock }) => mock.calls.length);
    expect(calls).toEqual([1, 1, 0, 2, 2]);
  });

  it("reaches each listener, and errors of a listener are uncaught", async () => {
    const events = new Events();
    const last = vi.fn();
    const error = new Error("mine");
    const thrown = await uncaughtIn(async () => {
      events.addEventListener("fault", () => {
        throw error;
      });
      events.addEventListener("fault", last);
      events.emit("fault", details.fault);
    });
    expect(last).toHaveBeenCalledOnce();
    expect(thrown).toEqual([error]);
  });

  it("is rejected with the list of types if its type is unknown", () => {
    for (const type of ["faults", "toString", ""])
      expect(() => new Events().addEventListener(type, () => {})).toThrow(
        `there is no event ${type}: the events are detection, fault, unverified, corrected, memoryFault, suspectResults, recovery, giveUp, unprotected`,
      );
  });

  it("has a default action only if a kernel is unprotected", () => {
    const events = new Events();
    for (const type of ["unprotected", "fault"] as const)
      events.addEventListener(type, (event) => event.preventDefault());
    expect(events.emit("unprotected", details.unprotected)).toBe(false);
    expect(events.emit("fault", details.fault)).toBe(true);
  });
});
