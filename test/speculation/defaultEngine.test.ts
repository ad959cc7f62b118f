/** The default engine on each kind of loop, always compared with the loop in order. */
import { publishedEngine } from "belay-research/internal/published/published";
import type { Engine } from "belay-speculate/internal/engine/call/call";
import { CountedHandover, TimedHandover } from "belay-speculate/internal/engine/policy/handover";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { mostEpochs } from "belay-speculate/internal/loops/kernels/control";
import { describe, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { changeKernels } from "./changedKernels.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 300;
/** Every number below n, in some order. */
const order = numbers(n, (i) => (i * 77 + 5) % n);
const values = () => numbers(n, (i) => (i * 7919) % 1000);

const update = loopFrom(
  "a: Int32Array, p: Int32Array, q: Int32Array",
  "for (let i = 0; i < p.length; i++) { a[p[i]!] = (Math.imul(a[q[i]!]!, 3) + i) | 0; }",
  "speculate(a)",
);
const dependent = loopFrom(
  "a: Int32Array, p: Int32Array, q: Int32Array",
  "for (let i = 0; i < p.length; i++) { a[p[a[q[i]!]! & 255]!] = i; }",
  "speculate(a)",
);

describe("plans", () => {
  /**
   * The number of rounds in place after which short windows count as a conflict: twice the bits of
   * an iteration's number, and one.
   */
  const searching = 2 * (32 - Math.clz32(n)) + 1;

  /**
   * A loop needs at least as many rounds as its longest chain of dependences has links. No round
   * executes two links of one chain.
   */
  it.each([
    ["no dependences", order, ["in place"], { least: 1, most: 1 }],
    [
      "loads of what later iterations store",
      order.map((_, i) => order[i + 3] ?? order[i]!),
      ["in place", "logged"],
      // The log commits all of them in one round, because later stores are harmless.
      { least: 2, most: searching + 1 },
    ],
    ["stores to one element", null, ["in place", "logged"], { least: 2, most: searching + 1 }],
    [
      "loads of what iterations long before store",
      order.map((_, i) => order[i - 50] ?? order[i]!),
      ["in place"],
      // A window that meets a dependence is at least half as long the next time: two rounds for
      // each link.
      { least: n / 50, most: (2 * n) / 50 },
    ],
    [
      "loads of what iterations just before store",
      order.map((_, i) => order[i - 3] ?? order[i]!),
      ["in place", "by reservation"],
      // Each round by reservation executes the next link of all chains.
      { least: n / 3, most: n / 3 + searching },
    ],
  ])("for %s", async (_, q, plans, { least, most }) => {
    const device = await devices.sharedDevice();
    const arrays = q
      ? { a: values(), p: order, q }
      : { a: values(), p: numbers(n, (i) => i >> 1), q: numbers(n, () => n - 1) };
    const { statistics } = await expectSequential(update, { arrays, count: n }, { device });
    expect(statistics).toMatchObject({ engine: "default", plans, committed: n, onCpu: 0 });
    expect(statistics.rounds).toBeGreaterThanOrEqual(least);
    expect(statistics.rounds).toBeLessThanOrEqual(most);
  });

  it("begin with the last execution's plan, and now and then as at first", async () => {
    const device = await devices.sharedDevice();
    const plans: string[] = [];
    for (let execution = 0; execution < 17; execution++) {
      const q = execution < 16 ? order.map((_, i) => order[i - 3] ?? order[i]!) : order;
      const given = { arrays: { a: values(), p: order, q }, count: n };
      const { statistics } = await expectSequential(update, given, { device });
      plans.push(statistics.plans.join());
    }
    expect(plans).toEqual(["in place,by reservation", ...new Array(15).fill("by reservation"), "in place"]);
  });

  it("for addresses that follow from elements that the loop writes", async () => {
    const device = await devices.sharedDevice();
    const { statistics } = await expectSequential(
      dependent,
      { arrays: { a: values(), p: order, q: order }, count: n },
      { device },
    );
    expect(statistics.plans).toEqual(["logged", "multi-version"]);
    expect(statistics.misspeculated).toBeGreaterThan(0);
  });
});

describe("iterations with dependences at unknown elements", () => {
  const union = loopFrom(
    "parents: Uint16Array, taken: Uint8Array, one: Uint16Array, other: Uint16Array",
    `for (let i = 0; i < one.length; i++) {
      let a = one[i]!;
      for (let parent = parents[a]!; parent !== a; parent = parents[a]!) a = parent;
      let b = other[i]!;
      for (let parent = parents[b]!; parent !== b; parent = parents[b]!) b = parent;
      if (a !== b) { parents[Math.max(a, b)] = Math.min(a, b); taken[i] = 1; }
    }`,
    "speculate(parents) accesses(64)",
  );
  const many = 2000;
  const nodes = 500;
  const arrays = () => ({
    parents: Uint16Array.from({ length: nodes }, (_, node) => node),
    taken: new Uint8Array(many),
    one: Uint16Array.from({ length: many }, (_, i) => (i * 7919 + (i >> 3)) % nodes),
    other: Uint16Array.from({ length: many }, (_, i) => (i * 104729 + (i >> 5) + 1) % nodes),
  });

  it("are executed by multi-versioning, in few rounds", async () => {
    const device = await devices.sharedDevice();
    const first = await expectSequential(union, { arrays: arrays(), count: many }, { device });
    expect(first.statistics.plans).toEqual(["logged", "multi-version"]);
    const { statistics } = await expectSequential(union, { arrays: arrays(), count: many }, { device });
    expect(statistics).toMatchObject({ plans: ["multi-version"], onCpu: 0 });
    expect(statistics.rounds).toBeLessThan(30);
  });

  it("start again with cleared marks when the epochs run out", async () => {
    const device = await devices.sharedDevice();
    const count = 2400;
    // Eight iterations at a time depend on the last of the eight before.
    const arrays = {
      a: numbers(count + 8, (i) => i),
      p: numbers(count, (i) => i + 8),
      q: numbers(count, (i) => i | 7),
    };
    const loop = { ...update, schedule: { iterationsPerRound: 16 } };
    const engine: Engine = (workspace, execution) =>
      runDefault(workspace, execution, { plan: "multi-version" });
    const { statistics } = await expectSequential(loop, { arrays, count }, { device, engine });
    expect(statistics.rounds).toBeGreaterThan(mostEpochs);
  });

  it("continue after bail-outs to the CPU", async () => {
    const device = await devices.sharedDevice();
    const given = { ...arrays(), one: arrays().one.map((node, i) => (i % 400 === 399 ? nodes : node)) };
    const { statistics } = await expectSequential(union, { arrays: given, count: many }, { device });
    expect(statistics.onCpu).toBeGreaterThanOrEqual(5);
  });
});

describe("branches that follow from elements that the loop writes", () => {
  const matching = loopFrom(
    "a: Int32Array, p: Int32Array, q: Int32Array",
    "for (let i = 0; i < p.length; i++) { if (a[p[i]!]! < 3 && a[q[i]!]! < 3) { a[p[i]!] = i + 3; a[q[i]!] = i + 3; } }",
    "speculate(a)",
  );
  const arrays = () => ({
    a: numbers(n, () => 0),
    p: order.map((place) => place >> 2),
    q: order.map((_, i) => order[(i * 7) % n]! >> 1),
  });

  it("allow multi-versioning", async () => {
    const device = await devices.sharedDevice();
    const { statistics } = await expectSequential(matching, { arrays: arrays(), count: n }, { device });
    expect(statistics.plans).toEqual(["logged", "multi-version"]);
    expect(statistics.rounds).toBeLessThan(30);
  });

  it("allow reservations", async () => {
    const device = await devices.sharedDevice();
    const engine: Engine = (workspace, execution) =>
      runDefault(workspace, execution, { plan: "by reservation" });
    const given = { arrays: arrays(), count: n };
    const { statistics } = await expectSequential(matching, given, { device, engine });
    expect(statistics.plans).toEqual(["by reservation"]);
    expect(statistics.rounds).toBeLessThan(30);
  });

  it("are executed in order from the log as well", async () => {
    const device = await devices.sharedDevice();
    const loop = { ...matching, schedule: { iterationsPerRound: 3 } };
    const { statistics } = await expectSequential(loop, { arrays: arrays(), count: n }, { device });
    expect(statistics.plans).toEqual(["logged"]);
  });
});

describe("every feature", () => {
  it("keeps variables from one iteration to the next", async () => {
    const loop = loopFrom(
      "a: Int32Array, last: number",
      "for (let i = 0; i < a.length; i++) { if (a[i]! > 900) { last = i; } if (a[i]! === 7) { a[i] = last; } }",
      "speculate(a)",
    );
    const a = values();
    a[150] = 7;
    const device = await devices.sharedDevice();
    const carried = Object.fromEntries(loop.carried.map(({ name }) => [name, -1]));
    const { statistics } = await expectSequential(loop, { arrays: { a }, carried, count: n }, { device });
    expect(statistics.misspeculated).toBeGreaterThan(0);
  });

  it("ends the loop at its break, and reduces the executed iterations", async () => {
    const loop = loopFrom(
      "a: Int32Array, p: Int32Array, sum: number",
      "for (let i = 0; i < p.length; i++) { a[p[i]!] = i; sum = (sum + i) | 0; if (a[(i + 3) % 300]! === -5) { break; } }",
      "speculate(a) reduction(+:sum)",
    );
    const a = values();
    a.fill(-5, 200, 220);
    const device = await devices.sharedDevice();
    const sum = Object.fromEntries(loop.reductions.map(({ name }) => [name, 5]));
    const result = await expectSequential(
      loop,
      { arrays: { a, p: order }, reductions: sum, count: n },
      { device },
    );
    expect(result.ended).toBe(true);
  });

  it.each(["+1", "-1,+2", "+0:+4", "+1:", "i + 2", "90,150", "80:120", "+0:200", "-1,+1:+3", "100:"])(
    "takes %s as misspeculated",
    async (which) => {
      const loop = loopFrom(
        "a: Int32Array, p: Int32Array",
        `for (let i = 0; i < p.length; i++) {
        if (a[p[i]!]! > 950) {
          //#pragma omp branch misspeculate(${which})
          a[p[i]!] = 1;
        }
        a[i] = (a[i]! + 1) | 0;
      }`,
        "speculate(a)",
      );
      const device = await devices.sharedDevice();
      await expectSequential(loop, { arrays: { a: values(), p: order }, count: n }, { device });
    },
  );

  it.each([
    ["Int8Array", Int8Array],
    ["Uint8Array", Uint8Array],
    ["Uint8ClampedArray", Uint8ClampedArray],
    ["Int16Array", Int16Array],
    ["Uint16Array", Uint16Array],
  ])("changes neighbors in a word of a %s", async (name, Elements) => {
    const loop = loopFrom(
      `a: ${name}, p: Int32Array, q: Int32Array`,
      "for (let i = 0; i < p.length; i++) { a[p[i]!] = a[q[i]!]! + i; }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const arrays = { a: new Elements(n).fill(3), p: order, q: order.map((_, i) => order[(i * 13) % n]!) };
    await expectSequential(loop, { arrays, count: n }, { device });
  });

  it.each([
    ["default", "default"],
    ["published", publishedEngine()],
  ] as const)("has logarithms beside its log, %s", async (_, engine) => {
    const loop = loopFrom(
      "a: Float32Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { if (Math.log(a[p[i]!]!) > 0.5) { a[i] = 1; } }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    await expectSequential(
      loop,
      { arrays: { a: Float32Array.from(order, (place) => 1 + (place % 3)), p: order }, count: n },
      { device, engine },
    );
  });

  it("executes as many iterations in a round as the schedule says", async () => {
    const device = await devices.sharedDevice();
    const loop = { ...update, schedule: { iterationsPerRound: 50 } };
    const arrays = { a: values(), p: order, q: order };
    const { statistics } = await expectSequential(loop, { arrays, count: n }, { device });
    expect(statistics.rounds).toBe(Math.ceil(n / 50));
  });

  it("continues in a new segment after the longest one", async () => {
    const device = await devices.sharedDevice();
    // The contributions of 128 iterations take 516 bytes.
    const limits = new Proxy(device.limits, {
      get: (target, name: keyof GPUSupportedLimits) =>
        name === "maxStorageBufferBindingSize" ? 640 : target[name],
    });
    Object.defineProperty(device, "limits", { value: limits });
    const loop = loopFrom(
      "a: Uint8Array, p: Uint8Array, sum: number",
      "for (let i = 0; i < p.length; i++) { a[i] = p[i]! + 1; sum = (sum + p[i]!) | 0; }",
      "reduction(+:sum)",
    );
    const reductions = Object.fromEntries(loop.reductions.map(({ name }) => [name, 5]));
    const arrays = { a: new Uint8Array(n), p: Uint8Array.from(order) };
    const { statistics } = await expectSequential(loop, { arrays, reductions, count: n }, { device });
    expect(statistics.rounds).toBeGreaterThanOrEqual(Math.ceil(n / 128));
  });
});

describe("iterations that bail out", () => {
  it("load an element that does not exist", async () => {
    const device = await devices.sharedDevice();
    const q = order.map((place, i) => (i % 100 === 50 ? n + i : place));
    const { statistics } = await expectSequential(
      update,
      { arrays: { a: values(), p: order, q }, count: n },
      { device },
    );
    expect(statistics.onCpu).toBeGreaterThanOrEqual(3);
  });

  it("run more inner iterations than a GPU should", async () => {
    const loop = loopFrom(
      "a: Int32Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { let x = 0; for (let k = 0; k < a[p[i]!]!; k++) { x = (x + k) | 0; } a[p[i]!] = x; }",
      "speculate(a) accesses(2)",
    );
    const a = numbers(n, (i) => (i === 99 ? 20_000 : i % 5));
    const device = await devices.sharedDevice();
    const { statistics } = await expectSequential(loop, { arrays: { a, p: order }, count: n }, { device });
    expect(statistics.onCpu).toBeGreaterThan(0);
  });

  it("do not include those that only log more than was assumed", async () => {
    const loop = loopFrom(
      "a: Int32Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { for (let k = 0; k < a[0]!; k++) { a[1 + (((p[i]! + k) | 0) & 127)] = i; } }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const a = numbers(n, () => 100);
    const { statistics } = await expectSequential(loop, { arrays: { a, p: order }, count: n }, { device });
    expect(statistics).toMatchObject({ onCpu: 0, plans: ["logged"] });
  });
});

describe("resident arrays", () => {
  it("move only when one side has changed them", async () => {
    const device = await devices.sharedDevice();
    const arrays = { a: resident(values()), p: resident(order.slice()), q: resident(order.slice()) };
    const first = await expectSequential(update, { arrays, count: n }, { device });
    expect(first.statistics.bytes).toEqual({ uploaded: 12 * n, downloaded: 0 });
    await arrays.a.write([1, 2, 3], 10);
    const second = await expectSequential(update, { arrays, count: n }, { device });
    expect(second.statistics.bytes).toEqual({ uploaded: 12, downloaded: 0 });
    for (const array of Object.values(arrays)) array.release();
  });

  it("cost one submission and one write of a few words if nothing has changed", async () => {
    const device = await devices.sharedDevice();
    const arrays = { a: resident(values()), p: resident(order.slice()), q: resident(order.slice()) };
    const sequential = sequentialLoop(update);
    const variables = { inputs: {}, carried: {}, reductions: {}, first: 0, step: 1, count: n };
    const run = () =>
      speculate({ loop: update, sequential, arrays, ...variables }, { device, fallback: "never" });
    await run();
    await run();
    const made = [vi.spyOn(device, "createBuffer"), vi.spyOn(device, "createBindGroup")];
    const [submits, writes] = [vi.spyOn(device.queue, "submit"), vi.spyOn(device.queue, "writeBuffer")];
    const { statistics } = await run();
    expect(statistics).toMatchObject({ plans: ["in place"], committed: n });
    expect(made.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    expect([submits.mock.calls.length, writes.mock.calls.length]).toEqual([1, 1]);
    for (const array of Object.values(arrays)) array.release();
  });

  it("are recognized by the array itself, as translated functions receive it, until release", async () => {
    const device = await devices.sharedDevice();
    const [a, q] = [values(), order.slice()];
    const kept = [resident(a), resident(q)] as const;
    const arrays = { a: kept[0], p: order, q };
    const expected = { uploaded: 12 * n, downloaded: 0 };
    expect((await expectSequential(update, { arrays, count: n }, { device })).statistics.bytes).toEqual(
      expected,
    );
    // `a` and `q` are already on the device.
    const second = await expectSequential(
      update,
      { arrays: { ...arrays, a: resident(a) }, count: n },
      { device },
    );
    expect(second.statistics.bytes).toEqual({ uploaded: 4 * n, downloaded: 0 });
    for (const array of kept) array.release();
    const third = await expectSequential(update, { arrays: { a, p: order, q }, count: n }, { device });
    expect(third.statistics.bytes).toEqual({ uploaded: 12 * n, downloaded: 4 * n });
  });
});

describe("a rule left out", () => {
  it.each([
    ["in place: an iteration that loads another one's store", "check", "cut_at(max(slot, first));", ""],
    [
      "reservation: the first iteration at an element",
      "reserve",
      "< slot) { blocked = true; }",
      "< slot) { }",
    ],
    ["logged: the first writer", "checkLog", "< slot) { cut_at(slot); return; }", "< slot) { return; }"],
    [
      "logged: the last of several stores",
      "commit",
      "marks[place] != order_mark(slot)",
      "marks[place] == order_mark(slot)",
    ],
    ["multi-version: an iteration whose stores changed", "advance", "{ changed_at(slot); }", "{ }"],
    ["multi-version: the stores of earlier iterations", "advance", "if (writer >= later)", "if (true)"],
  ] as const)("gives wrong results, %s", async (_, name, find, put) => {
    const device = await devices.sharedDevice();
    const changed = changeKernels(device, find, put, name);
    const q = order.map((_, i) => order[i - 1] ?? order[i]!);
    const isLast = name === "commit";
    const arrays = {
      a: values(),
      p: isLast ? order.map((place) => place % 7) : order,
      q: isLast ? numbers(n, () => n - 1) : q,
    };
    const loop = name === "checkLog" || name === "advance" ? dependent : update;
    await expect(expectSequential(loop, { arrays, count: n }, { device })).rejects.toThrow("to deeply equal");
    expect(changed()).toBe(1);
  });
});

describe("the CPU, when it is faster", () => {
  const stores = loopFrom(
    "a: Int32Array, p: Int32Array, q: Int32Array",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = Math.imul(q[i]!, 3); }",
    "speculate(a)",
  );
  /** Takes over at every other question. */
  class Impatient extends TimedHandover {
    #asked = 0;
    override isDue = () => this.#asked++ % 2 === 1;
    override nextCpuTime = () => 0;
  }
  const impatient: Engine = (workspace, execution) =>
    runDefault(workspace, execution, { handover: new Impatient(0, null) });

  it.each([
    ["between windows", update, order],
    ["within a window in which iterations wait", update, order.map((_, i) => order[i - 1] ?? order[i]!)],
    ["between windows of a log", dependent, order],
  ])("takes over %s", async (_, loop, q) => {
    const device = await devices.sharedDevice();
    const arrays = { a: values(), p: order, q };
    const short = { ...loop, schedule: { iterationsPerRound: 25 } };
    const { statistics } = await expectSequential(short, { arrays, count: n }, { device, engine: impatient });
    expect(statistics.onCpu).toBeGreaterThan(0);
    expect(statistics.onCpu).toBeLessThan(n);
  });

  it("lets the GPU search for the first dependences", async () => {
    const device = await devices.sharedDevice();
    const many = 2 ** 17;
    const p = numbers(many, (i) => (i % 192 === 191 ? i - 1 : i));
    const arrays = { a: numbers(many, (i) => i), p, q: p };
    const counted: Engine = (workspace, execution) =>
      runDefault(workspace, execution, { plan: "in place", handover: new CountedHandover() });
    const { statistics } = await expectSequential(
      stores,
      { arrays, count: many },
      { device, engine: counted },
    );
    expect(statistics).toMatchObject({ plans: ["in place", "logged"], onCpu: 0 });
  });

  it("takes over within a window, with reductions", async () => {
    const loop = loopFrom(
      "a: Int32Array, p: Int32Array, q: Int32Array, sum: number",
      "for (let i = 0; i < p.length; i++) { a[p[i]!] = (a[q[i]!]! + 1) | 0; sum = (sum + a[q[i]!]!) | 0; }",
      "speculate(a) reduction(+:sum)",
    );
    const device = await devices.sharedDevice();
    const q = order.map((_, i) => order[i - 3] ?? order[i]!);
    const reductions = Object.fromEntries(loop.reductions.map(({ name }) => [name, 5]));
    const given = { arrays: { a: values(), p: order, q }, reductions, count: n };
    const { statistics } = await expectSequential(loop, given, { device, engine: impatient });
    expect(statistics.onCpu).toBeGreaterThan(0);
  });
});
