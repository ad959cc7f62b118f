/** Runs one compute kernel on plain buffers, protected or not, without the hardened device. */
import type { BindingPoint } from "belay-gpu/internal/analysis/bindings";
import {
  type InterGroup,
  injectionWords,
  nameInCode,
  type ProtectResult,
  recordCause,
  reportWords,
} from "belay-gpu/internal/compiler/contract";

export interface KernelInput {
  /**
   * Contents of the storage buffers of group 0, by binding; each must have a multiple of four
   * bytes.
   */
  readonly buffers: Readonly<Record<number, Uint32Array<ArrayBuffer>>>;
  readonly workgroups: readonly [number, number, number];
  readonly entryPoint?: string;
  readonly constants?: Record<string, number>;
}

export interface KernelOutput {
  /** Contents afterwards, by binding. */
  readonly buffers: Record<number, Uint32Array>;
  /** What the second replica made of its own copies, by the binding that they are copies of. */
  readonly shadows: Record<number, Uint32Array>;
  /** What is in the storage buffers that the host has bound besides, in their order. */
  readonly bound: readonly Uint32Array[];
  /** The report buffer's header and records; empty for an unprotected kernel. */
  readonly report: Uint32Array;
  /** Its cells. */
  readonly cells: Uint32Array;
}

/** How the host of an Inter-Group kernel plays its part. */
export interface Host {
  /** The dimension of the grid that it doubles. Default: x, which is 0. */
  readonly dimension?: 0 | 1 | 2;
  /** Says which one in the report instead of the pipeline. */
  readonly byReport?: boolean;
  /** Runs the grid twice as it is, where whoever comes last would store. */
  readonly inTurn?: boolean;
  /**
   * For each dispatch, one after the other, how many workgroups it leaves out at the end of that
   * dimension. Default: one, none.
   */
  readonly missing?: readonly number[];
  /** How often twins look for each other, if not as often as the kernel says. */
  readonly patience?: number;
  /** What else is bound: storage buffers, or uniform ones. */
  readonly bound?: readonly (BindingPoint & {
    readonly words: Uint32Array<ArrayBuffer>;
    readonly uniform?: boolean;
  })[];
}

/** A fault to arm: `injectionWords` names to values. */
export type Armed = Partial<Record<keyof typeof injectionWords, number>>;

/** The software adapter compiles slowly, so what runs again is not compiled again. */
const compiled = new WeakMap<GPUDevice, Map<string, Promise<GPUComputePipeline>>>();

function pipelineOf(
  device: GPUDevice,
  code: string,
  stage: { readonly constants: Record<string, number>; readonly entryPoint: string | undefined },
): Promise<GPUComputePipeline> {
  const known = compiled.get(device) ?? new Map<string, Promise<GPUComputePipeline>>();
  compiled.set(device, known);
  const key = JSON.stringify([code, stage]);
  const compile = () => {
    const { constants, entryPoint } = stage;
    const module = device.createShaderModule({ code });
    const compute = { module, constants, ...(entryPoint && { entryPoint }) };
    return device.createComputePipelineAsync({ layout: "auto", compute });
  };
  const pipeline = known.get(key) ?? compile();
  known.set(key, pipeline);
  return pipeline;
}

/**
 * Runs unprotected source, or what `protect` made of it; throws with the compiler's message when it
 * is invalid.
 */
export async function runKernel(
  device: GPUDevice,
  kernel: string | ProtectResult,
  input: KernelInput,
  armed: Armed = {},
  host: Host = {},
): Promise<KernelOutput> {
  const { code, layout, usesReport, interGroup, renamed } = partsOf(kernel, input.entryPoint);
  const inCode = (name: string) => nameInCode({ renamed }, name);
  const { dimension = 0, byReport = false, patience } = host;
  const { mostWorkgroups } = interGroup ?? {};
  const inTurn = mostWorkgroups === 0 || (host.inTurn === true && mostWorkgroups !== undefined);
  const waiting = interGroup?.patience && patience !== undefined && { [interGroup.patience]: patience };
  /** What each dispatch of a grid is. */
  const doublings = inTurn ? [3, 3] : [byReport ? 3 : dimension];
  const makePipeline = (doubling: number) => {
    const constants = {
      ...Object.fromEntries(
        Object.entries(input.constants ?? {}).map(([name, value]) => [inCode(name), value]),
      ),
      ...(interGroup && { [interGroup.doubling]: doubling }),
      ...waiting,
    };
    return pipelineOf(device, code, { constants, entryPoint: input.entryPoint && inCode(input.entryPoint) });
  };
  const pipelines = await Promise.all(doublings.map(makePipeline));
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const made: GPUBuffer[] = [];
  const create = (size: number, usage: number) => {
    const buffer = device.createBuffer({ size, usage });
    made.push(buffer);
    return buffer;
  };
  const upload = (words: Uint32Array<ArrayBuffer>, size = words.byteLength, usage = STORAGE) => {
    const buffer = create(size, usage | COPY_SRC | COPY_DST);
    device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  };
  const bindings = Object.keys(input.buffers).map(Number);
  const buffers = bindings.map((binding) => ({ group: 0, binding, buffer: upload(input.buffers[binding]!) }));
  const shadows = (interGroup?.shadows ?? []).map(({ of, at }) => ({
    ...at,
    of: of.binding,
    buffer: upload(input.buffers[of.binding]!),
  }));
  const reportStart = new Uint32Array(reportWords.total);
  reportStart[reportWords.grid] = dimension;
  for (const [name, value] of Object.entries(armed)) reportStart[injectionWords[name as keyof Armed]] = value;
  const report = layout && { ...layout, buffer: upload(reportStart, layout.bytes) };

  const others = (host.bound ?? []).map(({ words, uniform, ...at }) => ({
    ...at,
    buffer: upload(words, words.byteLength, uniform ? UNIFORM : STORAGE),
  }));

  const encoder = device.createCommandEncoder();
  let pass = encoder.beginComputePass();
  const turns = inTurn && upload(Uint32Array.of(5, 4));
  const bound = [...buffers, ...shadows, ...others, ...(report && usesReport ? [report] : [])];
  const use = (pipeline: GPUComputePipeline) => {
    pass.setPipeline(pipeline);
    for (const group of new Set(bound.map((resource) => resource.group))) {
      const entries = bound
        .filter((resource) => resource.group === group)
        .map(({ binding, buffer }) => ({ binding, resource: { buffer } }));
      const layout = pipeline.getBindGroupLayout(group);
      pass.setBindGroup(group, device.createBindGroup({ layout, entries }));
    }
  };
  for (const missing of host.missing ?? [0]) {
    const grid: [number, number, number] = [...input.workgroups];
    if (interGroup && !inTurn) grid[dimension] *= 2;
    for (const [turn, pipeline] of pipelines.entries()) {
      if (turns && report) {
        pass.end();
        encoder.copyBufferToBuffer(turns, 4 * turn, report.buffer, 4 * reportWords.grid, 4);
        pass = encoder.beginComputePass();
      }
      use(pipeline);
      if (interGroup && turn === pipelines.length - 1) grid[dimension] -= missing;
      pass.dispatchWorkgroups(...grid);
    }
  }
  pass.end();
  const readLater = (buffer: GPUBuffer, size = buffer.size) => {
    const reader = create(size, MAP_READ | COPY_DST);
    encoder.copyBufferToBuffer(buffer, 0, reader, 0, size);
    return async () => {
      await reader.mapAsync(GPUMapMode.READ);
      return new Uint32Array(reader.getMappedRange().slice(0));
    };
  };
  const readBuffers = buffers.map(({ binding, buffer }) => [binding, readLater(buffer)] as const);
  const readShadows = shadows.map(({ of, buffer }) => [of, readLater(buffer)] as const);
  const readOthers = others.map(({ buffer }) => readLater(buffer));
  const readReport = report && readLater(report.buffer, 4 * (reportWords.total + report.cells));
  device.queue.submit([encoder.finish()]);

  const byBinding = async (readers: readonly (readonly [number, () => Promise<Uint32Array>])[]) =>
    Object.fromEntries(await Promise.all(readers.map(async ([binding, read]) => [binding, await read()])));
  const words = (await readReport?.()) ?? new Uint32Array(0);
  const output: KernelOutput = {
    buffers: await byBinding(readBuffers),
    shadows: await byBinding(readShadows),
    bound: await Promise.all(readOthers.map((read) => read())),
    report: words.subarray(0, reportWords.total),
    cells: words.subarray(reportWords.total),
  };
  for (const buffer of made) buffer.destroy();
  return output;
}

/**
 * The same for an Inter-Group kernel whose twins must run at once. The software adapter's scheduler
 * hands tasks to threads that have lately looked for work, and may hand both twins to one thread
 * (of 86 runs of one to twelve pairs, 11 times): the first then waits in vain for the second behind
 * it. Such a run reports that nothing is known. As in recovery, what is not verified runs again; a
 * run in which replicas disagree is never repeated.
 */
export async function runTwins(...args: Parameters<typeof runKernel>): Promise<KernelOutput> {
  for (let attempts = 1; ; attempts++) {
    const output = await runKernel(...args);
    const causes = new Set(causesIn(output));
    if (!causes.delete(recordCause.waitedTooLong) || causes.size > 0 || attempts === 20) return output;
  }
}

/** Whether a twin has not run in time, so that nothing is known. */
export const hasWaitedTooLong = (output: KernelOutput): boolean =>
  causesIn(output).includes(recordCause.waitedTooLong);

function causesIn({ report }: KernelOutput): number[] {
  const records = Math.min(report[reportWords.detections] ?? 0, reportWords.recordCapacity);
  const causeAt = (record: number) => report[reportWords.records + record * reportWords.recordStride + 6]!;
  return Array.from({ length: records }, (_, i) => causeAt(i));
}

interface Parts {
  readonly code: string;
  readonly layout: ProtectResult["layout"];
  readonly renamed: ProtectResult["renamed"];
  readonly usesReport: boolean;
  readonly interGroup?: InterGroup | undefined;
}

function partsOf(kernel: string | ProtectResult, name: string | undefined): Parts {
  if (typeof kernel === "string") return { code: kernel, layout: null, renamed: {}, usesReport: false };
  const entryPoint = kernel.entryPoints.find((candidate) => !name || candidate.name === name);
  return { ...kernel, usesReport: entryPoint?.usesReport ?? false, interGroup: entryPoint?.interGroup };
}
