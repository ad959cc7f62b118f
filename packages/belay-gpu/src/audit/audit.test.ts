import { harden, type Policy } from "belay-gpu";
import { describe, expect, it, vi } from "vitest";
import { changeKernel } from "../../../../test/support/devices/changeKernel.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { until } from "../../../../test/support/until.ts";
import { blame } from "../blame/blame.ts";
import type { AuditReport } from "../runtime/context/auditing.ts";
import type { HardenedDevice } from "../runtime/hardenedDevice.ts";
import { type AuditorOptions, auditor } from "./auditor.ts";
import { upperBound } from "./deviceAudit.ts";

const { newDevice } = testDevices();
let shared: Promise<GPUDevice> | undefined;
const sharedDevice = () => {
  shared ??= newDevice();
  return shared;
};

const everything = () => auditor({ rate: 1, budget: 1, seed: 1 });
const hardened = (device: GPUDevice, policy: Policy = { redundancy: "none" }) =>
  harden(device, { audit: everything(), ...policy });

const powers = "out[i] = u32(pow(2.0, f32(x[i] % 8u)));";
const bindings = `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> slot: atomic<u32>;`;
const bodyOf = (body: string) => `${bindings}
@compute @workgroup_size(64) fn main(
  @builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = id.x;
  _ = x[0];
  ${body}
}`;
const tripled = bodyOf("out[i] = x[i] * 3u;");

/** A program with a kernel and its two buffers, of `count` numbers each. */
class Program {
  readonly device: HardenedDevice;
  readonly x: GPUBuffer;
  readonly out: GPUBuffer;
  readonly pipeline: GPUComputePipeline;

  constructor(
    device: HardenedDevice,
    source: string,
    { count = 256, constants = {} }: { count?: number; constants?: Record<string, number> } = {},
  ) {
    this.device = device;
    const { STORAGE, COPY_DST, COPY_SRC } = GPUBufferUsage;
    const usage = STORAGE | COPY_DST | COPY_SRC;
    [this.x, this.out] = [0, 1].map(() => device.createBuffer({ size: 4 * count, usage })) as [
      GPUBuffer,
      GPUBuffer,
    ];
    device.queue.writeBuffer(
      this.x,
      0,
      Uint32Array.from({ length: count }, (_, i) => (i * 4099) % count),
    );
    const module = device.createShaderModule({ code: source });
    this.pipeline = device.createComputePipeline({ layout: "auto", compute: { module, constants } });
  }

  submit(encode: (pass: GPUComputePassEncoder) => void = (pass) => pass.dispatchWorkgroups(4)): void {
    const { device, pipeline } = this;
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [this.x, this.out].map((buffer, binding) => ({ binding, resource: { buffer } }));
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    encode(pass);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }

  async audit(): Promise<AuditReport> {
    return (await this.device.belay.report()).audit!;
  }
}

const policies: readonly Policy[] = [
  { redundancy: "none" },
  { onFault: "throw" },
  {},
  { redundancy: "inter" },
  { memory: "secded32" },
];

describe("an audit", () => {
  it.each(policies.map((policy) => [JSON.stringify(policy), policy] as const))(
    "agrees with a right device under %s, also in place",
    async (_, policy) => {
      const program = new Program(hardened(await sharedDevice(), policy), tripled);
      program.submit();
      const inPlace = new Program(program.device, bodyOf("out[i] = out[i] * 5u + x[i];"));
      inPlace.submit();
      inPlace.submit();
      expect(await program.audit()).toMatchObject({
        dispatches: 3,
        workgroups: 12,
        agreed: 12,
        disagreed: 0,
        skipped: 0,
        bound: expect.closeTo(0.2209, 4),
      });
    },
  );

  it.each(policies.map((policy) => [JSON.stringify(policy), policy] as const))(
    "finds words that a compiler gets wrong in all replicas, under %s",
    async (_, policy) => {
      const wrong = changeKernel(await sharedDevice(), "* 3u", "* 5u");
      const program = new Program(hardened(wrong, policy), tripled);
      const heard: string[] = [];
      program.device.belay.addEventListener("disagreement", ({ message }) => heard.push(message));
      program.submit();
      const { disagreed, disagreements } = await program.audit();
      expect(disagreed).toBe(4);
      expect(heard).toContain(
        'kernel "main" is computed wrong in workgroup (0, 0, 0): out[1], stored in line 9, is 15, not 9, and 62 more words are wrong',
      );
      expect(disagreements.find(({ workgroup }) => workgroup[0] === 0)).toMatchObject({
        kernel: "main",
        entryPoint: "main",
        workgroup: [0, 0, 0],
        place: "out[1]",
        offset: 4,
        expected: "9",
        actual: "15",
        wrong: 63,
        site: { line: 9, column: 3 },
      });
    },
  );
});

describe("the first disagreement of a kernel", () => {
  it("has its dispatch as data, with the inputs of its time, which blame cuts down", async () => {
    const wrong = changeKernel(await sharedDevice(), "* 5u", "* 7u");
    const program = new Program(hardened(wrong), bodyOf("out[i] = out[i] * 5u + x[i];"), { count: 64 });
    program.device.queue.writeBuffer(program.out, 0, new Uint32Array(64).fill(9));
    program.submit((pass) => pass.dispatchWorkgroups(1));
    program.device.queue.writeBuffer(program.x, 0, new Uint32Array(64));
    program.submit((pass) => pass.dispatchWorkgroups(1));
    const [first, ...others] = (await program.audit()).disagreements;
    expect(others.map(({ dispute }) => dispute)).toEqual([undefined]);
    const { source, workgroups, buffers } = first!.dispute!;
    expect(source).toContain("out[i] * 5u");
    expect(workgroups).toEqual([1, 1, 1]);
    const x = Array.from({ length: 64 }, (_, i) => (i * 4099) % 64);
    expect(buffers).toEqual([
      { group: 0, binding: 0, words: x },
      { group: 0, binding: 1, words: x.map(() => 9) },
    ]);
    const { culprit } = await blame(first!.dispute!, { device: wrong, milliseconds: 0 });
    expect(culprit).toBe("driver or implementation");
  });

  it("has no dispatch as data with buffers of more than 256 KiB", async () => {
    const wrong = changeKernel(await sharedDevice(), "* 3u", "* 5u");
    const program = new Program(hardened(wrong), tripled, { count: 2 ** 15 + 1 });
    program.submit((pass) => pass.dispatchWorkgroups(1));
    const { disagreements } = await program.audit();
    expect(disagreements.map(({ dispute }) => dispute)).toEqual([undefined]);
  });
});

interface UndecidedCase {
  readonly reason: string;
  readonly body: string;
  /** The body on a device that runs invocations in another order. */
  readonly otherOrder?: string;
  readonly dispatches?: number;
}

/** Kernels on right devices whose workgroups cannot be judged. */
const undecided: readonly UndecidedCase[] = [
  {
    reason: "other commands of its submission change its buffers or textures",
    body: "out[i] = out[i] + 1u;",
    dispatches: 2,
  },
  {
    reason: "the specification fixes no word that it stores",
    body: "if (x[i] > 1000u) { out[i] = 1u; }",
  },
  { reason: "another workgroup stores a word that it loads", body: "out[i] = out[i ^ 64u] * 2u + 1u;" },
  {
    reason: "invocations race for memory",
    body: "if (local == 0u) { out[0] = i + 1u; }",
    otherOrder: "if (local == 0u) { out[0] = 7u; }",
  },
  {
    reason: "invocations race for memory",
    body: "out[i / 64u] = i;",
    otherOrder: "out[i / 64u] = i ^ 63u;",
  },
  {
    reason: "the order of atomic operations may decide its results",
    body: "out[i] = atomicAdd(&slot, 1u);",
    otherOrder: "out[i] = 63u - atomicAdd(&slot, 1u);",
  },
  { reason: "an index is out of bounds", body: "out[i + 250u] = 1u;" },
  {
    reason: "an integer depends on rounding",
    body: powers,
    otherOrder: "out[i] = 3u * u32(pow(2.0, f32(x[i] % 8u)));",
  },
];

describe("a workgroup", () => {
  it("agrees if a rounding that WGSL allows gives its integers", async () => {
    const program = new Program(hardened(await sharedDevice()), bodyOf(powers));
    program.submit();
    expect(await program.audit()).toMatchObject({ agreed: 4, undecided: 0 });
  });

  it.each(undecided)("is undecided: $reason", async ({ reason, body, otherOrder, dispatches = 1 }) => {
    const device = changeKernel(await sharedDevice(), body, otherOrder ?? body);
    const program = new Program(hardened(device), bodyOf(body));
    program.submit((pass) => {
      for (let i = 0; i < dispatches; i++) pass.dispatchWorkgroups(4);
    });
    const { disagreed, reasons } = await program.audit();
    expect(disagreed).toBe(0);
    expect(Object.keys(reasons)).toEqual([reason]);
  });

  it("is undecided with atomic operations in storage", async () => {
    const counting = `@group(0) @binding(0) var<storage, read_write> n: atomic<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(4) fn main() { out[0] = atomicAdd(&n, 1u); }`;
    const program = new Program(hardened(await sharedDevice()), counting);
    for (let i = 0; i < 2; i++) program.submit((pass) => pass.dispatchWorkgroups(1));
    const reason = "workgroups communicate by atomic operations";
    expect(await program.audit()).toMatchObject({
      workgroups: 2,
      undecided: 2,
      reasons: { [reason]: 2 },
      bound: 1,
    });
  });

  it("is undecided on a grid that only the device knows", async () => {
    const program = new Program(hardened(await sharedDevice()), tripled);
    const usage = GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_DST;
    const grid = program.device.createBuffer({ size: 12, usage });
    program.device.queue.writeBuffer(grid, 0, new Uint32Array([4, 1, 1]));
    program.submit((pass) => pass.dispatchWorkgroupsIndirect(grid, 0));
    expect(await program.audit()).toMatchObject({
      dispatches: 1,
      reasons: { "its grid or its bind groups are unknown": 1 },
    });
  });
});

describe("the inputs of a sampled dispatch", () => {
  it("are those of its time, whatever follows", async () => {
    const program = new Program(hardened(await sharedDevice()), tripled);
    program.submit();
    program.device.queue.writeBuffer(program.x, 0, new Uint32Array(256).fill(9));
    program.device.queue.writeBuffer(program.out, 0, new Uint32Array(256).fill(9));
    program.x.destroy();
    program.out.destroy();
    expect(await program.audit()).toMatchObject({ agreed: 4, disagreed: 0 });
  });

  it("may be written by earlier commands of the submission", async () => {
    const device = hardened(await sharedDevice());
    const first = new Program(device, tripled);
    const second = new Program(device, bodyOf("out[i] = x[i] + 7u;"));
    first.submit((pass) => {
      pass.dispatchWorkgroups(4);
      pass.setPipeline(second.pipeline);
      const entries = [first.out, second.out].map((buffer, binding) => ({ binding, resource: { buffer } }));
      const layout = second.pipeline.getBindGroupLayout(0);
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
      pass.dispatchWorkgroups(4);
    });
    expect(await first.audit()).toMatchObject({ dispatches: 2, agreed: 8, disagreed: 0 });
  });

  it("come to the host in pages, where loads depend on loads", async () => {
    const count = 64 * 1024;
    const chase = bodyOf("out[i] = x[x[x[i]]] + x[(i * 31u) % arrayLength(&x)];");
    const program = new Program(hardened(await sharedDevice()), chase, { count });
    program.submit((pass) => pass.dispatchWorkgroups(8));
    expect(await program.audit()).toMatchObject({ agreed: 8, disagreed: 0 });
  });

  it("have dynamic offsets, overrides, and uniform buffers", async () => {
    const device = hardened(await sharedDevice());
    const source = `override factor = 2u;
      @group(0) @binding(0) var<uniform> scale: vec4u;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
        out[id.x] = out[id.x] + id.x * factor * scale.y;
      }`;
    const { COMPUTE } = GPUShaderStage;
    const entries: GPUBindGroupLayoutEntry[] = (["uniform", "storage"] as const).map((type, binding) => ({
      binding,
      visibility: COMPUTE,
      buffer: { type, hasDynamicOffset: true },
    }));
    const bindGroupLayout = device.createBindGroupLayout({ entries });
    const pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] }),
      compute: { module: device.createShaderModule({ code: source }), constants: { factor: 5 } },
    });
    const { UNIFORM, STORAGE, COPY_DST } = GPUBufferUsage;
    const scale = device.createBuffer({ size: 512, usage: UNIFORM | COPY_DST });
    device.queue.writeBuffer(scale, 256, new Uint32Array([1, 3, 1, 1]));
    const out = device.createBuffer({ size: 512, usage: STORAGE });
    const group = device.createBindGroup({
      layout: bindGroupLayout,
      entries: [
        { binding: 0, resource: { buffer: scale, size: 16 } },
        { binding: 1, resource: { buffer: out, size: 256 } },
      ],
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group, [256, 256]);
    pass.dispatchWorkgroups(2, 2);
    pass.setBindGroup(0, group, [256, 0]);
    pass.dispatchWorkgroups(2);
    pass.end();
    device.queue.submit([encoder.finish()]);
    const { audit } = await device.belay.report();
    // Workgroups of the second row of the first dispatch store the same words again.
    expect(audit).toMatchObject({ agreed: 2, disagreed: 0, dispatches: 2 });
    expect(audit!.reasons).toEqual({ "invocations race for memory": 4 });
  });
});

describe("an audit together with faults", () => {
  it("does not judge work that ran again", async () => {
    const device = hardened(await sharedDevice(), { injectFaults: true, check: "store" });
    const program = new Program(device, tripled);
    const site = device.belay.faultSites()[0]!.sites.find(({ kind }) => kind === "value")!.id;
    device.belay.arm({
      kernel: "main",
      site,
      replica: 0,
      effect: { xor: 4 },
      workgroup: [1, 0, 0],
      localIndex: 5,
    });
    program.submit();
    const { audit, recoveries } = await device.belay.report();
    expect(recoveries).toBe(1);
    expect(audit).toMatchObject({
      agreed: 0,
      disagreed: 0,
      reasons: { "a check found a fault in its work": 4 },
    });
    program.submit();
    expect(await program.audit()).toMatchObject({ agreed: 4, disagreed: 0 });
  });
});

describe("a submission that is not judged", () => {
  it("is one that the device rejects", async () => {
    const device = hardened(await newDevice({ errorsAreExpected: true }));
    const program = new Program(device, tripled);
    program.submit((pass) => {
      pass.dispatchWorkgroups(4);
      pass.pushDebugGroup("never popped");
    });
    program.submit((pass) => pass.dispatchWorkgroups(0));
    expect(await program.audit()).toMatchObject({ dispatches: 1, workgroups: 0, skipped: 0 });
    device.destroy();
  });

  it("is one of a device that is lost", async () => {
    const device = hardened(await newDevice());
    const program = new Program(device, tripled);
    program.submit();
    device.destroy();
    const { agreed, disagreed, reasons } = await program.audit();
    expect({ agreed, disagreed, reasons }).toEqual({
      agreed: 0,
      disagreed: 0,
      reasons: { "the device was closed before its results were read": 4 },
    });
  });

  it("is one beyond the budget", async () => {
    const audit = auditor({ rate: 1, budget: Number.MIN_VALUE, seed: 1 });
    const program = new Program(harden(await sharedDevice(), { redundancy: "none", audit }), tripled);
    for (let i = 0; i < 3; i++) {
      program.submit();
      await program.audit();
    }
    // The budget pays for a sample before it is taken, so that even the first one is not.
    expect(await program.audit()).toMatchObject({ dispatches: 3, skipped: 12, workgroups: 0 });
  });

  it("is one for which a program has not saved up, however long it was idle", async () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const device = harden(await sharedDevice(), { redundancy: "none", audit: auditor({ rate: 1 }) });
      const program = new Program(device, tripled, { count: 4096 });
      const submit = () => program.submit((pass) => pass.dispatchWorkgroups(64));
      submit();
      expect(await program.audit()).toMatchObject({ workgroups: 0, skipped: 64 });
      now = 3_600_000;
      submit();
      // An hour pays for all. The budget saves up 100 ms: nine workgroups of 10 ms, and copies.
      expect(await program.audit()).toMatchObject({ agreed: 9, skipped: 119 });
    } finally {
      clock.mockRestore();
    }
  });

  it("is none of a kernel that takes long, which the budget pays for in slices", async () => {
    let now = 0;
    let step = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => {
      now += step;
      return now;
    });
    try {
      const device = harden(await sharedDevice(), { redundancy: "none", audit: auditor({ rate: 1 }) });
      const [slow, fast] = [tripled, bodyOf("out[i] = x[i] + 1u;")].map((code) => new Program(device, code));
      const submit = (program?: Program) => program!.submit((pass) => pass.dispatchWorkgroups(1));
      now = 3_600_000;
      submit(slow);
      // Each step takes longer than a slice, until those that were saved up are spent.
      step = 20;
      const waiting = await slow!.audit();
      expect(waiting).toMatchObject({ workgroups: 0, skipped: 0 });
      expect(waiting.milliseconds).toBeGreaterThan(100);
      expect(waiting.milliseconds).toBeLessThan(200);
      step = 0;
      expect(await slow!.audit()).toMatchObject({ workgroups: 0, skipped: 0 });
      now += 3_600_000;
      await until(async () => (await slow!.audit()).agreed === 1);
      now += 3_600_000;
      submit(slow);
      submit(fast);
      expect(await slow!.audit()).toMatchObject({ agreed: 3, skipped: 0 });
    } finally {
      clock.mockRestore();
    }
  });

  it.each([
    [0.01, { reasons: { "too many iterations, calls and invocations": 1 } }],
    [1, { agreed: 1 }],
  ])("is one whose invocation would hold up other tasks, under a budget of %d", async (budget, expected) => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const audit = auditor({ rate: 1, budget });
      const long = bodyOf(
        "if (i == 0u) { var s = x[0]; for (var k = 0u; k < 70000u; k++) { s = s * 3u + k; } out[0] = s; }",
      );
      const program = new Program(harden(await sharedDevice(), { redundancy: "none", audit }), long);
      now = 3_600_000;
      program.submit((pass) => pass.dispatchWorkgroups(1));
      expect(await program.audit()).toMatchObject({ workgroups: 1, ...expected });
    } finally {
      clock.mockRestore();
    }
  });

  it("is none that the budget has paid for, although its copies take time", async () => {
    let now = 0;
    const native = await sharedDevice();
    const createEncoder = native.createCommandEncoder.bind(native);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    const copying = vi.spyOn(native, "createCommandEncoder").mockImplementation((descriptor) => {
      if (descriptor?.label === "belay: audit") now += 1;
      return createEncoder(descriptor);
    });
    try {
      const device = harden(native, { redundancy: "none", audit: auditor({ rate: 1 }) });
      const program = new Program(device, tripled);
      // The budget has 10.5 ms for a workgroup of 10 ms, and 9.5 ms after the copies.
      now = 1050;
      program.submit((pass) => pass.dispatchWorkgroups(1));
      expect(await program.audit()).toMatchObject({ agreed: 1, skipped: 0 });
    } finally {
      copying.mockRestore();
      clock.mockRestore();
    }
  });
});

describe("an auditor", () => {
  it("samples a fraction of the workgroups of each device", async () => {
    const audit = auditor({ rate: 0.25, budget: 1, seed: 3 });
    const reports: AuditReport[] = [];
    for (const device of [await sharedDevice(), await newDevice()]) {
      const program = new Program(harden(device, { redundancy: "none", audit }), tripled);
      for (let i = 0; i < 20; i++) program.submit((pass) => pass.dispatchWorkgroups(3));
      reports.push(await program.audit());
    }
    // The sample of a seed is the same on all devices.
    expect(reports.map(({ workgroups }) => workgroups)).toEqual([16, 16]);
    expect(reports.map(({ dispatches, agreed }) => [dispatches, agreed])).toEqual([
      [20, 16],
      [20, 16],
    ]);
  });

  it.each([
    [{ rate: 0 }, "the option rate of the auditor cannot be 0: it is a number above 0, and at most 1"],
    [{ budget: 2 }, "the option budget of the auditor cannot be 2: it is a number above 0, and at most 1"],
    [{ seed: 0.5 }, "the option seed of the auditor cannot be 0.5: it is a whole number"],
    [{ speed: 1 }, "there is no option speed of the auditor: the options are rate, budget, seed"],
  ])("refuses the options %j", (options, message) => {
    expect(() => auditor(options as AuditorOptions)).toThrow(new TypeError(message));
  });

  it("is what the policy takes", async () => {
    const device = await sharedDevice();
    const given = { audit: { rate: 0.01, budget: 0.01 } };
    expect(() => harden(device, given)).toThrow(
      'the option audit of the policy cannot be {"rate":0.01,"budget":0.01}: it is an auditor of belay-gpu/audit',
    );
    expect((await harden(device).belay.report()).audit).toBeUndefined();
  });
});

describe("the bound", () => {
  it.each([
    [0, 0, 1],
    [0, 1, 0.95],
    [0, 2995, 0.001],
    [1, 100, 0.0436],
    [100, 100, 1],
  ])("of %i wrong workgroups of %i is %f", (wrong, all, bound) => {
    expect(upperBound(wrong, all)).toBeCloseTo(bound, 4);
  });
});
