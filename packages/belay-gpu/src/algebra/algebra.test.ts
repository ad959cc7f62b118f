import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  addedProduct,
  batchedProduct,
  convolution,
  mixedValues,
  type ProductKernel,
  plainProduct,
  productKernels,
  scoreProduct,
  tiledProduct,
} from "../../../../test/support/kernels/productKernels.ts";
import { sample } from "../../../../test/support/sample.ts";
import { codeOf } from "../diagnostics/registry.ts";
import type { Policy } from "../runtime/context/policy.ts";
import { harden } from "../runtime/harden.ts";
import type { HardenedDevice } from "../runtime/hardenedDevice.ts";
import type { CheckedDispatch, SumsChecking, SumsCheckStarter } from "../runtime/recording/sumsChecking.ts";
import { overlaidMembersOf } from "../runtime/webgpu/overlaidMembers.ts";
import type { PassCommands, SetGroup } from "../runtime/webgpu/passCommands.ts";
import { Activated } from "./activations.ts";
import { algebra } from "./algebra.ts";

const { newDevice, sharedDevice } = testDevices();

const atOnce = algebra({ leastMultiplications: 0, searchesAtOnce: true });
const hardened = async (policy: Policy = {}) => harden(await sharedDevice(), { algebra: atOnce, ...policy });

// Random weights hide some wrong results. These are the same in each run.
beforeEach(() => {
  vi.spyOn(crypto, "getRandomValues").mockImplementation(
    (words) => (words as never as Uint32Array).fill(7) as never,
  );
});
afterEach(() => vi.restoreAllMocks());

/** A whole number of a buffer. */
const small = (binding: number, i: number) => ((i * 7919 + binding * 31) % 7) - 3;

/** A program with one kernel, whose pipeline and bind groups it keeps. */
class Program {
  readonly buffers: readonly GPUBuffer[];
  readonly output: GPUBuffer;
  readonly #device: GPUDevice;
  readonly #kernel: ProductKernel;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;
  readonly #staging: GPUBuffer;

  constructor(
    device: GPUDevice,
    kernel: ProductKernel,
    layout: GPUPipelineLayout | "auto" = "auto",
    numbers = small,
  ) {
    const { STORAGE, UNIFORM, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
    this.#device = device;
    this.#kernel = kernel;
    const module = device.createShaderModule({ code: kernel.source });
    this.#pipeline = device.createComputePipeline({ layout, compute: { module } });
    this.buffers = kernel.buffers.map((each) =>
      "words" in each
        ? device.createBuffer({ size: 4 * each.words.length, usage: UNIFORM | COPY_DST })
        : device.createBuffer({ size: each.numbers * 4, usage: STORAGE | COPY_DST | COPY_SRC }),
    );
    const output = /@binding\((\d+)\) var<storage, read_write>/.exec(kernel.source)![1];
    this.output = this.buffers[Number(output)]!;
    this.#staging = device.createBuffer({ size: this.output.size, usage: MAP_READ | COPY_DST });
    const entries = this.buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.#group = device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
    this.fill(numbers);
  }

  /** Writes numbers to all buffers except the output. */
  fill(numbers: (binding: number, i: number) => number): void {
    for (const [binding, each] of this.#kernel.buffers.entries()) {
      const buffer = this.buffers[binding]!;
      if (buffer === this.output) continue;
      const data =
        "words" in each
          ? Uint32Array.from(each.words)
          : Float32Array.from({ length: each.numbers }, (_, i) => numbers(binding, i));
      this.#device.queue.writeBuffer(buffer, 0, data);
    }
  }

  encode(pass: GPUComputePassEncoder, offsets: readonly unknown[] = []): void {
    pass.setPipeline(this.#pipeline);
    (pass.setBindGroup as (...args: unknown[]) => void).call(pass, 0, this.#group, ...offsets);
    pass.dispatchWorkgroups(...this.#kernel.grid);
  }

  /** Runs the kernel on a cleared output, and reads the results. */
  async run(encode = (pass: GPUComputePassEncoder) => this.encode(pass)): Promise<readonly number[]> {
    const encoder = this.#device.createCommandEncoder();
    encoder.clearBuffer(this.output);
    const pass = encoder.beginComputePass();
    encode(pass);
    pass.end();
    encoder.copyBufferToBuffer(this.output, 0, this.#staging, 0, this.output.size);
    this.#device.queue.submit([encoder.finish()]);
    await this.#staging.mapAsync(GPUMapMode.READ);
    const results = [...new Float32Array(this.#staging.getMappedRange())];
    this.#staging.unmap();
    return results;
  }
}

const expectedOf = async (...given: [ProductKernel, numbers?: typeof small]) =>
  new Program(await sharedDevice(), given[0], "auto", given[1]).run();

/** Returns a function that encodes the doubling of all numbers in some buffers. */
function doublingOf(
  device: GPUDevice,
  buffers: readonly GPUBuffer[],
  layout: GPUPipelineLayout | "auto" = "auto",
): (pass: GPUComputePassEncoder) => void {
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < arrayLength(&x); i += 64u) { x[i] *= 2.0; }
}`;
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout, compute: { module } });
  const groups = buffers.map((buffer) =>
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: { buffer } }],
    }),
  );
  return (pass) => {
    for (const group of groups) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    }
  };
}

/** Returns the report about the only kernel. */
const kernelOf = async ({ belay }: HardenedDevice) => (await belay.report()).kernels[0]!;

/** Returns the messages of all events about faults. */
function messagesOf({ belay }: HardenedDevice): string[] {
  const messages: string[] = [];
  for (const type of ["detection", "fault", "unverified", "recovery", "giveUp", "repair"] as const)
    belay.addEventListener(type, ({ message }) => messages.push(message));
  return messages;
}

/** Runs a kernel twice, expects that both dispatches are checked, and returns the counts. */
async function checkedTwice(kernel: Parameters<typeof expectedOf>[0]) {
  const device = await hardened();
  const messages = messagesOf(device);
  const program = new Program(device, kernel);
  const expected = await expectedOf(kernel);
  for (let i = 0; i < 2; i++) expect(await program.run()).toEqual(expected);
  const { dispatches, sums, diagnostics } = await kernelOf(device);
  expect({ dispatches, ...sums, diagnostics }).toEqual({
    dispatches: 2,
    checked: 2,
    repaired: 0,
    undecided: 0,
    refuted: 0,
    bound: expect.any(Number),
    diagnostics: [],
  });
  expect(messages).toEqual([]);
  return sums!;
}

describe("checks by algebra on a hardened device", () => {
  const kernels = productKernels.filter(({ standIn }) => standIn === undefined);

  it.each(sample(kernels, 1, 4))("run a kernel once, and check its results: $name", async (kernel) => {
    expect((await checkedTwice(kernel)).bound).toBeGreaterThan(0);
  });

  const product = tiledProduct(12, 8, 10);
  const adding = addedProduct(12, 8, 10);
  const image = { images: 1, size: 5, channels: 2, filters: 4, window: 3, stride: 1, padding: 1 };

  /**
   * Arms faults in the kernel that runs alone, one at a time. Returns the numbers of wrong results.
   */
  async function strikeAll(
    device: HardenedDevice,
    kernel: ProductKernel,
    every: number,
    workgroup: readonly [number, number, number] = [0, 0, 0],
  ): Promise<number[]> {
    const program = new Program(device, kernel);
    const expected = await program.run();
    expect(expected).toEqual(await expectedOf(kernel));
    const { belay } = device;
    const alone = belay.faultSites().find((each) => each.kernel === "main alone")!;
    const wrong: number[] = [];
    for (const [i, { id, kind }] of alone.sites.entries()) {
      if (i % every !== 0) continue;
      // The bits of a million, which no bound of these numbers reaches.
      const effect = kind === "branch" || kind === "statement" ? { xor: 1 } : { set: 0x49742400 };
      belay.arm({
        kernel: alone.kernel,
        site: id,
        effect,
        workgroup,
        localIndex: 2,
        replica: 0,
        fuel: 10_000,
      });
      const results = await program.run();
      wrong.push(results.filter((each, at) => each !== expected[at]).length);
    }
    return wrong;
  }

  /** Returns a cover for which a campaign found silent corruption in each value. */
  function everyValue(source: string) {
    const values = Array.from(source, (_, start) => ({
      span: { start, end: start + 1 },
      executions: 1,
      injected: 1,
      silent: 1,
    }));
    return { sdc: 1, faults: [{ source, entryPoint: "main", values }] };
  }

  it.each([
    ["a product under intra+lds", product, { redundancy: "intra+lds" }],
    [
      "a product under inter, in place of refused results",
      product,
      { redundancy: "inter", onFault: "throw" },
    ],
    ["a 3x3 convolution in passes", convolution(image), { pairing: "passes" }],
    ["a product with a code for memory", product, { memory: "secded32" }],
    ["a product with checksums", product, { memory: "checksum", onFault: "report" }],
    ["a product with chosen values computed twice", product, { cover: everyValue(product.source) }],
  ] as const)("computes faulty results again, before their next use: %s", async (_, kernel, policy) => {
    const device = await hardened({ ...policy, injectFaults: true });
    const messages = messagesOf(device);
    // The host decides where work may run again, and no code for memory watches the buffers.
    const isDeferred = !("onFault" in policy) && !("memory" in policy);
    const wrong = await strikeAll(device, kernel, 3);
    expect(wrong.filter((each) => each > 0)).toEqual([]);
    const { sums } = await kernelOf(device);
    expect(sums).toMatchObject({ checked: wrong.length + 1, undecided: 0, refuted: 0 });
    expect(sums!.repaired).toBeGreaterThan(wrong.length / 3);
    expect(messages).toHaveLength(sums!.repaired);
    for (const each of messages) expect(each).toMatch(/^kernel "main" computed wrong sums: weighted results/);
    expect((await device.belay.report()).replays).toBe(isDeferred ? sums!.repaired : 0);
  });

  it("releases no wrong results of workgroups past the matrix", async () => {
    const kernel = { ...plainProduct(16, 16, 10), grid: [4, 3, 1] as const };
    const device = await hardened({ injectFaults: true });
    const wrong = await strikeAll(device, kernel, 1, [3, 1, 0]);
    expect(wrong.filter((each) => each > 0)).toEqual([]);
    const { sums } = await kernelOf(device);
    expect(sums).toMatchObject({ checked: wrong.length + 1, undecided: 0, refuted: 0 });
    // A lane that misses its guard adds a result of another row.
    expect(sums!.repaired).toBeGreaterThan(0);
  });

  const policies = [{}, { onFault: "throw" }, { memory: "secded32" }, { memory: "checksum" }] as const;
  it.each(
    kernels.flatMap((kernel, row) =>
      sample(policies, row, 1).map((policy) => ({
        ...kernel,
        kernel,
        policy,
        asked: JSON.stringify(policy),
      })),
    ),
  )("releases no large error of a kernel under $asked: $name", async ({ kernel, policy }) => {
    const device = await hardened({ ...policy, injectFaults: true });
    const wrong = await strikeAll(device, kernel, 7);
    expect(wrong.filter((each) => each > 0)).toEqual([]);
    expect((await kernelOf(device)).sums).toMatchObject({
      checked: wrong.length + 1,
      undecided: 0,
      refuted: 0,
    });
  });

  it("checks the product of a matrix with itself", async () => {
    const device = await hardened();
    const square = tiledProduct(8, 8, 8);
    const program = new Program(device, square, "auto", (_, i) => small(0, i));
    const expected = await program.run();
    const [a] = program.buffers;
    const module = device.createShaderModule({ code: square.source });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const entries = [a!, a!, program.output].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const results = await program.run((pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...square.grid);
    });
    expect(results).toEqual(expected);
    expect((await kernelOf(device)).sums).toMatchObject({ checked: 2, repaired: 0, refuted: 0 });
  });

  it.each([
    ["a product", product],
    ["a 3x3 convolution", convolution(image)],
  ] as const)(
    "releases no result whose error is alone in its sum and above the bound: %s",
    async (_, kernel) => {
      const device = await hardened({ injectFaults: true });
      const numbers = (binding: number, i: number) => Math.sin(1 + i * 12.9898 + binding * 78.233);
      const program = new Program(device, kernel, "auto", numbers);
      const expected = await program.run();
      const { belay } = device;
      const alone = belay.faultSites().find((each) => each.kernel === "main alone")!;
      const silent: number[] = [];
      let wrong = 0;
      for (let i = 0; i < 60; i++) {
        const { id, kind } = alone.sites[(i * 7) % alone.sites.length]!;
        const effect = { xor: kind === "branch" || kind === "statement" ? 1 : 2 ** ((i * 13) % 32) };
        const where = { workgroup: [0, 0, 0], localIndex: i % 4, replica: 0, fuel: 10_000 } as const;
        belay.arm({ kernel: alone.kernel, site: id, effect, ...where });
        const results = await program.run();
        const errors = results.flatMap((each, at) => (each === expected[at] ? [] : [each - expected[at]!]));
        if (errors.length > 0) wrong++;
        if (errors.length === 1) silent.push(Math.abs(errors[0]!));
      }
      const { sums } = await kernelOf(device);
      expect(sums!.repaired).toBeGreaterThan(5);
      expect(wrong).toBeGreaterThan(0);
      expect(Math.max(0, ...silent)).toBeLessThanOrEqual(2 * sums!.bound);
    },
  );

  /** Returns a checker that runs checked dispatches in another way. */
  function changed(run: (checked: CheckedDispatch) => CheckedDispatch["run"]): SumsCheckStarter {
    const starter = atOnce as SumsCheckStarter;
    const beginChecks: SumsCheckStarter["beginChecks"] = (...args) => {
      const checking = starter.beginChecks(...args);
      const checkOf: SumsChecking["checkOf"] = (...given) => {
        const checked = checking.checkOf(...given);
        return checked && { ...checked, run: run(checked) };
      };
      return {
        checkOf,
        reportOn: (...given) => checking.reportOn(...given),
        finished: () => checking.finished(),
      };
    };
    return { ...starter, beginChecks };
  }

  it("check both products of an attention, with softmax under redundancy", async () => {
    const shape = { tokens: 10, heads: 4, groups: 2, width: 16 };
    const { tokens, heads } = shape;
    const count = heads * tokens * tokens;
    const softmax: ProductKernel = {
      name: "softmax",
      source: `const tokens = ${tokens}u;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${heads}u * tokens) { return; }
  // A token sees itself and those before it.
  let seen = id.x % tokens + 1u;
  var highest = a[id.x * tokens];
  for (var i = 1u; i < seen; i++) { highest = max(highest, a[id.x * tokens + i]); }
  var sum = 0.0;
  for (var i = 0u; i < seen; i++) { sum += exp(a[id.x * tokens + i] - highest); }
  for (var i = 0u; i < tokens; i++) {
    c[id.x * tokens + i] = select(0.0, exp(a[id.x * tokens + i] - highest) / sum, i < seen);
  }
}`,
      grid: [Math.ceil((heads * tokens) / 8), 1, 1],
      buffers: [{ numbers: count }, { numbers: count }],
    };
    /** Attends on a device: scores, weights, and then the mixed values. */
    const attend = async (device: GPUDevice) => {
      const [scores, weights, values] = [scoreProduct(shape), softmax, mixedValues(shape)].map(
        (kernel) => new Program(device, kernel),
      ) as [Program, Program, Program];
      const encoder = device.createCommandEncoder();
      for (const [program, next] of [
        [scores, weights],
        [weights, values],
      ] as const) {
        const pass = encoder.beginComputePass();
        program.encode(pass);
        pass.end();
        encoder.copyBufferToBuffer(program.output, 0, next.buffers[0]!, 0, program.output.size);
      }
      device.queue.submit([encoder.finish()]);
      return values.run();
    };
    const device = await hardened();
    const attended = await attend(device);
    const expected = await attend(await sharedDevice());
    for (const [i, each] of attended.entries()) expect(each).toBeCloseTo(expected[i]!, 5);
    const { kernels } = await device.belay.report();
    expect(kernels.map(({ sums, redundancy }) => [sums!.checked, redundancy])).toEqual([
      [1, expect.not.stringMatching("none")],
      [0, expect.not.stringMatching("none")],
      [1, expect.not.stringMatching("none")],
    ]);
  });

  it("has three native commands for the kernel, and three for each step of the check", async () => {
    const device = await hardened({ redundancy: "intra+lds" });
    const program = new Program(device, product);
    const entry = { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } } as const;
    const own = device.createBindGroupLayout({ entries: [entry] });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [own] });
    const double = doublingOf(device, [new Program(device, product).output], layout);
    // The kernel under redundancy leaves a bind group for its report, as its layout is explicit.
    const run = () =>
      program.run((pass) => {
        double(pass);
        program.encode(pass);
      });
    await run();
    const native = overlaidMembersOf((await sharedDevice()).createCommandEncoder().beginComputePass());
    const [pipelines, groups, dispatches] = [
      vi.spyOn(native, "setPipeline"),
      vi.spyOn(native, "setBindGroup"),
      vi.spyOn(native, "dispatchWorkgroups"),
    ];
    await run();
    expect(pipelines).toHaveBeenCalledTimes(1 + 3);
    expect(groups).toHaveBeenCalledTimes(2 + 3);
    expect(dispatches).toHaveBeenCalledTimes(1 + 3);
    const { kernels } = await device.belay.report();
    expect(kernels.map(({ sums }) => sums!.checked)).toEqual([2, 0]);
  });

  it("releases wrong results if nothing checks them", async () => {
    const blind = changed(() => (_, alone) => alone());
    const device = await hardened({ algebra: blind, injectFaults: true, onFault: "throw" });
    const wrong = await strikeAll(device, product, 3);
    expect(wrong.filter((each) => each > 0).length).toBeGreaterThan(wrong.length / 3);
  });

  /** A checker whose first comparison is missing. */
  const idle = changed((checked) => (commands, alone, again) => {
    let dispatches = 0;
    const withoutComparison = {
      noteAdded: (group: GPUBindGroup) => commands.noteAdded(group),
      setPipeline: (pipeline: GPUComputePipeline) => commands.setPipeline(pipeline),
      setBindGroup: (index: number, set: SetGroup) => commands.setBindGroup(index, set),
      onlyFirst: (encode: () => void) => commands.onlyFirst(encode),
      onlyLater: (...given: Parameters<PassCommands["onlyLater"]>) => commands.onlyLater(...given),
      dispatchWorkgroups: (grid: readonly number[]) => {
        dispatches++;
        if (dispatches !== 2) commands.dispatchWorkgroups(grid);
      },
    };
    const substitute = withoutComparison as PassCommands;
    checked.run(substitute, alone, (given) => again(given === substitute ? commands : given));
  });

  it("computes results again if the check did not compare them", async () => {
    const device = await hardened({ algebra: idle, injectFaults: true });
    const messages = messagesOf(device);
    const wrong = await strikeAll(device, product, 6);
    expect(wrong.filter((each) => each > 0)).toEqual([]);
    expect(messages).toHaveLength(wrong.length + 1);
    expect(messages[0]).toBe('the check of kernel "main" did not run, so a dispatch was computed again');
  });

  /** Encodes a copy to a part of a buffer, whose old contents would have to be saved. */
  const changePart = (encoder: GPUCommandEncoder, { output, buffers }: Program) =>
    encoder.copyBufferToBuffer(output, 0, buffers[0]!, 4, 4);

  it("refuses results in doubt once if their work cannot run again", async () => {
    const device = await hardened({ algebra: idle, snapshotBytes: 0 });
    const program = new Program(device, product);
    const expected = await expectedOf(product);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    program.encode(pass);
    pass.end();
    const later = device.createCommandEncoder();
    changePart(later, new Program(device, product));
    device.queue.submit([encoder.finish()]);
    device.queue.submit([later.finish()]);
    await expect(device.belay.verify()).rejects.toThrow(
      /^results could not be verified: the check by algebra of kernel "main" did not agree/,
    );
    for (let i = 0; i < 2; i++) expect(await program.run()).toEqual(expected);
    const { sums, diagnostics } = await kernelOf(device);
    expect(sums).toMatchObject({ checked: 0, repaired: 0, bound: 0 });
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "dispatches are not checked by algebra: its check did not agree, and its work could not run again",
    ]);
  });

  it("lets the device decide about commands that are known not to run again", async () => {
    const numbers = (binding: number, i: number) =>
      binding === 0 && i === 7 ? Number.NaN : small(binding, i);
    /** Computes a product, and returns the error about a second submission, too. */
    const submitTwice = async (device: GPUDevice) => {
      const program = new Program(device, product, "auto", numbers);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      program.encode(pass);
      pass.end();
      changePart(encoder, new Program(device, product));
      const commands = encoder.finish({ label: "both" });
      device.queue.submit([commands]);
      device.pushErrorScope("validation");
      device.queue.submit([commands]);
      const { size } = program.output;
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      const staging = device.createBuffer({ size, usage });
      const later = device.createCommandEncoder();
      later.copyBufferToBuffer(program.output, 0, staging, 0, size);
      device.queue.submit([later.finish()]);
      const error = await device.popErrorScope();
      await staging.mapAsync(GPUMapMode.READ);
      return { error: error!.message, results: [...new Float32Array(staging.getMappedRange())] };
    };
    const device = await hardened({ snapshotBytes: 0 });
    const messages = messagesOf(device);
    expect(await submitTwice(device)).toEqual(await submitTwice(await sharedDevice()));
    expect((await kernelOf(device)).sums).toMatchObject({ checked: 1, undecided: 1 });
    expect(messages).toEqual([]);
  });

  it("reports the bound of results that stay, and of no others", async () => {
    const device = await hardened({ injectFaults: true });
    const square = tiledProduct(16, 16, 16);
    const first = new Program(device, square, "auto", (binding, i) => Math.sin(1 + i + binding * 78));
    const second = new Program(device, { ...square, source: square.source.replace("fn main(", "fn other(") });
    const run = () => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      first.encode(pass);
      pass.end();
      encoder.copyBufferToBuffer(first.output, 0, second.buffers[0]!, 0, first.output.size);
      device.queue.submit([encoder.finish()]);
      return second.run();
    };
    const expected = await run();
    const boundsOf = async () => (await device.belay.report()).kernels.map(({ sums }) => sums!.bound);
    const [bound, other] = await boundsOf();
    const { kernel, sites } = device.belay.faultSites().find((each) => each.kernel === "main alone")!;
    const { id } = sites.findLast(({ kind }) => kind === "value")!;
    // The bits of 1e30.
    const fault = { kernel, site: id, effect: { set: 0x7149f2ca }, workgroup: [0, 0, 0] } as const;
    device.belay.arm({ ...fault, localIndex: 0, replica: 0 });
    expect(await run()).toEqual(expected);
    expect((await kernelOf(device)).sums).toMatchObject({ repaired: 1 });
    // Weights differ from execution to execution.
    for (const [i, before] of [bound, other].entries()) expect((await boundsOf())[i]).toBeCloseTo(before!, 2);
  });

  it.each([
    ["skips", atOnce, []],
    ["does not skip", idle, [expect.stringMatching(/^replicas of kernel "main" disagree/)]],
  ])("%s redundancy after a check", async (_, algebra, detections) => {
    const device = await hardened({ algebra, injectFaults: true, onFault: "report" });
    const program = new Program(device, product);
    await program.run();
    const found: string[] = [];
    device.belay.addEventListener("detection", ({ message }) => found.push(message));
    const again = device.belay.faultSites().find((each) => each.kernel === "main again")!;
    const { id } = again.sites.findLast(({ kind }) => kind === "value")!;
    const where = { workgroup: [0, 0, 0], localIndex: 1, replica: 1 } as const;
    device.belay.arm({ kernel: again.kernel, site: id, effect: { xor: 1 << 22 }, ...where });
    await program.run();
    expect(found).toEqual(detections);
    expect((await kernelOf(device)).detections).toBe(detections.length);
  });

  it("leaves a kernel to redundancy if redundancy and the check of its sums disagree", async () => {
    const large = tiledProduct(96, 160, 9);
    // No sampled workgroup has this result.
    const twice = "select(sum, 2.0 * sum, id.x == 50u && id.y == 13u);";
    const kernel = { ...large, source: large.source.replace("= sum;", `= ${twice}`) };
    const device = await hardened();
    const messages = messagesOf(device);
    const program = new Program(device, kernel);
    const expected = await expectedOf(kernel);
    expect(expected[13 * 160 + 50]).not.toBe((await expectedOf(large))[13 * 160 + 50]);
    for (let i = 0; i < 3; i++) expect(await program.run()).toEqual(expected);
    const { dispatches, detections, sums, diagnostics } = await kernelOf(device);
    expect({ dispatches, detections, ...sums }).toMatchObject({
      dispatches: 3,
      detections: 0,
      checked: 1,
      repaired: 0,
      refuted: 1,
    });
    expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual([
      [codeOf("sums-refuted"), "warning"],
    ]);
    expect(messages).toEqual([]);
  });

  describe("of a kernel that adds to its output", () => {
    /** Each invocation adds to two results, of which replicas of workgroups have shadows. */
    const rows = {
      ...adding,
      source: `${adding.source.split("var<workgroup>")[0]!}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  for (var y = id.y; y < m; y += 8u) {
    var sum = 0.0;
    for (var i = 0u; i < k; i++) { sum += a[y * k + i] * b[i * n + id.x]; }
    c[y * n + id.x] += sum;
  }
}`,
      grid: [1, 1, 1],
    } as const;
    const thrice = (program: Program) => () =>
      program.run((pass) => {
        for (let i = 0; i < 3; i++) program.encode(pass);
      });

    it.each([
      ["auto", adding, {}],
      ["inter", adding, { redundancy: "inter" }],
      ["inter, with shadows", rows, { redundancy: "inter" }],
      ["inter, in passes", rows, { redundancy: "inter", pairing: "passes" }],
    ] as const)("compute the work again from its old contents under %s", async (_, kernel, policy) => {
      const device = await hardened({ ...policy, injectFaults: true });
      const messages = messagesOf(device);
      const run = thrice(new Program(device, kernel));
      const expected = await thrice(new Program(await sharedDevice(), kernel))();
      const { belay } = device;
      expect(await run()).toEqual(expected);
      const alone = belay.faultSites().find((each) => each.kernel === "main alone")!;
      // Each site at which the sum, the old result or the store is wrong, and some others.
      const ofResult = alone.sites.filter(({ span }) =>
        /^(sum|c\[|1\.0)|\+= sum$/.test(kernel.source.slice(span.start, span.end)),
      );
      expect(ofResult.length).toBeGreaterThan(4);
      const struck = alone.sites.filter((each, i) => i % 5 === 0 || ofResult.includes(each));
      for (const { id, kind } of struck) {
        const effect = kind === "branch" || kind === "statement" ? { xor: 1 } : { set: 0x49742400 };
        const where = { workgroup: [0, 0, 0], localIndex: 2, replica: 0, fuel: 10_000 } as const;
        belay.arm({ kernel: alone.kernel, site: id, effect, ...where });
        expect(await run()).toEqual(expected);
      }
      const { sums } = await kernelOf(device);
      expect(sums).toMatchObject({ undecided: 0, refuted: 0 });
      expect(sums!.repaired).toBeGreaterThan(alone.sites.length / 20);
      expect((await belay.report()).replays).toBe(sums!.repaired);
      expect(messages).toHaveLength(sums!.repaired);
    });

    it.each([
      ["one store", adding],
      ["two stores and shadows", rows],
    ] as const)("fit between kernels that change the same output, with %s", async (_, kernel) => {
      const device = await hardened({ redundancy: "inter", injectFaults: true });
      const messages = messagesOf(device);
      const runOn = (on: GPUDevice) => {
        const program = new Program(on, kernel);
        const add = (pass: GPUComputePassEncoder) => program.encode(pass);
        const double = doublingOf(on, [program.output]);
        const steps = [add, double, double, add, add, double];
        return () =>
          program.run((pass) => {
            for (const encode of steps) encode(pass);
          });
      };
      const expected = await runOn(await sharedDevice())();
      const run = runOn(device);
      expect(await run()).toEqual(expected);
      expect(messages).toEqual([]);
      const { belay } = device;
      const alone = belay.faultSites().find((each) => each.kernel === "main alone")!;
      const { id } = alone.sites.findLast(({ kind }) => kind === "value")!;
      const effect = { set: 0x49742400 };
      belay.arm({
        kernel: alone.kernel,
        site: id,
        effect,
        workgroup: [0, 0, 0],
        localIndex: 2,
        replica: 0,
      });
      expect(await run()).toEqual(expected);
      const main = (await belay.report()).kernels.find(({ entryPoint }) => entryPoint === "main")!;
      expect(main.sums).toMatchObject({ repaired: 1, refuted: 0, undecided: 0 });
    });

    it.each([{ onFault: "throw" }, { retries: 0 }, { memory: "secded32" }] as const)(
      "are not made under %o, where the device decides",
      async (policy) => {
        const device = await hardened(policy);
        await new Program(device, adding).run();
        const { sums, diagnostics } = await kernelOf(device);
        expect(sums!.checked).toBe(0);
        expect(diagnostics.map(({ message }) => message)).toEqual([
          "dispatches are not checked by algebra: it may load from the buffer to which it stores, and the device decides",
        ]);
      },
    );

    describe("whose old contents have no room", () => {
      /** Runs a kernel on old contents that the host writes, and returns all results. */
      const runOn = async (device: GPUDevice, kernel: ProductKernel, numbers = small, times = 1) => {
        const program = new Program(device, kernel, "auto", numbers);
        const { MAP_READ, COPY_DST } = GPUBufferUsage;
        const { size } = program.output;
        const staging = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
        const all: number[][] = [];
        for (let i = 0; i < times; i++) {
          const old = Float32Array.from({ length: size / 4 }, (_, j) => small(5, j));
          device.queue.writeBuffer(program.output, 0, old);
          const encoder = device.createCommandEncoder();
          const pass = encoder.beginComputePass();
          program.encode(pass);
          pass.end();
          encoder.copyBufferToBuffer(program.output, 0, staging, 0, size);
          device.queue.submit([encoder.finish()]);
          await staging.mapAsync(GPUMapMode.READ);
          all.push([...new Float32Array(staging.getMappedRange())]);
          staging.unmap();
        }
        return all;
      };
      const withNumber = (special: number) => (binding: number, i: number) =>
        binding === 0 && i === 7 ? special : small(binding, i);
      const numbers = "its numbers are or may be not finite too often";
      const large = addedProduct(96, 160, 9);
      const twice = "select(sum, 2.0 * sum, id.x == 50u && id.y == 13u);";
      const other = { ...large, source: large.source.replace("] + sum;", `] + ${twice}`) };

      it.each([
        ["NaN", adding, withNumber(Number.NaN), { checked: 9, undecided: 9 }, numbers],
        ["Infinity", adding, withNumber(Number.NEGATIVE_INFINITY), { checked: 9, undecided: 9 }, numbers],
        [
          "whole numbers",
          adding,
          small,
          { checked: 9, undecided: 0 },
          "it adds to its output, whose old contents have no room in snapshotBytes too often",
        ],
        ["a hypothesis that is wrong", other, small, { checked: 1, refuted: 1 }, undefined],
      ] as const)(
        "get the results of redundancy, and soon no check: %s",
        async (_, kernel, given, sums, why) => {
          const device = await hardened({ snapshotBytes: 0 });
          const messages = messagesOf(device);
          const [expected] = await runOn(await sharedDevice(), kernel, given);
          for (const each of await runOn(device, kernel, given, 11)) expect(each).toEqual(expected);
          const report = await kernelOf(device);
          expect(report.sums).toMatchObject({ repaired: 0, ...sums });
          if (why !== undefined)
            expect(report.diagnostics.map(({ message }) => message)).toEqual([
              `dispatches are not checked by algebra: ${why}`,
            ]);
          expect(messages).toEqual([]);
        },
      );
    });

    it("leave it to redundancy where the two disagree", async () => {
      const large = addedProduct(96, 160, 9);
      const twice = "select(sum, 2.0 * sum, id.x == 50u && id.y == 13u);";
      const other = { ...large, source: large.source.replace("] + sum;", `] + ${twice}`) };
      const device = await hardened();
      const program = new Program(device, other);
      const expected = await expectedOf(other);
      for (let i = 0; i < 3; i++) expect(await program.run()).toEqual(expected);
      expect((await kernelOf(device)).sums).toMatchObject({ checked: 1, repaired: 0, refuted: 1 });
    });
  });

  /** A result that needs a number whose address has no pattern. */
  const scattered = "max(sum, -100.0) + a[(id.x * id.x) % 13u]";

  describe("of activated products", () => {
    /** Returns a kernel that stores a function of its sums. */
    function activated(kernel: ProductKernel, value: string, functions = ""): ProductKernel {
      const source = kernel.source.replace("= sum;", `= ${value};`);
      return { ...kernel, name: value, source: `${source}\n${functions}` };
    }

    const gelu = "0.5 * sum * (1.0 + tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum)))";
    const leaky = "fn leaky(x: f32) -> f32 { let scaled = 0.01 * x; return select(scaled, x, x > 0.0); }";
    /** Returns a product whose results also depend on a buffer with a number for each result. */
    function besides(kernel: ProductKernel, value: string): ProductKernel {
      const { source, buffers, ...others } = activated(kernel, value);
      const [count] = buffers.slice(-1);
      const declaration = `@group(0) @binding(${buffers.length}) var<storage, read> beside: array<f32>;\n`;
      return { ...others, source: declaration + source, buffers: [...buffers, count!] };
    }

    const swish = "fn swish(x: f32) -> f32 { let s = 1.0 / (1.0 + exp(-x)); return x * s; }";
    const residual = besides(product, "max(sum, 0.0) + beside[id.y * n + id.x]");
    const prelu = besides(product, "select(beside[id.x] * sum, sum, sum > 0.0)");
    const biased = batchedProduct(3, 9, 5, 10);
    const batches = { ...biased, source: biased.source.replace("= sum + 0.5 * bias[id.x];", "= sum;") };
    const relu6 =
      "fn relu6(x: f32) -> f32 { if (x < 0.0) { return 0.0; } if (x > 6.0) { return 6.0; } return x; }";
    const sloped =
      "fn sloped(x: f32, slope: f32) -> f32 { var y = x; if (x < 0.0) { y *= slope; } return y; }";
    const branching = activated(product, "relu6(sum)", relu6);
    const withSlope = activated(product, "sloped(sum, a[0])", sloped);
    const convolved = activated(convolution(image), "max(sum, 0.0)");
    /** Returns a kernel with other statements in place of its store. `at` is the result's place. */
    const storing = (kernel: ProductKernel, name: string, statements: string): ProductKernel => ({
      ...kernel,
      name,
      source: kernel.source.replace("c[id.y * n + id.x] = sum;", `let at = id.y * n + id.x; ${statements}`),
    });
    const elu = storing(
      product,
      "elu, with a store on each path",
      "if (sum >= 0.0) { c[at] = sum; } else { c[at] = exp(sum) - 1.0; }",
    );
    const lateSlope = storing(
      besides(product, "sum"),
      "a slope that is loaded on one path",
      "if (sum > 0.0) { c[at] = sum; } else { c[at] = sum * beside[id.x]; }",
    );
    const chain = storing(
      product,
      "three paths with constants",
      "if (sum > 6.0) { c[at] = 6.0; } else if (sum > 0.0) { c[at] = sum; } else { c[at] = 0.0; }",
    );
    const eluCall =
      "fn elu(x: f32) -> f32 { if (x >= 0.0) { return x; } return exp(x) - 1.0; } fn same(x: f32) -> f32 { return x; }";
    const activations = [
      branching,
      elu,
      lateSlope,
      chain,
      storing(
        product,
        "three paths with values of their own",
        "if (sum > 2.0) { c[at] = 0.5 * max(sum, 3.0); } else if (sum > 1.0) { c[at] = 3.0 * sum; } else { c[at] = max(sum, -2.0) + 1.0; }",
      ),
      storing(
        besides(product, "sum"),
        "a slope on one path, then a residual",
        "var y = sum; if (y < 0.0) { y *= beside[id.x]; } c[at] = max(y, -2.0) + beside[at];",
      ),
      activated(product, "same(elu(sum))", eluCall),
      activated(product, "sum % 3.0"),
      besides(product, "sum * beside[0]"),
      besides(product, "max(sum * beside[id.x], 0.0)"),
      withSlope,
      activated(product, "select(0.0, sum, sum > -3.0 && sum < 3.0)"),
      activated(product, "select(0.0, sum, (sum > -3.0) & !(sum > 3.0))"),
      activated(product, "max(sum, 0.0)"),
      activated(product, "clamp(sum, -6.0, 6.0)"),
      activated(product, "sum / (1.0 + exp(-sum))"),
      activated(product, gelu),
      activated(product, "leaky(sum)", leaky),
      activated(product, "round(0.5 * sum)"),
      convolved,
      activated(plainProduct(19, 21, 10), "select(sum, 0.0, !(sum > 0.0))"),
      activated(product, "max(2.5 * sum + 0.5, 0.0) * 3.0"),
      activated(product, "sum + 1.0"),
      activated(product, "mix(a[0], max(sum, 0.0), 0.3)"),
      activated(product, "swish(sum)", swish),
      activated(product, "select(exp(sum) - 1.0, sum, sum > 0.0)"),
      activated(product, "smoothstep(-3.0, 3.0, sum)"),
      activated(product, "quantizeToF16(max(sum, 0.0))"),
      activated(product, "quantizeToF16(0.1 * sum)"),
      activated(product, "a[id.x] - quantizeToF16(0.1 * sum)"),
      activated(product, "f32(i32(0.25 * sum))"),
      residual,
      prelu,
      besides(product, "fma(beside[id.x], max(sum, 0.0), beside[id.y] + b[id.x])"),
      besides(convolution(image), "max(sum, 0.0) + beside[id.x]"),
      activated(batches, "max(sum, 0.0) + bias[id.x]"),
    ];

    /** A product whose invocations store two results, each after a sum of its own. */
    const twoStores: ProductKernel = {
      ...product,
      name: "two stores",
      grid: [1, 1, 1],
      source: `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8, 8) fn main(@builtin(local_invocation_id) id: vec3u) {
  if (id.y >= 6u) { return; }
  var upper = 0.0;
  var lower = 0.0;
  for (var i = 0u; i < 10u; i++) {
    upper += a[id.y * 10u + i] * b[i * 8u + id.x];
    lower += a[(id.y + 6u) * 10u + i] * b[i * 8u + id.x];
  }
  c[id.y * 8u + id.x] = max(upper, 0.0);
  c[(id.y + 6u) * 8u + id.x] = max(lower, 0.0);
}`,
    };

    /** A product of vectors of four, whose components are stored singly. */
    const components: ProductKernel = {
      name: "components of a vector",
      grid: [2, 3, 1],
      buffers: [{ numbers: 9 * 10 }, { numbers: 10 * 20 }, { numbers: 9 * 20 }],
      source: `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(4, 4) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= 5u || id.y >= 9u) { return; }
  var sums = vec4f();
  for (var i = 0u; i < 10u; i++) { sums += a[id.y * 10u + i] * b[i * 5u + id.x]; }
  let results = max(sums, vec4f(0.0)) * 0.5;
  let at = id.y * 20u + 4u * id.x;
  c[at] = results.x;
  c[at + 1u] = results[1];
  for (var i = 2u; i < 4u; i++) { c[at + i] = results[i]; }
}`,
    };

    it.each([...activations, twoStores, components])(
      "are made of the sums and of their function: $name",
      async (kernel) => void (await checkedTwice(kernel)),
    );

    it.each([
      ["under inter", branching, { redundancy: "inter", onFault: "throw" }],
      ["in passes", withSlope, { pairing: "passes" }],
      ["with a code for memory", elu, { memory: "secded32" }],
      ["of a convolution", convolved, {}],
      ["with two stores of results", twoStores, { redundancy: "intra-lds" }],
      ["with a residual", residual, {}],
      ["with a slope from a buffer", prelu, { onFault: "throw" }],
      ["in components of a vector", components, {}],
      ["with branches", branching, {}],
      ["with three paths", chain, {}],
      ["with a slope that is loaded on one path", lateSlope, {}],
      ["with a store on each path", elu, {}],
    ] as const)("compute faulty results again: %s", async (_, kernel, policy) => {
      const device = await hardened({ ...policy, injectFaults: true });
      const wrong = await strikeAll(device, kernel, 3);
      expect(wrong.filter((each) => each > 0)).toEqual([]);
      const { sums } = await kernelOf(device);
      expect(sums).toMatchObject({ checked: wrong.length + 1, undecided: 0, refuted: 0 });
      expect(sums!.repaired).toBeGreaterThan(wrong.length / 3);
    });

    /** Returns a hardened device whose kernels have another text in one place. */
    async function altered(
      before: string | RegExp,
      after: string,
      policy: Policy = {},
    ): Promise<HardenedDevice> {
      const native = await newDevice();
      const create = native.createShaderModule.bind(native);
      native.createShaderModule = ({ code, ...others }) =>
        create({ ...others, code: code.replace(before, after) });
      return harden(native, { algebra: atOnce, ...policy });
    }

    const functions = `fn silu(x: f32) -> f32 {
      let power = exp(-x);
      let divisor = 1.0 + power;
      return x / divisor;
    }`;
    const silu = activated(product, "silu(sum)", functions);

    /** Strikes each value between sums and results. Returns the numbers of wrong results. */
    async function strikeFunction(device: HardenedDevice): Promise<number[]> {
      const program = new Program(device, silu);
      const expected = await program.run();
      const alone = device.belay.faultSites().find((each) => each.kernel === "main alone")!;
      const isIn = (text: string, { start, end }: { readonly start: number; readonly end: number }) => {
        const first = silu.source.indexOf(text);
        return start >= first && end <= first + text.length;
      };
      const own = alone.sites.filter(
        ({ kind, span }) => kind === "value" && (isIn(functions, span) || isIn("silu(sum)", span)),
      );
      const wrong: number[] = [];
      for (const { id } of own) {
        const effect = { set: 0x49742400 };
        const where = { workgroup: [0, 0, 0], localIndex: 2, replica: 0 } as const;
        device.belay.arm({ kernel: alone.kernel, site: id, effect, ...where });
        const results = await program.run();
        wrong.push(results.filter((each, at) => each !== expected[at]).length);
      }
      return wrong;
    }

    const compared = "word == stored";

    it("find faults in the function", async () => {
      const device = await hardened({ injectFaults: true });
      const wrong = await strikeFunction(device);
      expect(wrong.length).toBeGreaterThan(2);
      expect(wrong.filter((each) => each > 0)).toEqual([]);
      expect((await kernelOf(device)).sums).toMatchObject({ repaired: wrong.length, refuted: 0 });
    });

    it("release wrong results if nothing compares the function", async () => {
      const device = await altered(compared, `true || ${compared}`, { injectFaults: true });
      const wrong = await strikeFunction(device);
      expect(wrong.filter((each) => each > 0).length).toBeGreaterThan(wrong.length / 2);
    });

    it.each([
      ["the sums are not stored", /\bsums\[\w+\] = \w+;/, "_ = &sums;"],
      ["the check has another function", "return t3;", "return 2.0 * t3;"],
    ])("are refuted, and results are right, where %s", async (_, before, after) => {
      const device = await altered(before, after);
      const messages = messagesOf(device);
      const program = new Program(device, silu);
      const expected = await expectedOf(silu);
      for (let i = 0; i < 3; i++) expect(await program.run()).toEqual(expected);
      expect((await kernelOf(device)).sums).toMatchObject({ checked: 1, repaired: 0, refuted: 1 });
      expect(messages).toEqual([]);
    });

    const isOdd = "id.x == 50u && id.y == 13u";
    it.each([
      ["another function", `select(max(sum, 0.0), 2.0 * sum, ${isOdd})`, "true"],
      ["other sums", `max(select(sum, 2.0 * sum, ${isOdd}), 0.0)`, "true"],
      ["no result", "max(sum, 0.0)", `!(${isOdd})`],
      ["another number beside its sum", `max(sum, 0.0) + a[select(id.y, 7u, ${isOdd})]`, "true"],
    ])("leave it to redundancy where a workgroup that was not sampled has %s", async (_, value, stores) => {
      const other = activated(tiledProduct(96, 160, 9), value);
      const source = other.source.replace("id.y < m) { c[", `id.y < m && ${stores}) { c[`);
      for (const policy of [{}, { onFault: "throw" }] as const) {
        const device = await hardened(policy);
        const messages = messagesOf(device);
        const program = new Program(device, { ...other, source });
        const expected = await expectedOf({ ...other, source });
        for (let i = 0; i < 3; i++) expect(await program.run()).toEqual(expected);
        expect((await kernelOf(device)).sums).toMatchObject({ checked: 1, repaired: 0, refuted: 1 });
        expect(messages).toEqual([]);
      }
    });

    const skip = "fn skip(x: f32, y: f32) -> f32 { if (y == 0.0) { return 0.0; } return max(x, 0.0); }";
    const halved = "fn halved(x: f32) -> f32 { var y = x; while (y > 1.0) { y *= 0.5; } return y; }";
    const limits = Array.from({ length: 8 }, (_, i) => `if (x < ${i}.5) { return ${i}.0; }`);
    const steps = `fn steps(x: f32) -> f32 { ${limits.join(" ")} return x; }`;
    const dependent = "its control or its addresses depend on the data";
    it.each([
      ["branches on a factor", activated(product, "skip(sum, a[0])", skip), dependent],
      ["repeats its activation until it is small", activated(product, "halved(sum)", halved), dependent],
      ["branches in many ways", activated(product, "steps(sum)", steps), "its activation has too many paths"],
      [
        "adds numbers without a pattern after its activation",
        activated(product, scattered),
        "the numbers beside its sums have no pattern",
      ],
      [
        "adds many numbers after its activation",
        activated(product, "max(sum, 0.0) + a[0] + a[1] + a[2] + a[3] + a[4]"),
        "its results are no sums of products, or too long ones",
      ],
      [
        "loads from more buffers than a check can have",
        besides(batches, "max(sum + bias[id.x], 0.0) + beside[id.x]"),
        "these sums cannot be checked: 9 storage buffers are needed",
      ],
      [
        "loads from an address that depends on its sum",
        activated(product, "max(sum, 0.0) + a[u32(max(sum, 0.0))]"),
        dependent,
      ],
    ])("are not made of a kernel that %s", async (_, kernel, reason) => {
      const device = await hardened();
      expect(await new Program(device, kernel).run()).toEqual(await expectedOf(kernel));
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums!.checked).toBe(0);
      expect(diagnostics.map(({ message }) => message)).toEqual([
        `dispatches are not checked by algebra: ${reason}`,
      ]);
    });

    it("are not made where the search has a defect, which the reason names", async () => {
      vi.spyOn(Activated.prototype, "function").mockImplementation(() => {
        throw new TypeError("x is undefined");
      });
      const device = await hardened();
      expect(await new Program(device, silu).run()).toEqual(await expectedOf(silu));
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums!.checked).toBe(0);
      expect(diagnostics.map(({ message }) => message)).toEqual([
        "dispatches are not checked by algebra: a defect of Belay ended the search, please report it: x is undefined",
      ]);
    });

    /** Returns an explicit layout with the buffers of a product and other ones. */
    function layoutWith(device: GPUDevice, others: number): GPUPipelineLayout {
      const entries = Array.from({ length: 3 + others }, (_, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: binding === 2 ? "storage" : "read-only-storage" } as const,
      }));
      return device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
    }

    it("fit pipelines with explicit layouts", async () => {
      const device = await hardened();
      const program = new Program(device, silu, layoutWith(device, 0));
      const expected = await expectedOf(silu);
      for (let i = 0; i < 2; i++) expect(await program.run()).toEqual(expected);
      expect((await kernelOf(device)).sums).toMatchObject({ checked: 2, repaired: 0, refuted: 0 });
    });

    it("are not made where the device has no memory for the sums", async () => {
      const native = await newDevice();
      const create = native.createBuffer.bind(native);
      const { maxBufferSize } = native.limits;
      native.createBuffer = (given) =>
        create(given.label === "belay: sums" ? { ...given, size: maxBufferSize + 4 } : given);
      const device = harden(native, { algebra: algebra({ leastMultiplications: 0 }) });
      const program = new Program(device, silu);
      const expected = await expectedOf(silu);
      for (let i = 0; i < 3; i++) {
        expect(await program.run()).toEqual(expected);
        const { sums, diagnostics } = await kernelOf(device);
        expect(sums!.checked).toBe(0);
        expect(diagnostics.map(({ code }) => code)).toEqual([codeOf("not-checked-by-algebra")]);
      }
    });

    it("are not made where a layout has no room for the sums", async () => {
      const device = await hardened({ strict: true });
      const unprotected = vi.fn();
      device.belay.addEventListener("unprotected", unprotected);
      // One storage buffer is left for the report.
      const others = device.limits.maxStorageBuffersPerShaderStage - 4;
      const unused = Array.from({ length: others }, () => ({ numbers: 1 }));
      const kernel = { ...silu, buffers: [...silu.buffers, ...unused] };
      const program = new Program(device, kernel, layoutWith(device, others));
      expect(await program.run()).toEqual(await expectedOf(silu));
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums!.checked).toBe(0);
      expect(diagnostics.map(({ message }) => message)).toEqual([
        "dispatches are not checked by algebra: its pipeline has no room for a buffer of the sums before its activation",
      ]);
      expect(unprotected).not.toHaveBeenCalled();
    });
  });

  const longer = { ...product, buffers: [...product.buffers.slice(0, 2), { numbers: 12 * 8 + 3 }] };

  it.each([
    ["leaves room in its output", longer, 'its results fill 384 of the 396 bytes of "c"'],
    [
      "adds a number and subtracts it again",
      {
        ...product,
        source: `${product.source.replace("= sum;", "= passing(sum, 1e10 * a[0]);")}
fn passing(sum: f32, x: f32) -> f32 { return (sum + x) - x; }`,
      },
      "numbers cancel in it that its results do not have",
    ],
    [
      "has two outputs",
      {
        ...product,
        source: product.source
          .replace("fn main", "fn main")
          .replace("var<storage, read> b", "var<storage, read_write> b")
          .replace("= sum;", "= sum; if (sum > 1e30) { b[0] = 0.0; }"),
      },
      "it does not store to exactly one buffer",
    ],
    [
      "stores other functions of its sums in some lanes",
      {
        ...product,
        source: product.source.replace("= sum;", "= select(max(sum, 0.0), exp(sum), id.x == 0u);"),
      },
      "its results are several functions of sums",
    ],
  ])("are not made of a kernel that %s", async (_, kernel, reason) => {
    const device = await hardened();
    await new Program(device, kernel).run();
    const { sums, diagnostics } = await kernelOf(device);
    expect(sums!.checked).toBe(0);
    expect(diagnostics.map(({ code, message }) => [code, message])).toEqual([
      [codeOf("not-checked-by-algebra"), `dispatches are not checked by algebra: ${reason}`],
    ]);
  });

  describe("by their cost", () => {
    const checker = (least: number) => algebra({ leastMultiplications: least, searchesAtOnce: true });
    const large = tiledProduct(32, 32, 32);
    const matrixTimesVector = productKernels.find(({ name }) => name === "matrix times vector")!;

    it.each([
      ["are made of large dispatches", large, 1000, undefined],
      [
        "are not made of small dispatches",
        large,
        1e6,
        /: it has 32768 multiplications, and a check pays from \d+ on$/,
      ],
      [
        "are not made where redundancy costs less",
        matrixTimesVector,
        1,
        /: redundancy is predicted to cost less$/,
      ],
    ])("%s", async (_, kernel, least, reason) => {
      const device = await hardened({ algebra: checker(least) });
      await new Program(device, kernel).run();
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums!.checked).toBe(reason ? 0 : 1);
      expect(diagnostics.map(({ severity }) => severity)).toEqual(reason ? ["info"] : []);
      if (reason) expect(diagnostics[0]!.message).toMatch(reason);
    });

    it("are made of all dispatches with sums if the policy asks for them", async () => {
      const asking = { algebra: checker(1e6), redundancy: "algebra" } as const;
      const device = await hardened(asking);
      await new Program(device, product).run();
      expect((await kernelOf(device)).sums!.checked).toBe(1);
      const only = await hardened({
        ...asking,
        redundancy: "auto",
        kernels: { main: { redundancy: "algebra" } },
      });
      await new Program(only, product).run();
      expect((await kernelOf(only)).sums!.checked).toBe(1);
    });

    it("are replaced by redundancy in kernels without sums, with a warning if the policy asks", async () => {
      const device = await hardened({ redundancy: "algebra", strict: true });
      const kernel = { ...product, source: product.source.replace("= sum;", `= ${scattered};`) };
      await new Program(device, kernel).run();
      const { redundancy, sums, diagnostics } = await kernelOf(device);
      expect([redundancy, sums!.checked]).toEqual(["intra+lds", 0]);
      expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual([
        [codeOf("not-checked-by-algebra"), "warning"],
      ]);
    });
  });

  it.each([
    ["a product", product],
    ["a product in place", adding],
    [
      "a product with an activation",
      { ...product, source: product.source.replace("= sum;", "= max(sum, 0.0);") },
    ],
  ])(
    "decide nothing about numbers that are not finite, which redundancy computes then: %s",
    async (_, kernel) => {
      const device = await hardened();
      const messages = messagesOf(device);
      const numbers = (binding: number, i: number) =>
        binding === 0 && i === 7 ? Number.POSITIVE_INFINITY : small(binding, i);
      const program = new Program(device, kernel, "auto", numbers);
      const expected = await expectedOf(kernel, numbers);
      for (let i = 0; i < 12; i++) expect(await program.run()).toEqual(expected);
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums).toMatchObject({ checked: 9, undecided: 9, repaired: 0, refuted: 0 });
      expect(diagnostics.map(({ code }) => code)).toEqual([codeOf("not-checked-by-algebra")]);
      expect(messages).toEqual([]);
    },
  );

  it("begin when sums were found, and use redundancy until then", async () => {
    const device = await hardened({ algebra: algebra({ leastMultiplications: 0 }) });
    const program = new Program(device, product);
    const expected = await expectedOf(product);
    expect(await program.run()).toEqual(expected);
    expect((await kernelOf(device)).sums!.checked).toBe(0);
    expect(await program.run()).toEqual(expected);
    expect((await kernelOf(device)).sums!.checked).toBe(1);
  });

  it("fit pipelines with explicit layouts, and several dispatches of a pass", async () => {
    const device = await hardened({ injectFaults: true });
    const entries = (["read-only-storage", "read-only-storage", "storage"] as const).map((type, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type },
    }));
    const layout = device.createPipelineLayout({
      bindGroupLayouts: [device.createBindGroupLayout({ entries })],
    });
    const program = new Program(device, product, layout);
    const other = new Program(device, convolution(image));
    const expected = await expectedOf(product);
    expect(await program.run((pass) => [program, other, program].map((each) => each.encode(pass)))).toEqual(
      expected,
    );
    const { kernels } = await device.belay.report();
    expect(kernels.map(({ dispatches, sums }) => [dispatches, sums!.checked])).toEqual([
      [2, 2],
      [1, 1],
    ]);
  });

  it("use a factor as it is when the product begins, whatever writes it before and after", async () => {
    const device = await hardened({ injectFaults: true });
    const messages = messagesOf(device);
    const program = new Program(device, product);
    const double = doublingOf(device, program.buffers.slice(0, 2));
    const expected = await expectedOf(product);
    const results = await program.run((pass) => {
      program.encode(pass);
      double(pass);
      program.encode(pass);
      double(pass);
    });
    expect(results).toEqual(expected.map((each) => 4 * each));
    const { kernels, replays } = await device.belay.report();
    expect(kernels.find(({ entryPoint }) => entryPoint === "main")!.sums).toMatchObject({
      checked: 2,
      repaired: 0,
      refuted: 0,
    });
    expect(replays).toBe(0);
    expect(messages).toEqual([]);
  });

  it("use the contents of uniform buffers, whose later changes only cost a run", async () => {
    const kernel = plainProduct(8, 8, 8);
    const device = await hardened();
    const messages = messagesOf(device);
    const program = new Program(device, kernel);
    const expected = await program.run();
    const shape = program.buffers[0]!;
    const late = await program.run((pass) => {
      program.encode(pass);
      // Half of the terms, written after the dispatch was encoded.
      device.queue.writeBuffer(shape, 8, Uint32Array.of(4));
    });
    expect(late).not.toEqual(expected);
    device.queue.writeBuffer(shape, 8, Uint32Array.of(8));
    expect(await program.run()).toEqual(expected);
    expect((await kernelOf(device)).sums).toMatchObject({ checked: 2, repaired: 0, refuted: 1 });
    expect(messages).toEqual([]);
  });

  it.each(["sum + added.x", "max(sum, 0.0) + added.x", "max(sum * added.x, 0.0)"])(
    "leave kernels to redundancy that load unknown numbers of a uniform buffer: %s",
    async (result) => {
      const source = product.source
        .replace("@compute", "@group(0) @binding(3) var<uniform> added: vec4f;\n@compute")
        .replace("= sum;", `= ${result};`);
      const words = [...new Uint32Array(Float32Array.of(3, 3, 3, 3).buffer)];
      const kernel = { ...product, source, buffers: [...product.buffers, { words }] };
      const device = await hardened();
      const messages = messagesOf(device);
      const program = new Program(device, kernel);
      const expected = await program.run();
      expect((await kernelOf(device)).sums?.checked).toBe(1);
      // The same numbers, which the host does not know any more.
      const encoder = device.createCommandEncoder();
      const from = device.createBuffer({
        size: 16,
        usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      });
      device.queue.writeBuffer(from, 0, Uint32Array.from(words));
      encoder.copyBufferToBuffer(from, program.buffers[3]!);
      device.queue.submit([encoder.finish()]);
      for (let i = 0; i < 2; i++) {
        expect(await program.run()).toEqual(expected);
        await device.belay.report();
      }
      const { sums, diagnostics } = await kernelOf(device);
      expect(sums).toMatchObject({ checked: 1, refuted: 0 });
      expect(diagnostics.map(({ message }) => message).join()).toContain('the uniform buffer "added"');
      expect(messages).toEqual([]);
    },
  );

  it("check dispatches with an empty list of dynamic offsets", async () => {
    const device = await hardened();
    const program = new Program(device, product);
    const expected = await program.run();
    const offsets = [[], [[]], [new Uint32Array(4), 2, 0]];
    for (const each of offsets)
      expect(await program.run((pass) => program.encode(pass, each))).toEqual(expected);
    expect((await kernelOf(device)).sums?.checked).toBe(1 + offsets.length);
  });

  it("run again with the work of another kernel in which a fault struck", async () => {
    const device = await hardened({ injectFaults: true, retries: 1 });
    const messages = messagesOf(device);
    const program = new Program(device, product);
    const source = product.source.replace("fn main(", "fn other(").replace("= sum;", `= ${scattered};`);
    const other = new Program(device, { ...product, source });
    const both = (pass: GPUComputePassEncoder) => [program, other].map((each) => each.encode(pass));
    const expected = await program.run(both);
    const struck = device.belay.faultSites().find(({ kernel }) => kernel === "other")!;
    const site = struck.sites.find(
      ({ kind, span }) => kind === "value" && source.startsWith("max(", span.start),
    )!;
    device.belay.arm({
      kernel: "other",
      site: site.id,
      effect: { xor: 1 << 22 },
      workgroup: [0, 0, 0],
      localIndex: 1,
      replica: 1,
    });
    expect(await program.run(both)).toEqual(expected);
    const { replays, kernels } = await device.belay.report();
    expect(replays).toBe(1);
    // A dispatch that runs again is counted once.
    expect(kernels[0]!.sums).toMatchObject({ checked: 2, repaired: 0, refuted: 0 });
    expect(messages.at(-1)).toMatch(/\(recovered\)$/);
  });

  it("need a checker and a kernel under redundancy", async () => {
    const native = await sharedDevice();
    expect(() => harden(native, { algebra: {} as never })).toThrow("a checker of belay-gpu/algebra");
    expect(() => harden(native, { algebra: atOnce, redundancy: "none" })).toThrow("algebra checks no kernel");
    expect(() => harden(native, { redundancy: "algebra" })).toThrow(
      'redundancy is "algebra", and the policy has no',
    );
    expect(() => algebra({ leastMultiplications: -1 })).toThrow(TypeError);
  });
});
