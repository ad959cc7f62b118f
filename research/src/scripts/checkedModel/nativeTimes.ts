import { mapToRead } from "belay-gpu/internal/diagnostics/explainAbort";

/** The most timed commands of a run. */
const mostCommands = 2048;

/** The native commands of one name in a run. */
export interface NativeTime {
  count: number;
  milliseconds: number;
}

/** The times of a run of a program on the GPU. */
export interface NativeRun {
  readonly times: ReadonlyMap<string, NativeTime>;
  /** The time from the first timed command to the last one, in milliseconds. */
  readonly span: number;
}

/** A compute pass of a program that is split into one native pass for each dispatch. */
interface SplitPass {
  readonly encoder: GPUCommandEncoder;
  /** The open native pass, with its query. */
  open: { readonly pass: GPUComputePassEncoder; readonly index: number } | undefined;
  name: string;
  pipeline: GPUComputePipeline | undefined;
  readonly groups: Map<number, readonly unknown[]>;
}

type AnyMethod = (this: unknown, ...args: never[]) => unknown;

/**
 * The times of native commands on the GPU's clock, those of protection included. The class replaces
 * methods of WebGPU's own classes. So create it before any device is hardened.
 */
export class NativeTimes {
  readonly #begin: (
    encoder: GPUCommandEncoder,
    descriptor: GPUComputePassDescriptor,
  ) => GPUComputePassEncoder;
  readonly #endPass: (pass: GPUComputePassEncoder) => void;
  readonly #names = new WeakMap<GPUComputePipeline, string>();
  readonly #codes = new WeakMap<GPUShaderModule, string>();
  readonly #labels = new WeakMap<GPUCommandEncoder, string>();
  readonly #passes = new WeakMap<GPUComputePassEncoder, SplitPass>();
  /** The encoders whose last command is a copy, with its query. */
  readonly #copying = new WeakMap<GPUCommandEncoder, number>();
  #timing: { readonly queries: GPUQuerySet; readonly splits: boolean; readonly named: string[] } | undefined;

  constructor(device: GPUDevice) {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    const encoders = Object.getPrototypeOf(encoder) as GPUCommandEncoder;
    const passes = Object.getPrototypeOf(pass) as GPUComputePassEncoder;
    const { beginComputePass } = encoders;
    const { end } = passes;
    this.#begin = (each, descriptor) => beginComputePass.call(each, descriptor);
    this.#endPass = (each) => end.call(each);
    pass.end();
    encoder.finish();
    this.#nameKernels(Object.getPrototypeOf(device) as GPUDevice);
    this.#timeCopies(encoders);
    this.#timePasses(encoders, passes);
  }

  /**
   * Runs a program on a device and reads the times of its commands. With `splits`, each dispatch
   * gets a native pass of its own.
   */
  async of(device: GPUDevice, run: () => Promise<unknown>, splits: boolean): Promise<NativeRun> {
    const queries = device.createQuerySet({ type: "timestamp", count: 2 * mostCommands });
    const named: string[] = [];
    this.#timing = { queries, splits, named };
    await run();
    this.#timing = undefined;
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const size = 16 * named.length;
    const resolved = device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
    const readable = device.createBuffer({ size, usage: COPY_DST | MAP_READ });
    const encoder = device.createCommandEncoder();
    encoder.resolveQuerySet(queries, 0, 2 * named.length, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, readable, 0, size);
    device.queue.submit([encoder.finish()]);
    await mapToRead(device, readable);
    const stamps = new BigUint64Array(readable.getMappedRange().slice(0));
    for (const each of [queries, resolved, readable]) each.destroy();
    const times = new Map<string, NativeTime>();
    named.forEach((name, i) => {
      const time = times.get(name) ?? { count: 0, milliseconds: 0 };
      times.set(name, time);
      time.count++;
      time.milliseconds += Number(stamps[2 * i + 1]! - stamps[2 * i]!) / 1e6;
    });
    const all = [...stamps].filter(Boolean).map(Number);
    return { times, span: (Math.max(...all) - Math.min(...all)) / 1e6 };
  }

  /** Names pipelines by their label and entry point. Those of protected kernels are marked. */
  #nameKernels(devices: GPUDevice): void {
    const { createShaderModule, createComputePipeline, createComputePipelineAsync } = devices;
    const [names, codes] = [this.#names, this.#codes];
    const named = (pipeline: GPUComputePipeline, { label, compute }: GPUComputePipelineDescriptor) => {
      const isRedundant = /belay_pass|belay_replica/.test(codes.get(compute.module) ?? "");
      const entry = compute.entryPoint === label ? undefined : compute.entryPoint;
      names.set(pipeline, [label, entry, isRedundant && "(redundant)"].filter(Boolean).join(" "));
      return pipeline;
    };
    replaceOn(devices, {
      createShaderModule(descriptor) {
        const module = createShaderModule.call(this, descriptor);
        codes.set(module, descriptor.code);
        return module;
      },
      createComputePipeline(descriptor) {
        return named(createComputePipeline.call(this, descriptor), descriptor);
      },
      async createComputePipelineAsync(descriptor) {
        return named(await createComputePipelineAsync.call(this, descriptor), descriptor);
      },
    });
  }

  /** Times all copies and clears in a row together. */
  #timeCopies(encoders: GPUCommandEncoder): void {
    const times = this;
    const { copyBufferToBuffer, clearBuffer, finish } = encoders;
    const followed = (method: AnyMethod) =>
      function (this: GPUCommandEncoder, ...args: never[]): unknown {
        times.#beginCopy(this);
        return method.apply(this, args);
      };
    replaceOn(encoders, {
      copyBufferToBuffer: followed(copyBufferToBuffer as AnyMethod) as typeof copyBufferToBuffer,
      clearBuffer: followed(clearBuffer as AnyMethod) as typeof clearBuffer,
      finish(descriptor) {
        times.#endCopy(this);
        return finish.call(this, descriptor);
      },
    });
  }

  #beginCopy(encoder: GPUCommandEncoder): void {
    if (!this.#timing || this.#copying.has(encoder)) return;
    const { queries, named } = this.#timing;
    const index = 2 * named.length;
    named.push(`copies ${this.#labels.get(encoder) ?? encoder.label}`.trim());
    this.#copying.set(encoder, index);
    this.#endPass(
      this.#begin(encoder, { timestampWrites: { querySet: queries, endOfPassWriteIndex: index } }),
    );
  }

  #endCopy(encoder: GPUCommandEncoder): void {
    const index = this.#copying.get(encoder);
    if (!this.#timing || index === undefined) return;
    this.#copying.delete(encoder);
    const querySet = this.#timing.queries;
    this.#endPass(this.#begin(encoder, { timestampWrites: { querySet, endOfPassWriteIndex: index + 1 } }));
  }

  #timePasses(encoders: GPUCommandEncoder, passes: GPUComputePassEncoder): void {
    const times = this;
    const { beginComputePass } = encoders;
    const { setPipeline, setBindGroup, dispatchWorkgroups, end } = passes;
    replaceOn(encoders, {
      beginComputePass(descriptor) {
        times.#endCopy(this);
        if (!times.#timing || descriptor?.timestampWrites) return beginComputePass.call(this, descriptor);
        const open = times.#beginTimed(this);
        const split = { encoder: this, open, name: "", pipeline: undefined, groups: new Map() };
        times.#passes.set(open.pass, split);
        return open.pass;
      },
    });
    replaceOn(passes, {
      setPipeline(pipeline) {
        const split = times.#passes.get(this);
        if (!split) return setPipeline.call(this, pipeline);
        split.name = times.#names.get(pipeline) ?? "?";
        split.pipeline = pipeline;
        if (split.open) setPipeline.call(split.open.pass, pipeline);
      },
      setBindGroup(...args: unknown[]) {
        const split = times.#passes.get(this);
        if (!split) return (setBindGroup as AnyMethod).apply(this, args as never[]) as undefined;
        split.groups.set(args[0] as number, args);
        if (split.open) (setBindGroup as AnyMethod).apply(split.open.pass, args as never[]);
      },
      dispatchWorkgroups(x, y = 1, z = 1) {
        const split = times.#passes.get(this);
        if (!split || !times.#timing) return dispatchWorkgroups.call(this, x, y, z);
        const { named, splits } = times.#timing;
        if (!split.open) {
          split.open = times.#beginTimed(split.encoder);
          if (split.pipeline) setPipeline.call(split.open.pass, split.pipeline);
          for (const args of split.groups.values())
            (setBindGroup as AnyMethod).apply(split.open.pass, args as never[]);
        }
        dispatchWorkgroups.call(split.open.pass, x, y, z);
        if (!splits) return;
        named[split.open.index / 2] = split.name;
        end.call(split.open.pass);
        split.open = undefined;
      },
      end() {
        const split = times.#passes.get(this);
        if (!split) return end.call(this);
        times.#passes.delete(this);
        if (split.open) end.call(split.open.pass);
      },
    });
  }

  /** Begins a native pass with timestamps at its beginning and its end. */
  #beginTimed(encoder: GPUCommandEncoder): { pass: GPUComputePassEncoder; index: number } {
    const { queries: querySet, named } = this.#timing!;
    const index = 2 * named.length;
    if (named.length === mostCommands) throw new RangeError(`a run has more than ${mostCommands} commands`);
    named.push("passes");
    const timestampWrites = { querySet, beginningOfPassWriteIndex: index, endOfPassWriteIndex: index + 1 };
    return { pass: this.#begin(encoder, { timestampWrites }), index };
  }
}

/** Replaces methods of a class. */
function replaceOn<T extends object>(prototype: T, methods: Partial<T> & ThisType<T>): void {
  for (const [name, value] of Object.entries(methods))
    Object.defineProperty(prototype, name, {
      ...Object.getOwnPropertyDescriptor(prototype, name),
      value,
    });
}
