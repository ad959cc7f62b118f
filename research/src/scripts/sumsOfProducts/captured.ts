/** Captures the dispatches of a program, to run each of them again by itself. */

/** A dispatch with all that it depends on except the contents of storage buffers. */
export interface CapturedDispatch {
  readonly source: string;
  readonly entryPoint: string | undefined;
  readonly constants: Readonly<Record<string, number>>;
  readonly grid: readonly [number, number, number];
  readonly bindings: readonly CapturedBinding[];
}

/** A bound range: its bytes, and its words if the host wrote them to a uniform buffer. */
export interface CapturedBinding {
  readonly group: number;
  readonly binding: number;
  readonly size: number;
  readonly uniform: Uint8Array<ArrayBuffer> | undefined;
}

type Pipeline = Pick<CapturedDispatch, "source" | "entryPoint" | "constants">;

/** Replaces methods of this one device. Returns the list of its direct dispatches as it grows. */
export function captureDispatches(device: GPUDevice): readonly CapturedDispatch[] {
  const dispatches: CapturedDispatch[] = [];
  const sources = new WeakMap<GPUShaderModule, string>();
  const pipelines = new WeakMap<GPUComputePipeline, Pipeline>();
  const contents = new WeakMap<GPUBuffer, Uint8Array<ArrayBuffer>>();
  const groups = new WeakMap<GPUBindGroup, readonly GPUBindGroupEntry[]>();
  const { queue } = device;
  const native = {
    createBuffer: device.createBuffer.bind(device),
    createShaderModule: device.createShaderModule.bind(device),
    createComputePipeline: device.createComputePipeline.bind(device),
    createComputePipelineAsync: device.createComputePipelineAsync.bind(device),
    createBindGroup: device.createBindGroup.bind(device),
    createCommandEncoder: device.createCommandEncoder.bind(device),
    writeBuffer: queue.writeBuffer.bind(queue) as (...args: unknown[]) => undefined,
  };
  const describe = ({ compute }: GPUComputePipelineDescriptor): Pipeline => ({
    source: sources.get(compute.module) ?? "",
    entryPoint: compute.entryPoint,
    constants: compute.constants ?? {},
  });
  const replaced = {
    createBuffer(descriptor: GPUBufferDescriptor) {
      const buffer = native.createBuffer(descriptor);
      if (!descriptor.mappedAtCreation || !(buffer.usage & GPUBufferUsage.UNIFORM)) return buffer;
      const range = buffer.getMappedRange.bind(buffer);
      const unmap = buffer.unmap.bind(buffer);
      let mapped: ArrayBuffer | undefined;
      return Object.assign(buffer, {
        getMappedRange: () => {
          mapped = range();
          return mapped;
        },
        unmap: (): undefined => {
          if (mapped) contents.set(buffer, new Uint8Array(mapped.slice(0)));
          unmap();
        },
      });
    },
    createShaderModule(descriptor: GPUShaderModuleDescriptor) {
      const module = native.createShaderModule(descriptor);
      sources.set(module, descriptor.code);
      return module;
    },
    createComputePipeline(descriptor: GPUComputePipelineDescriptor) {
      const pipeline = native.createComputePipeline(descriptor);
      pipelines.set(pipeline, describe(descriptor));
      return pipeline;
    },
    async createComputePipelineAsync(descriptor: GPUComputePipelineDescriptor) {
      const pipeline = await native.createComputePipelineAsync(descriptor);
      pipelines.set(pipeline, describe(descriptor));
      return pipeline;
    },
    createBindGroup(descriptor: GPUBindGroupDescriptor) {
      const group = native.createBindGroup(descriptor);
      groups.set(group, [...descriptor.entries]);
      return group;
    },
    createCommandEncoder(descriptor?: GPUCommandEncoderDescriptor) {
      const encoder = native.createCommandEncoder(descriptor);
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (of) => follow(begin(of));
      return encoder;
    },
  };
  Object.assign(device, replaced);
  const writeBuffer = (...args: unknown[]) => {
    const [buffer, offset, data, start = 0, size] = args as [
      GPUBuffer,
      number,
      BufferSource,
      number?,
      number?,
    ];
    const unit = ArrayBuffer.isView(data) && "BYTES_PER_ELEMENT" in data ? Number(data.BYTES_PER_ELEMENT) : 1;
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    const end = size === undefined ? bytes.length : (start + size) * unit;
    if (buffer.usage & GPUBufferUsage.UNIFORM) {
      const known = contents.get(buffer) ?? new Uint8Array(buffer.size);
      known.set(bytes.subarray(start * unit, end), offset);
      contents.set(buffer, known);
    }
    return native.writeBuffer(...args);
  };
  Object.assign(queue, { writeBuffer });

  function follow(pass: GPUComputePassEncoder): GPUComputePassEncoder {
    let pipeline: Pipeline | undefined;
    const set = new Map<number, readonly GPUBindGroupEntry[]>();
    const own = {
      setPipeline: pass.setPipeline.bind(pass),
      setBindGroup: pass.setBindGroup.bind(pass) as (...args: unknown[]) => undefined,
      dispatchWorkgroups: pass.dispatchWorkgroups.bind(pass),
    };
    return Object.assign(pass, {
      setPipeline(given: GPUComputePipeline): undefined {
        pipeline = pipelines.get(given);
        own.setPipeline(given);
      },
      setBindGroup(...args: unknown[]): undefined {
        const [index, group] = args as [number, GPUBindGroup | null];
        set.set(index, (group && groups.get(group)) ?? []);
        own.setBindGroup(...args);
      },
      dispatchWorkgroups(x: number, y = 1, z = 1): undefined {
        if (pipeline) dispatches.push({ ...pipeline, grid: [x, y, z], bindings: bindingsOf(set) });
        own.dispatchWorkgroups(x, y, z);
      },
    });
  }

  function bindingsOf(set: ReadonlyMap<number, readonly GPUBindGroupEntry[]>): CapturedBinding[] {
    return [...set].flatMap(([group, entries]) =>
      entries.flatMap(({ binding, resource }): CapturedBinding[] => {
        if (!("buffer" in resource)) return [];
        const { buffer, offset = 0, size = buffer.size - offset } = resource as GPUBufferBinding;
        const isUniform = (buffer.usage & GPUBufferUsage.UNIFORM) !== 0;
        const uniform = isUniform ? contents.get(buffer)?.slice(offset, offset + size) : undefined;
        return [{ group, binding, size, uniform }];
      }),
    );
  }
  return dispatches;
}
