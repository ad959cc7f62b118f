/**
 * A runner of one compute kernel on plain buffers, protected or not, without the hardened device.
 */
import type { BindingPoint } from "belay-gpu/internal/analysis/bindings";
import {
  type CompilerResult,
  type InterGroup,
  injectionWords,
  nameInCode,
  recordCause,
  reportWords,
} from "belay-gpu/internal/compiler/contract";

export interface KernelInput {
  /**
   * The contents of the storage buffers of group 0, by binding. Each has a multiple of four bytes.
   */
  readonly buffers: Readonly<Record<number, Uint32Array<ArrayBuffer>>>;
  readonly workgroups: readonly [number, number, number];
  readonly entryPoint?: string;
  readonly constants?: Record<string, number>;
}

export interface KernelOutput {
  /** The contents after the run, by binding. */
  readonly buffers: Record<number, Uint32Array>;
  /** The second replica's own copies of buffers, by the binding of the original. */
  readonly shadows: Record<number, Uint32Array>;
  /** The contents of the buffers that the host has bound in addition, in their order. */
  readonly bound: readonly Uint32Array[];
  /** The report buffer's header and records. Empty for an unprotected kernel. */
  readonly report: Uint32Array;
  /** The report buffer's cells. */
  readonly cells: Uint32Array;
}

/** The host's part in the execution of an Inter-Group kernel. */
export interface Host {
  /** The dimension of the grid that the host doubles. Default: 0, which is x. */
  readonly dimension?: 0 | 1 | 2;
  /** True if the report states the dimension instead of the pipeline. */
  readonly byReport?: boolean;
  /**
   * True if the grid is dispatched twice as it is, like a grid that is too large to be doubled.
   * Kernels without a last-arriver commit ignore it.
   */
  readonly sequentialReplicas?: boolean;
  /**
   * The number of workgroups that each dispatch leaves out, at the end of the dimension. Default:
   * one dispatch that leaves out none.
   */
  readonly missing?: readonly number[];
  /** The number of times that twins look for each other. Default: the kernel's own number. */
  readonly patience?: number;
  /** The additional bindings: storage buffers, or uniform ones. */
  readonly bound?: readonly (BindingPoint & {
    readonly words: Uint32Array<ArrayBuffer>;
    readonly uniform?: boolean;
  })[];
}

/** A fault to arm, as values by the names of `injectionWords`. */
export type Armed = Partial<Record<keyof typeof injectionWords, number>>;

/**
 * The compiled pipelines. The software adapter compiles slowly, so each kernel is compiled once.
 */
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
 * Runs unprotected source, or a result of `protect`. Throws with the compiler's message if the code
 * is invalid.
 */
export async function runKernel(
  device: GPUDevice,
  kernel: string | CompilerResult,
  input: KernelInput,
  armed: Armed = {},
  host: Host = {},
): Promise<KernelOutput> {
  const { code, layout, usesReport, interGroup, renamed } = partsOf(kernel, input.entryPoint);
  const inCode = (name: string) => nameInCode({ renamed }, name);
  const { dimension = 0, byReport = false, patience } = host;
  const { mostWorkgroups } = interGroup ?? {};
  const sequentialReplicas =
    mostWorkgroups === 0 || (host.sequentialReplicas === true && mostWorkgroups !== undefined);
  const waiting = interGroup?.patience && patience !== undefined && { [interGroup.patience]: patience };
  /** The value of the doubling constant for each dispatch of a grid. */
  const doublings = sequentialReplicas ? [3, 3] : [byReport ? 3 : dimension];
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
  const turns = sequentialReplicas && upload(Uint32Array.of(5, 4));
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
    if (interGroup && !sequentialReplicas) grid[dimension] *= 2;
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
 * Runs an Inter-Group kernel whose twins must run at the same time. The software adapter's
 * scheduler hands tasks to threads that have lately looked for work. It may hand both twins to one
 * thread, as in 11 of 86 runs of one to twelve pairs. The first twin then waits in vain for the
 * second, which the thread would run later. The report of such a run says that a twin waited too
 * long.
 *
 * Like recovery, this function repeats unverified runs, for up to 20 attempts. It never repeats a
 * run in which replicas disagree.
 */
export async function runTwins(...args: Parameters<typeof runKernel>): Promise<KernelOutput> {
  for (let attempts = 1; ; attempts++) {
    const output = await runKernel(...args);
    const causes = new Set(causesIn(output));
    if (!causes.delete(recordCause.waitedTooLong) || causes.size > 0 || attempts === 20) return output;
  }
}

/** Returns true if a twin did not run in time, so that the run is unverified. */
export const hasWaitedTooLong = (output: KernelOutput): boolean =>
  causesIn(output).includes(recordCause.waitedTooLong);

function causesIn({ report }: KernelOutput): number[] {
  const records = Math.min(report[reportWords.detections] ?? 0, reportWords.recordCapacity);
  const causeAt = (record: number) => report[reportWords.records + record * reportWords.recordStride + 6]!;
  return Array.from({ length: records }, (_, i) => causeAt(i));
}

interface Parts {
  readonly code: string;
  readonly layout: CompilerResult["layout"];
  readonly renamed: CompilerResult["renamed"];
  readonly usesReport: boolean;
  readonly interGroup?: InterGroup | undefined;
}

function partsOf(kernel: string | CompilerResult, name: string | undefined): Parts {
  if (typeof kernel === "string") return { code: kernel, layout: null, renamed: {}, usesReport: false };
  const entryPoint = kernel.entryPoints.find((candidate) => !name || candidate.name === name);
  return { ...kernel, usesReport: entryPoint?.usesReport ?? false, interGroup: entryPoint?.interGroup };
}
