import { mapToRead } from "../../diagnostics/explainAbort.ts";
import { parse } from "../../wgsl/parser.ts";
import { median } from "./median.ts";

/** The most compute passes that can be timed in one run. */
const mostPasses = 2048;

/**
 * The times of a device's compute passes on the GPU's own clock, by the kernels that they dispatch.
 * The class replaces methods of this one device, which needs the feature `timestamp-query`. Passes
 * with timestamps of their own are not timed.
 */
export class PassTimes {
  readonly #device: GPUDevice;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;
  readonly #names = new WeakMap<GPUComputePipeline, string>();
  readonly #sources = new WeakMap<GPUShaderModule, string>();
  readonly #kernels = new Map<string, string>();
  /** The kernels of each pass of this run. */
  #passes: Set<string>[] = [];
  /**
   * The milliseconds of each run, by the names of a pass's kernels. Passes with the same kernels
   * are added up.
   */
  readonly #runs = new Map<string, number[]>();

  constructor(device: GPUDevice) {
    this.#device = device;
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const size = 16 * mostPasses;
    this.#queries = device.createQuerySet({ type: "timestamp", count: 2 * mostPasses });
    this.#resolved = device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
    this.#readable = device.createBuffer({ size, usage: COPY_DST | MAP_READ });
    this.#follow();
  }

  /** Ends a run and reads the times of its passes. Call it after the work was submitted. */
  async endRun(): Promise<void> {
    const passes = this.#passes;
    this.#passes = [];
    if (passes.length === 0) return;
    const bytes = 16 * passes.length;
    const encoder = this.#device.createCommandEncoder();
    encoder.resolveQuerySet(this.#queries, 0, 2 * passes.length, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    await mapToRead(this.#device, this.#readable);
    const stamps = new BigUint64Array(this.#readable.getMappedRange(0, bytes).slice(0));
    this.#readable.unmap();
    const run = new Map<string, number>();
    passes.forEach((kernels, i) => {
      const key = [...kernels].sort().join("\n");
      run.set(key, (run.get(key) ?? 0) + Number(stamps[2 * i + 1]! - stamps[2 * i]!) / 1e6);
    });
    for (const [key, milliseconds] of run)
      this.#runs.set(key, [...(this.#runs.get(key) ?? []), milliseconds]);
  }

  /** Removes the times of all runs so far. */
  restart(): void {
    this.#runs.clear();
  }

  /**
   * Returns the median time per run of the passes that dispatch `kernel`, in milliseconds. The
   * kernel is named by its pipeline's label or else its entry point.
   */
  medianOf(kernel: string): number | undefined {
    const found = [...this.#runs].filter(([key]) => key.split("\n").includes(kernel));
    return found.length === 0 ? undefined : found.reduce((sum, [, times]) => sum + median(times), 0);
  }

  /** The kernels that were timed. */
  get kernels(): Set<string> {
    return new Set([...this.#runs.keys()].flatMap((key) => key.split("\n")));
  }

  /** The WGSL of the kernels' modules. */
  get sources(): Set<string> {
    return new Set([...this.kernels].flatMap((kernel) => this.#kernels.get(kernel) ?? []));
  }

  #follow(): void {
    const device = this.#device;
    const native = {
      module: device.createShaderModule.bind(device),
      pipeline: device.createComputePipeline.bind(device),
      pipelineAsync: device.createComputePipelineAsync.bind(device),
      encoder: device.createCommandEncoder.bind(device),
    };
    const named = (pipeline: GPUComputePipeline, { label, compute }: GPUComputePipelineDescriptor) => {
      const name = label || compute.entryPoint || entryPointOf(this.#sources.get(compute.module));
      if (name) {
        this.#names.set(pipeline, name);
        this.#kernels.set(name, this.#sources.get(compute.module) ?? "");
      }
      return pipeline;
    };
    device.createShaderModule = (descriptor) => {
      const module = native.module(descriptor);
      this.#sources.set(module, descriptor.code);
      return module;
    };
    device.createComputePipeline = (descriptor) => named(native.pipeline(descriptor), descriptor);
    device.createComputePipelineAsync = async (descriptor) =>
      named(await native.pipelineAsync(descriptor), descriptor);
    device.createCommandEncoder = (descriptor) => {
      const encoder = native.encoder(descriptor);
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (pass) => this.#timed(begin, pass);
      return encoder;
    };
  }

  #timed(
    begin: (descriptor?: GPUComputePassDescriptor) => GPUComputePassEncoder,
    descriptor?: GPUComputePassDescriptor,
  ): GPUComputePassEncoder {
    const index = 2 * this.#passes.length;
    if (descriptor?.timestampWrites || this.#passes.length === mostPasses) return begin(descriptor);
    const kernels = new Set<string>();
    this.#passes.push(kernels);
    const pass = begin({
      ...descriptor,
      timestampWrites: {
        querySet: this.#queries,
        beginningOfPassWriteIndex: index,
        endOfPassWriteIndex: index + 1,
      },
    });
    const set = pass.setPipeline.bind(pass);
    pass.setPipeline = (pipeline) => {
      const name = this.#names.get(pipeline);
      if (name) kernels.add(name);
      return set(pipeline);
    };
    return pass;
  }
}

/**
 * Returns the name of the first compute entry point of a module. A pipeline may omit the name if a
 * module has only one.
 */
function entryPointOf(wgsl = ""): string | undefined {
  const [first] = parse(wgsl).module.declarations.flatMap((declaration) =>
    declaration.kind === "function" && declaration.attributes.some(({ name }) => name === "compute")
      ? [declaration.name]
      : [],
  );
  return first;
}
