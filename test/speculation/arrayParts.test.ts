/**
 * Nested objects, typed arrays in arrays, optional elements and methods of arrays in loops, against
 * the source as it is written. Some data is hostile: the loop then runs as it is written.
 */
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Returns a function with a loop over parts of arrays. */
const around = (loop: string) => `interface Vec { x: number; y: number }
interface Body { pos: Vec; vel: Vec; mass: number; trail: number[] }
const easing = {
  power: 3,
  square(t: number) { return t * t; },
  cube: (t: number) => t * t * t,
  scaled(t: number) { return this.square(t) * this.power; },
};
export async function run(bodies: Body[], rows: number[][], cube: number[][][], bands: Float32Array[], words: Int16Array[], lut: number[], out: Float64Array, small: Uint8Array, where: Int32Array) {
  "use speculate";
  let s = 0;
  //#pragma omp for target(webgpu)
  ${loop}
  return s;
}`;

/** The loops, each with true if it has to run as it is written for the data. */
const loops: [loop: string, leaves?: true][] = [
  ["for (let i = 0; i < bodies.length; i++) out[i] = bodies[i].pos.x * bodies[i].vel.y;"],
  [
    "for (const b of bodies) { b.vel.y -= 0.1; b.pos.y += b.vel.y; if (b.pos.y < 0) { b.pos.y = -b.pos.y; b.vel.y *= -0.5; } }",
  ],
  ["for (const { pos, vel: { x }, mass } of bodies) { pos.x += x / mass; s += pos.x; }"],
  ["for (let i = 0; i < 3; i++) { const p: Vec = bodies[i].pos; const { x, y } = p; s += x - y; }"],
  ["for (const b of bodies) for (let k = 0; k < b.trail.length; k++) b.trail[k] = b.trail[k] * 2 + b.pos.x;"],
  ["for (let i = 0; i < bodies.length; i++) { const [a, b] = bodies[i].trail; out[i] = a - b; }"],
  ["for (const plane of cube) for (const row of plane) for (const v of row) s += v;"],
  [
    "for (let z = 0; z < cube.length; z++) for (let y = 0; y < cube[z].length; y++) for (let x = 0; x < cube[0][0].length; x++) cube[z][y][x] += z - y * x;",
  ],
  [
    "for (let i = 0; i < 4; i++) { s = 0; for (const band of bands) s += band[i]; out[i] = s / bands.length; }",
  ],
  [
    "for (let c = 0; c < bands.length; c++) { const d = bands[c]; for (let i = 0; i < d.length; i++) d[i] *= 0.1; }",
  ],
  ["for (let c = 0; c < words.length; c++) for (let i = 0; i < 4; i++) words[c][i] += 30000 * c + i / 2;"],
  ["bands.forEach((band, c) => { band[c] = NaN; band[3] = -0; });"],
  ["for (const [i, x] of out.entries()) small[i] = x * i;"],
  ["for (const [i, v] of lut.entries()) { s += v * i; if (v > 6) { s -= 1; continue; } }"],
  ["for (const [y, row] of rows.entries()) for (const [x, v] of row.entries()) s += v * (x - y);"],
  ["for (const [i] of lut.entries()) out[i] = i; "],
  ["bodies.forEach(({ pos: { x }, mass }, i) => { if (mass > 2) return; out[i] = x; });"],
  [
    "for (let i = 0; i < 4; i++) { for (const [dx, dy] of [[0, 1], [1, 0], [-1, i]]) s += dx * 3 + dy; for (const v of [i, 2.5, -0]) s += v; }",
  ],
  [
    "for (let i = 0; i < 3; i++) for (const { k, v } of [{ k: i, v: 0.5 }, { k: 1, v: i }]) { if (v > 1) break; out[k] += v; }",
  ],
  ["for (let i = 0; i < 3; i++) for (const d of [[0, 1], [2, i]]) s += d[0] - d[1];"],
  [
    "for (let y = 0; y < 3; y++) for (let x = 0; x < 3; x++) { let n = 0; for (let d = -1; d <= 1; d++) n += rows[y + d]?.[x - d] ?? 0; out[y] += n; }",
  ],
  ["for (let i = -1; i < 5; i++) s += (bodies[i]?.pos.x ?? 7) + (rows[i]?.[0] ?? 0.5);"],
  ["for (let i = 0; i < 5; i++) out[i] = lut[where[i] - 2] ?? -1;"],
  ["for (let i = 0; i < 4; i++) s += small[where[i]] ?? 3;"],
  ["for (let i = 0; i < 5; i++) { out[0] = i; s += small[where[i]] ?? 3; }", true],
  ["for (let i = 0; i < 5; i++) { out[0] = i; out.set(where.subarray(0, where[i]), 1); }", true],
  ["for (let i = 0; i < 5; i++) out[i] = Math.hypot(out[i], i - 2) + Math.hypot(out[i], 1, NaN) ;"],
  ["for (let i = 0; i < 5; i++) out[i] = Math.hypot(out[i] * 1e300, 1e-320) + Math.hypot(-0, i && 1 / 0);"],
  ["for (let i = 0; i < 5; i++) out[i] = easing.square(i) + easing.cube(out[i]) + easing.scaled(0.1);"],
  ["for (let i = 0; i < 2; i++) { out.set([i, i + 0.5], i * 2); small.set([300, -1.5, i], 1 + i); }"],
  ["for (let i = 0; i < 2; i++) { small.set(where.subarray(i, i + 2), i * 2); s += small[1]; }"],
  ["for (let i = 0; i < 3; i++) { out.set(where.subarray(-2), i); out.fill(i / 3, -1); }"],
  ["for (let i = 0; i < 2; i++) out.set(where.subarray(where[i] - 2, where[i + 1]), 1);"],
  ["for (let i = 0; i < 2; i++) { small.fill(i + 255, i, where[i]); out.fill(-0, where[3] - 9, 2); }"],
  ["for (let i = 0; i < 3; i++) { out[i] = bodies[i].trail.at(-1) + bands[i].at(i) + cube[1][0].at(0); }"],
  // These access what is no element.
  ["for (let i = 0; i < 5; i++) { out[i] = 1; s += bodies[i].pos.x; }", true],
  ["for (let i = 0; i < 5; i++) { out[i] = 1; s += bands[1][i]; }", true],
  ["for (let i = 0; i < 3; i++) { out[i] = 1; small.set([1, 2, 3], where[i]); }", true],
  ["for (let i = 0; i < 3; i++) { out[i] = 1; s += cube[1][i][0]; }", true],
  // A missing element is stored as `undefined`.
  ["for (let i = 0; i < 3; i++) { out[i] = 1; lut[i] = where[i + 2]; }", true],
  ["for (let i = 0; i < 3; i++) { out[i] = 1; bodies[i].pos.x = i > 0 ? small[i + 4] : 3; }", true],
  // The property `undefined` is as before, too.
  ["for (let i = 0; i < 3; i++) { small[where[i + 2]] ^= i + 7; s += cube[i][0][0]; }", true],
];

function plain() {
  const bodies = [1, 0.5, -3].map((x, at) => ({
    pos: { x, y: at - 1 },
    vel: { x: at + 0.25, y: -x },
    mass: at + 1,
    trail: [at, -0],
  }));
  return {
    bodies: bodies as unknown[],
    rows: [
      [1.5, -0, Number.NaN],
      [2 ** 60, -7, 0.1],
      [3, 4, 5],
    ] as unknown[],
    cube: [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8.5],
      ],
    ] as unknown[],
    bands: [0, 1, 2].map((at) => Float32Array.of(at, 0.1, -at, 1e30)) as unknown[],
    words: [0, 1].map((at) => Int16Array.of(at, -5, 32767, 7)) as unknown[],
    lut: [5, 6, 7] as unknown[],
    out: Float64Array.of(3, -0.5, 1e200, -7, 0),
    small: Uint8Array.of(1, 2, 3, 4, 5),
    where: Int32Array.of(3, 0, 2, 1),
  };
}
type Given = ReturnType<typeof plain>;

const changed = (change: (given: Given) => unknown) => {
  const given = plain();
  change(given);
  return given;
};

async function resultOf({ run }: ReturnType<typeof evaluate>, given: Given) {
  const returned = await (run!(...(Object.values(given) as never[])) as Promise<unknown>).catch(String);
  // A detached array cannot be compared.
  const bands = given.bands.map((band) => ((band as Float32Array).length === 0 ? "empty" : band));
  return { returned, given: { ...given, bands } };
}

it.each(loops)("give what they give as they are written: %s", async (loop, leaves) => {
  const source = around(loop);
  const { exports, calls, diagnostics } = evaluateTranslated(source);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(await resultOf(exports, plain())).toEqual(await resultOf(evaluate(source), plain()));
  if (!leaves) expect(calls).toHaveLength(1);
});

it("are executed on the GPU", async () => {
  const device = await devices.sharedDevice();
  const each = Number(process.env.ARRAY_PARTS ?? 6);
  for (const [at, [loop, leaves]] of loops.entries()) {
    if (at % each > 0) continue;
    const source = around(loop);
    let onGpu = 0;
    const exports = evaluate(replaceLoops(source, "loops.ts").code!, async (call) => {
      const done = await speculate(call, { device, fallback: "never" });
      onGpu += done.statistics.committed - done.statistics.onCpu;
      return done;
    });
    expect(await resultOf(exports, plain()), loop).toEqual(await resultOf(evaluate(source), plain()));
    expect(onGpu > 0, loop).toBe(!leaves);
  }
});

it("may have their types in JSDoc", () => {
  const source = `/** @param {number[][]} rows @param {Float32Array[]} bands @param {number[]} out */
export async function run(rows, bands, out) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < 3; i++) out[i] = rows[i][0] + bands[0][i];
}`;
  const { diagnostics } = replaceLoops(source, "loops.js");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
});

class Band extends Float32Array {}

/** Changes of the data after which the loop below runs as it is written. */
const hostile: ((given: Given) => unknown)[] = [
  ({ bodies }) => bodies.splice(1, 1, bodies[0]),
  ({ bodies }) => bodies.splice(1, 1, { ...(bodies[0] as object) }),
  ({ bodies }) => Object.assign(bodies[1] as object, { vel: (bodies[1] as { pos: object }).pos }),
  ({ bodies }) => bodies.splice(1, 1, Object.freeze({ ...(bodies[1] as object), pos: { x: 1, y: 2 } }), null),
  ({ bodies }) => Object.freeze((bodies[1] as { pos: object }).pos),
  ({ bodies }) => Object.defineProperty(bodies[1] as object, "pos", { get: () => ({ x: 1, y: 2 }) }),
  ({ bodies }) => Object.defineProperty((bodies[1] as { pos: object }).pos, "x", { get: () => 5 }),
  ({ bodies }) => Object.assign(bodies[1] as object, { pos: new Proxy({ x: 1, y: 2 }, {}) }),
  ({ bodies }) => Object.assign(bodies[1] as object, { pos: Object.create({ x: 1, y: 2 }) }),
  ({ bodies }) => Reflect.deleteProperty(bodies, 1),
  ({ cube }) => cube.splice(1, 1, cube[0]),
  ({ cube }) => (cube[1] as unknown[]).splice(1, 1, (cube[0] as unknown[])[0]),
  ({ cube }) => (cube[1] as unknown[]).push([1, 2]),
  ({ cube }) => (cube[1] as unknown[]).splice(0, 1, [1, 2, 3]),
  ({ cube }) => (cube[1] as unknown[]).splice(0, 1, [1, "2"]),
  ({ cube }) => Reflect.deleteProperty((cube[1] as unknown[][])[1]!, 0),
  ({ bands }) => bands.splice(1, 1, bands[0]),
  ({ bands }) => bands.splice(1, 1, (bands[0] as Float32Array).subarray()),
  ({ bands }) => {
    const memory = new Float32Array(6);
    bands.splice(0, 2, memory.subarray(0, 4), memory.subarray(2, 6));
  },
  ({ bands, out }) => bands.splice(1, 1, new Float32Array(out.buffer, 8, 4)),
  ({ bands }) => bands.splice(1, 1, Float64Array.of(1, 2, 3, 4)),
  ({ bands }) => bands.splice(1, 1, [1, 2, 3, 4]),
  ({ bands }) => bands.splice(1, 1, Float32Array.of(1, 2)),
  ({ bands }) => bands.splice(1, 1, new Band(4)),
  ({ bands }) => bands.splice(1, 1, Object.defineProperty(new Float32Array(4), "length", { value: 2 })),
  ({ bands }) => {
    const band = new Float32Array(4);
    structuredClone(band.buffer, { transfer: [band.buffer] });
    bands.splice(1, 1, band);
  },
  ({ lut }) => Object.assign(lut, { "-1": 9 }),
];

const mixed = around(`for (let i = 0; i < 2; i++) {
  bodies[i].pos.x += bodies[i + 1].vel.y;
  cube[i][1][0] = cube[1 - i][0][1] + (lut[i - 1] ?? 3);
  bands[i][2] = bands[i + 1][1] + out[2 - i];
  out[i] = i;
}`);

it.each(hostile.map((_, at) => at))("run as they are written if data is hostile: %i", async (at) => {
  const { exports, calls } = evaluateTranslated(mixed);
  const change = hostile[at]!;
  const expected = await resultOf(evaluate(mixed), changed(change));
  expect(await resultOf(exports, changed(change))).toEqual(expected);
  expect(calls).toEqual([]);
});

it("are translated for the same loop and plain data", async () => {
  const { exports, calls } = evaluateTranslated(mixed);
  // Parts of one memory that do not overlap are plain, too.
  const change = ({ bands }: Given) => {
    const memory = new Float32Array(new SharedArrayBuffer(32));
    bands.splice(0, 2, memory.subarray(4), memory.subarray(0, 4));
  };
  expect(await resultOf(exports, changed(change))).toEqual(await resultOf(evaluate(mixed), changed(change)));
  expect(calls).toHaveLength(1);
});

it("run as they are written while a program has changed what all arrays inherit", async () => {
  const iterator = Array.prototype[Symbol.iterator];
  const source = around("for (const { pos } of bodies) { pos.x += 1; s += rows[5]?.[0] ?? 4; }");
  const changes: [undo: () => void, change: () => void][] = [
    [
      () => Reflect.deleteProperty(Array.prototype, 5),
      () => Object.defineProperty(Array.prototype, 5, { get: () => [2], configurable: true }),
    ],
    [
      () => Reflect.deleteProperty(Object.prototype, 7),
      () => Object.defineProperty(Object.prototype, 7, { value: 3, configurable: true }),
    ],
    [
      () => Object.defineProperty(Array.prototype, Symbol.iterator, { value: iterator }),
      () => {
        const skipping = function* (this: unknown[]) {
          for (let at = 1; at < this.length; at++) yield this[at];
        };
        Object.defineProperty(Array.prototype, Symbol.iterator, { value: skipping });
      },
    ],
  ];
  for (const [undo, change] of changes) {
    const { exports, calls } = evaluateTranslated(source);
    const written = evaluate(source);
    const [before, other] = [plain(), plain()];
    const args = [before, other].map((given) => Object.values(given)) as never[][];
    let results: unknown[] = [];
    try {
      change();
      results = [await written.run!.apply(null, args[0]!), await exports.run!.apply(null, args[1]!)];
    } finally {
      undo();
    }
    expect(results[1]).toEqual(results[0]);
    expect(other).toEqual(before);
    expect(calls).toEqual([]);
  }
});
