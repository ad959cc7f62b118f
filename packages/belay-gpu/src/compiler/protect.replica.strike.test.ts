/**
 * The register that says which replica an invocation is, with each of its bits flipped: nothing
 * stays silent.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  type KernelInput,
  type KernelOutput,
  runKernel,
  runTwins,
} from "../../../../test/support/kernels/kernelRunner.ts";
import { injectionMembers } from "../transforms/faults/injectionWords.ts";
import { configurationsFor, describeConfiguration } from "./configurations.ts";
import { type CompilerResult, injectionWords, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/** A bit and a replica for each workgroup. */
const workgroups = 32 * 2;
/**
 * Parts of each buffer: one for each workgroup, and the last, which takes what is stored out of
 * bounds.
 */
const parts = workgroups + 1;
/**
 * Invocations of a workgroup; the one that is struck, which has something to store in every kernel,
 * and its words.
 */
const size = 8;
const struckLocal = 5;
const words = (count: number) =>
  Uint32Array.from({ length: count * parts }, (_, i) => Math.imul(i + 1, 0x85ebca6b));

/** A statement without effect, where the kernels begin. */
const start = "_ = 77u;";
const main = `
  @compute @workgroup_size(${size}) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) l: u32
  ) {
    ${start}`;

/**
 * Kernels, with what each of their buffers has for a workgroup. No workgroup changes what another
 * one has.
 */
const kernels: Record<
  string,
  { readonly wgsl: string; readonly buffers: readonly Uint32Array<ArrayBuffer>[] }
> = {
  "a map": {
    wgsl: `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      ${main} if (l < 6u) { out[id.x] = a[id.x] * 3u; } }`,
    buffers: [words(size), new Uint32Array(size * parts)],
  },
  "a reduction": {
    wgsl: `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, ${size}>;
      ${main}
        tile[l] = a[id.x];
        workgroupBarrier();
        for (var step = 4u; step > 0u; step >>= 1u) {
          if (l < step) { tile[l] += tile[l + step]; }
          workgroupBarrier();
        }
        for (var i = l; i < 24u; i += 8u) { out[24u * w.x + i] = tile[0] + i; }
      }`,
    buffers: [words(size), new Uint32Array(24 * parts)],
  },
  "a kernel in place": {
    wgsl: `
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      ${main} a[id.x] = a[id.x] * 5u + 1u; }`,
    buffers: [words(size)],
  },
  "a kernel that loads what it has stored": {
    wgsl: `
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      ${main} a[id.x] = a[id.x] * 5u + 1u; a[id.x] ^= a[id.x] >> 3u; }`,
    buffers: [words(size)],
  },
  "atomic operations": {
    wgsl: `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;
      ${main} atomicAdd(&sums[2u * w.x + a[id.x] % 2u], a[id.x]); atomicMax(&sums[2u * w.x], l); }`,
    buffers: [words(size), new Uint32Array(2 * parts)],
  },
  "the results of atomic operations": {
    wgsl: `
      @group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      ${main} if (atomicAdd(&count[w.x], l + 1u) < 1000u) { out[id.x] = l; } }`,
    buffers: [new Uint32Array(parts), new Uint32Array(size * parts)],
  },
};

interface Flipping {
  readonly kernel: CompilerResult;
  /** The numbers of the places that can be struck. */
  readonly places: readonly number[];
}

const report = "belay_report";

/** Code whose records tell only in which workgroup something was noticed. */
const tellingWhere = (code: string) =>
  code.replace(
    /(fn belay_record\([^{]*\{)[\s\S]*?\n\}/,
    (_, head) =>
      `${head} let w = belay_workgroup.x; ${report}.memory_records[w / 32u][w / 4u % 8u][w % 4u] = 1u; }`,
  );

/** Code whose report has the words of injected faults, in the bytes that are free otherwise. */
function withInjectionWords(code: string): string {
  const declared = code.replace(/@size\(\d+\) grid: u32,/, `grid: u32,${injectionMembers}`);
  if (declared === code) throw new Error("the report has no free bytes");
  return declared;
}

/**
 * The protected kernel with places at which the register is struck: where the kernel begins, behind
 * an arrival, and before each guard. In workgroup w, bit w % 32 of replica w / 32 flips, unless one
 * workgroup is armed. Records tell only where they are.
 */
function flipping(guarded: CompilerResult): Flipping {
  let places = 0;
  const flip = () => `belay_flip(${++places}u);`;
  const code = withInjectionWords(tellingWhere(guarded.code))
    .replaceAll(start, flip)
    .replace(/if \(\(?belay_replica == 0u\)?[^{]*\{/g, (guard) => `${flip()} ${guard}`)
    .replace(/belay_replica = u32\(\(?(before|workgroupUniformLoad)[^;]*;/g, (all) => `${all} ${flip()}`);
  const kernel = {
    ...guarded,
    code: `${code}
    var<private> belay_is_flipped: bool;
    fn belay_flip(place: u32) {
      let w = belay_workgroup.x;
      let is_here = (${report}.armed_workgroup_y == 0u) | (${report}.armed_workgroup_x == w);
      if (belay_is_flipped || !is_here || place != ${report}.armed_site) { return; }
      if (belay_local != ${struckLocal}u || belay_replica != w / 32u) { return; }
      belay_replica ^= 1u << (w % 32u);
      belay_is_flipped = true;
      atomicAdd(&${report}.strikes, 1u);
    }`,
  };
  return { kernel, places: Array.from({ length: places }, (_, i) => i + 1) };
}

/**
 * The same for all that protection adds to a kernel, but for the window between comparison and
 * store.
 */
function strikingAll(guarded: CompilerResult): Flipping {
  const w = "belay_workgroup.x";
  const code = tellingWhere(guarded.code)
    .replace(
      /let here = [^;]*;/,
      `let here = (${report}.armed_workgroup_y == 0u) | (${report}.armed_workgroup_x == ${w});`,
    )
    .replace(/let own = [^;]*;/, `let own = belay_replica == ${w} / 32u;`)
    .replace(/belay_struck_mask = [^;]*;/, `belay_struck_mask = 1u << (${w} % 32u);`);
  const places = guarded.faultSites.flatMap(({ id, machinery }) => (machinery === "inside" ? [id] : []));
  return { kernel: { ...guarded, code }, places };
}

/**
 * Strikes all places. Returns how many strikes there were, and of which nothing told though results
 * were wrong.
 */
async function strike(name: string, { kernel, places }: Flipping) {
  const { wgsl, buffers } = kernels[name]!;
  const input: KernelInput = { buffers: { ...buffers }, workgroups: [workgroups, 1, 1] };
  const plain = await runKernel(device, wgsl, input);
  const isBlocking = kernel.entryPoints[0]!.interGroup?.blocking ?? false;
  // Where one replica waits in vain, none waits any more: one workgroup at a time.
  const alone = isBlocking ? [0, 1, 31, 32, 63] : [undefined];
  let struck = 0;
  const silent: string[] = [];
  for (const place of [0, ...places])
    for (const only of alone) {
      const armed = {
        armedSite: place,
        armedLocalIndex: struckLocal,
        ...(only !== undefined && { armedWorkgroupX: only, armedWorkgroupY: 1 }),
      };
      const host = { ...(place > 0 && { patience: 2 ** 8 }) };
      const { buffers: made, report, cells } = await runTwins(device, kernel, input, armed, host);
      struck += report[injectionWords.strikes]!;
      const recorded = Array.from(
        { length: workgroups },
        (_, w) => report[reportWords.memoryRecords + w] !== 0,
      );
      // What waits in vain leaves nothing verified.
      if (isBlocking && recorded.includes(true)) continue;
      for (let w = 0; w < workgroups; w++) {
        const isNoticed = recorded[w] || cells.subarray(32 * w, 32 * (w + 1)).some((cell) => cell !== 0);
        if (isNoticed ? place === 0 : !isRight(w, made, plain.buffers))
          silent.push(`place ${place}, workgroup ${w}`);
      }
    }
  return { struck, silent };
}

/** Returns whether all outputs of a workgroup are right. */
const isRight = (w: number, is: KernelOutput["buffers"], expected: KernelOutput["buffers"]) =>
  Object.entries(is).every(([binding, found]) => {
    const each = found.length / parts;
    const own = (all: Uint32Array) => all.subarray(w * each, (w + 1) * each);
    const right = own(expected[Number(binding)]!);
    return own(found).every((word, i) => word === right[i]);
  });

const configurations = configurationsFor(["subgroups"]).map(
  (each) => [describeConfiguration(each), each] as const,
);

describe.each(configurations)("%s", (_, options) => {
  const guarded = Object.entries(kernels).flatMap(([name, { wgsl }]) => {
    const kernel = protect(wgsl, { ...options, features: ["subgroups"] });
    return kernel.entryPoints[0]!.redundancy === "none" ? [] : [[name, flipping(kernel)] as const];
  });

  it.each(guarded)("%s", async (name, { kernel, places }) => {
    const { struck, silent } = await strike(name, { kernel, places });
    expect(silent).toEqual([]);
    expect(struck).toBeGreaterThan(0);
  });
});

/**
 * One configuration for each way in which replicas meet, but for waiting, which takes long where it
 * is in vain.
 */
const quick = configurations.filter(
  ([, { redundancy, check, channel, pairing }]) =>
    redundancy !== "intra-lds" &&
    (channel === "workgroup" ? pairing === "subgroups" : redundancy !== "inter" || check === "signature"),
);

describe.each(quick)("all that protection adds, %s", (_, options) => {
  it.each(["a map", "a reduction", "a kernel in place", "atomic operations"])("%s", async (name) => {
    const features = ["subgroups"];
    const guarded = protect(kernels[name]!.wgsl, {
      ...options,
      features,
      injectFaults: true,
      strikeMachinery: true,
    });
    if (guarded.entryPoints[0]!.redundancy === "none") return;
    const { struck, silent } = await strike(name, strikingAll(guarded));
    expect(silent).toEqual([]);
    expect(struck).toBeGreaterThan(0);
  });
});

it("is missed without tallies where nothing else depends on the register", async () => {
  const [name, { wgsl }] = Object.entries(kernels)[0]!;
  const { kernel, places } = flipping(protect(wgsl, { features: ["subgroups"] }));
  const code = kernel.code.replaceAll(/belay_tally [-+]= [^;]*;/g, "");
  expect(code).not.toBe(kernel.code);
  const { silent } = await strike(name, { kernel: { ...kernel, code }, places });
  expect(silent.length).toBeGreaterThan(0);
});
