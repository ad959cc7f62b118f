/** A device whose kernels run on the reference executor, and all other commands on a GPU. */
import { mapToRead } from "../diagnostics/explainAbort.ts";
import { lineAt } from "../diagnostics/lines.ts";
import { createReferenceBuffer, type ReferenceBuffer, startOfWord } from "./buffers.ts";
import { createReference } from "./createReference.ts";
import type { BoundBuffer, ReferenceKernel, ReferenceSource } from "./referenceKernel.ts";
import { texelFormat } from "./texelFormats.ts";
import { type BoundTexture, createReferenceTexture, type ReferenceTexture } from "./textures.ts";

/**
 * Returns a view of a device on which an unmodified program computes its kernels on the CPU. Each
 * operation on floats rounds to the nearest number. Commands run in their order, after `submit` has
 * returned. A dispatch may have a construct that the executor lacks, a texture that it cannot read,
 * or no fixed results. All later mappings then reject, and name the kernel.
 */
export function referenceDevice(device: GPUDevice): GPUDevice {
  const program = new ReferenceProgram(device);
  const overlaid: Partial<Record<keyof GPUDevice, unknown>> = {
    queue: view(device.queue, program.queueMembers()),
    ...program.deviceMembers(),
  };
  return view(device, overlaid);
}

/** Returns a view of an object with some other members. */
function view<T extends object>(object: T, members: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(object, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

/** A call of a method of an encoder; with the calls of the pass that it begins, if it does. */
interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly pass?: readonly Call[];
}

/** A pipeline's kernel, which is translated when it is first dispatched. */
interface KnownKernel {
  readonly name: string;
  readonly source: ReferenceSource;
  translated?: ReferenceKernel;
}

/** A view of a texture, with the part that it shows. */
interface KnownView {
  readonly texture: GPUTexture;
  readonly range: GPUTextureViewDescriptor;
}

type BindGroupArguments = [
  index: number,
  group: GPUBindGroup | null,
  offsets?: Iterable<number>,
  start?: number,
  count?: number,
];

/** The state of a compute pass. */
interface PassState {
  pipeline?: GPUComputePipeline;
  readonly groups: Map<number, readonly [group: GPUBindGroup, offsets: readonly number[]]>;
}

/** The work of a program on a device, and what the program has told about its objects. */
class ReferenceProgram {
  readonly #device: GPUDevice;
  readonly #sources = new WeakMap<GPUShaderModule, string>();
  readonly #kernels = new WeakMap<GPUComputePipeline, KnownKernel>();
  readonly #groups = new WeakMap<GPUBindGroup, GPUBindGroupDescriptor>();
  readonly #views = new WeakMap<GPUTextureView, KnownView>();
  /** The bindings with dynamic offsets, in the order of the offsets. */
  readonly #dynamic = new WeakMap<GPUBindGroupLayout, readonly number[]>();
  readonly #commands = new WeakMap<object, readonly Call[]>();
  /** The size of a grid without workgroups. */
  #noWorkgroups: GPUBuffer | undefined;
  /** The commands so far. Rejects if one of them could not run. */
  #work: Promise<void> = Promise.resolve();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  deviceMembers(): Partial<Record<keyof GPUDevice, unknown>> {
    const device = this.#device;
    const pipelineOf = (pipeline: GPUComputePipeline, { label, compute }: GPUComputePipelineDescriptor) => {
      const { module, entryPoint, constants } = compute;
      const source = {
        source: this.#sources.get(module) ?? "",
        ...(entryPoint != null && { entryPoint }),
        ...(constants && { constants: { ...constants } }),
      };
      this.#kernels.set(pipeline, { name: label || (entryPoint ?? "kernel"), source });
      return pipeline;
    };
    return {
      createBuffer: (descriptor: GPUBufferDescriptor) => this.#createBuffer(descriptor),
      createTexture: (descriptor: GPUTextureDescriptor) => this.#createTexture(descriptor),
      createShaderModule: (descriptor: GPUShaderModuleDescriptor) => {
        const module = device.createShaderModule(descriptor);
        this.#sources.set(module, descriptor.code);
        return module;
      },
      createComputePipeline: (descriptor: GPUComputePipelineDescriptor) =>
        pipelineOf(device.createComputePipeline(descriptor), descriptor),
      createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
        pipelineOf(await device.createComputePipelineAsync(descriptor), descriptor),
      createBindGroupLayout: (descriptor: GPUBindGroupLayoutDescriptor) => {
        const layout = device.createBindGroupLayout(descriptor);
        const dynamic = [...descriptor.entries].filter(({ buffer }) => buffer?.hasDynamicOffset);
        this.#dynamic.set(
          layout,
          dynamic.map(({ binding }) => binding).sort((a, b) => a - b),
        );
        return layout;
      },
      createBindGroup: (descriptor: GPUBindGroupDescriptor) => {
        const group = device.createBindGroup(descriptor);
        this.#groups.set(group, copied(descriptor) as GPUBindGroupDescriptor);
        return group;
      },
      createCommandEncoder: (descriptor: GPUCommandEncoderDescriptor = {}) =>
        this.#recorder([], descriptor.label ?? ""),
    };
  }

  queueMembers(): Partial<Record<keyof GPUQueue, unknown>> {
    const { queue } = this.#device;
    const later =
      (name: "writeBuffer" | "writeTexture" | "copyExternalImageToTexture") =>
      (...args: unknown[]): void => {
        const kept = args.map(copied);
        this.#enqueue(() => Reflect.apply(queue[name], queue, kept));
      };
    return {
      submit: (buffers: Iterable<GPUCommandBuffer>) => {
        const all = [...buffers].map((each) => this.#commands.get(each));
        for (const each of all) {
          if (!each) throw new TypeError("a command buffer of another device");
          this.#enqueue(() => this.#execute(each));
        }
      },
      writeBuffer: later("writeBuffer"),
      writeTexture: later("writeTexture"),
      copyExternalImageToTexture: later("copyExternalImageToTexture"),
      onSubmittedWorkDone: async () => {
        await this.#work;
        return queue.onSubmittedWorkDone();
      },
    };
  }

  #enqueue(step: () => unknown): void {
    this.#work = this.#work.then(step).then(() => {});
    // The mappings tell of an error.
    this.#work.catch(() => {});
  }

  #createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const { STORAGE, UNIFORM, INDIRECT, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const isBound = (descriptor.usage & (STORAGE | UNIFORM | INDIRECT)) !== 0;
    const usage = descriptor.usage | (isBound ? COPY_SRC | COPY_DST : 0);
    const buffer = this.#destroyedLater(this.#device.createBuffer({ ...descriptor, usage }));
    const map = buffer.mapAsync.bind(buffer);
    Object.defineProperty(buffer, "mapAsync", {
      value: async (...args: Parameters<typeof map>) => {
        await this.#work;
        return map(...args);
      },
    });
    return buffer;
  }

  #createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const { STORAGE_BINDING, TEXTURE_BINDING, COPY_SRC, COPY_DST } = GPUTextureUsage;
    const isBound = (descriptor.usage & (STORAGE_BINDING | TEXTURE_BINDING)) !== 0;
    const usage = descriptor.usage | (isBound ? COPY_SRC | COPY_DST : 0);
    const texture = this.#destroyedLater(this.#device.createTexture({ ...descriptor, usage }));
    const createView = texture.createView.bind(texture);
    Object.defineProperty(texture, "createView", {
      value: (range: GPUTextureViewDescriptor = {}) => {
        const view = createView(range);
        this.#views.set(view, { texture, range: { ...range } });
        return view;
      },
    });
    return texture;
  }

  /** Makes an object live until the commands so far have run. */
  #destroyedLater<T extends GPUBuffer | GPUTexture>(object: T): T {
    const destroy = object.destroy.bind(object);
    Object.defineProperty(object, "destroy", { value: () => void this.#work.then(destroy, destroy) });
    return object;
  }

  /** Returns an encoder that only keeps the calls of its methods. */
  #recorder(calls: Call[], label: string): object {
    const commands = this.#commands;
    return new Proxy({ label } as Record<string | symbol, unknown>, {
      get: (own, name) => {
        if (typeof name === "symbol" || name === "label" || name === "then") return own[name];
        return (...args: unknown[]): unknown => {
          if (name === "finish") {
            const buffer = { label: (args[0] as GPUCommandBufferDescriptor | undefined)?.label ?? "" };
            commands.set(buffer, calls);
            return buffer;
          }
          const kept = args.map(copied);
          if (!name.startsWith("begin")) {
            calls.push({ name, args: kept });
            return undefined;
          }
          const pass: Call[] = [];
          calls.push({ name, args: kept, pass });
          return this.#recorder(pass, "");
        };
      },
    });
  }

  async #execute(calls: readonly Call[]): Promise<void> {
    let encoder: GPUCommandEncoder | undefined;
    const flush = () => {
      if (encoder) this.#device.queue.submit([encoder.finish()]);
      encoder = undefined;
    };
    for (const call of calls) {
      if (call.name === "beginComputePass" && call.pass) {
        flush();
        await this.#compute(call.pass);
      }
      encoder ??= this.#device.createCommandEncoder();
      this.#replay(encoder, call);
    }
    flush();
  }

  /** Encodes a call. Dispatches have no workgroups, so that the GPU only validates them. */
  #replay(encoder: object, { name, args, pass }: Call): void {
    if (/^dispatchWorkgroups/.test(name)) {
      this.#noWorkgroups ??= this.#device.createBuffer({ size: 12, usage: GPUBufferUsage.INDIRECT });
      (encoder as GPUComputePassEncoder).dispatchWorkgroupsIndirect(this.#noWorkgroups, 0);
      return;
    }
    const method = Reflect.get(encoder, name, encoder) as (...args: readonly unknown[]) => object;
    const inner = Reflect.apply(method, encoder, args);
    for (const call of pass ?? []) this.#replay(inner, call);
  }

  /** Executes the dispatches of a pass. */
  async #compute(calls: readonly Call[]): Promise<void> {
    const state: PassState = { groups: new Map() };
    for (const { name, args } of calls) {
      if (name === "setPipeline") state.pipeline = args[0] as GPUComputePipeline;
      else if (name === "setBindGroup") {
        const [index, group, offsets = [], start = 0, count] = args as BindGroupArguments;
        const used = [...offsets].slice(start, count === undefined ? undefined : start + count);
        if (group) state.groups.set(index, [group, used]);
        else state.groups.delete(index);
      } else if (name === "dispatchWorkgroups") {
        const [x, y = 1, z = 1] = args as number[];
        await this.#dispatch(state, [x!, y, z]);
      } else if (name === "dispatchWorkgroupsIndirect") {
        const [buffer, offset] = args as [GPUBuffer, number];
        const [x, y, z] = new Uint32Array((await this.#read(buffer, offset, 12)).buffer);
        await this.#dispatch(state, [x!, y!, z!]);
      }
    }
  }

  async #dispatch(
    { pipeline, groups }: PassState,
    workgroups: readonly [number, number, number],
  ): Promise<void> {
    const kernel = pipeline && this.#kernels.get(pipeline);
    // The GPU rejects a dispatch without a pipeline.
    if (!kernel) return;
    const reference = this.#translated(kernel);
    const contents = new Map<GPUBuffer, ReferenceBuffer>();
    const images = new Map<GPUTexture, ReferenceTexture>();
    const buffers: BoundBuffer[] = [];
    const textures: BoundTexture[] = [];
    for (const { group, binding, resource } of reference.bindings) {
      if (resource === "texture") {
        const view = this.#viewAt(groups.get(group), binding);
        if (!view) return;
        const texture = images.get(view.texture) ?? (await this.#readTexture(view.texture, kernel));
        images.set(view.texture, texture);
        textures.push({ group, binding, texture, ...view.range });
        continue;
      }
      const range = this.#rangeAt(groups.get(group), binding);
      // The GPU rejects a dispatch without one of its bindings.
      if (!range) return;
      const { buffer, offset, size } = range;
      const known =
        contents.get(buffer) ?? createReferenceBuffer(await this.#read(buffer, 0, startOfWord(buffer.size)));
      contents.set(buffer, known);
      buffers.push({ group, binding, buffer: known, offset, size });
    }
    const before = [...contents.values()].map(({ bytes }) => bytes.slice());
    const levelsBefore = [...images].map(([texture, image]) =>
      levelsOf(texture).map((level) => image.bytes(level).slice()),
    );
    const { undecided } = reference.run({ workgroups, buffers, textures });
    if (undecided) {
      const workgroup = `workgroup (${undecided.workgroup.join(", ")})`;
      throw new Error(
        `the specification fixes no result of kernel "${kernel.name}": ${undecided.reason}, in ${workgroup}, ${placeIn(kernel, undecided.at)}`,
      );
    }
    for (const [i, [buffer, { bytes }]] of [...contents].entries())
      if (isChanged(before[i]!, bytes)) this.#device.queue.writeBuffer(buffer, 0, bytes);
    for (const [i, [texture, image]] of [...images].entries())
      for (const level of levelsOf(texture))
        if (isChanged(levelsBefore[i]![level]!, image.bytes(level)))
          this.#writeTexture(texture, level, image.bytes(level));
  }

  #translated(kernel: KnownKernel): ReferenceKernel {
    if (!kernel.translated) {
      const made = createReference(kernel.source, { floats: "nearest" });
      if ("construct" in made)
        throw new Error(
          `the reference executor does not have ${made.construct}, which kernel "${kernel.name}" needs in ${placeIn(kernel, made.span.start)}`,
        );
      kernel.translated = made;
    }
    return kernel.translated;
  }

  /** Returns the resource at a binding of a group; undefined if there is none. */
  #resourceAt(
    descriptor: GPUBindGroupDescriptor | undefined,
    binding: number,
  ): GPUBindingResource | undefined {
    return [...(descriptor?.entries ?? [])].find((each) => each.binding === binding)?.resource;
  }

  /** Returns the view of a texture at a binding of a group; undefined if there is none. */
  #viewAt(
    bound: readonly [group: GPUBindGroup, ...unknown[]] | undefined,
    binding: number,
  ): KnownView | undefined {
    const resource = this.#resourceAt(bound && this.#groups.get(bound[0]), binding);
    if (!resource) return undefined;
    return this.#views.get(resource as GPUTextureView) ?? { texture: resource as GPUTexture, range: {} };
  }

  /** Returns the part of a buffer at a binding of a group; undefined if there is none. */
  #rangeAt(
    bound: readonly [group: GPUBindGroup, offsets: readonly number[]] | undefined,
    binding: number,
  ): { buffer: GPUBuffer; offset: number; size: number } | undefined {
    const descriptor = bound && this.#groups.get(bound[0]);
    const resource = this.#resourceAt(descriptor, binding);
    if (!bound || !descriptor || !resource) return undefined;
    const given = "buffer" in resource ? resource : { buffer: resource as GPUBuffer };
    const { buffer, offset = 0, size = buffer.size - offset } = given;
    const dynamic = this.#dynamic.get(descriptor.layout)?.indexOf(binding) ?? -1;
    return { buffer, offset: offset + (dynamic >= 0 ? (bound[1][dynamic] ?? 0) : 0), size };
  }

  #read(buffer: GPUBuffer, offset: number, size: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#copied(size, (encoder, staging) =>
      encoder.copyBufferToBuffer(buffer, offset, staging, 0, size),
    );
  }

  async #readTexture(texture: GPUTexture, kernel: KnownKernel): Promise<ReferenceTexture> {
    const { format, dimension, mipLevelCount, sampleCount } = texture;
    const layout = texelFormat(format);
    if (!layout || sampleCount > 1) {
      const kind = sampleCount > 1 ? "with several samples" : `of format "${format}"`;
      throw new Error(
        `the reference executor cannot read textures ${kind}, such as that of kernel "${kernel.name}"`,
      );
    }
    const levels: Uint8Array[] = [];
    for (const level of levelsOf(texture)) {
      const [width, height, depth] = sizeOf(texture, level);
      // Copies have rows of whole 256 bytes.
      const bytesPerRow = Math.ceil((width * layout.bytes) / 256) * 256;
      const padded = await this.#copied(bytesPerRow * height * depth, (encoder, buffer) =>
        encoder.copyTextureToBuffer(
          { texture, mipLevel: level },
          { buffer, bytesPerRow, rowsPerImage: height },
          [width, height, depth],
        ),
      );
      const bytes = new Uint8Array(width * layout.bytes * height * depth);
      for (let row = 0; row < height * depth; row++) {
        const from = row * bytesPerRow;
        bytes.set(padded.subarray(from, from + width * layout.bytes), row * width * layout.bytes);
      }
      levels.push(bytes);
    }
    const size = sizeOf(texture, 0);
    return createReferenceTexture({ format, size, dimension, mipLevelCount }, levels);
  }

  #writeTexture(texture: GPUTexture, level: number, bytes: Uint8Array<ArrayBuffer>): void {
    const [width, height, depth] = sizeOf(texture, level);
    const bytesPerRow = bytes.length / (height * depth);
    const layout = { bytesPerRow, rowsPerImage: height };
    this.#device.queue.writeTexture({ texture, mipLevel: level }, bytes, layout, [width, height, depth]);
  }

  /** Returns bytes that a command copies to a buffer. */
  async #copied(
    size: number,
    copy: (encoder: GPUCommandEncoder, staging: GPUBuffer) => void,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const staging = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    try {
      const encoder = this.#device.createCommandEncoder();
      copy(encoder, staging);
      this.#device.queue.submit([encoder.finish()]);
      await mapToRead(this.#device, staging);
      return new Uint8Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
    }
  }
}

const levelsOf = ({ mipLevelCount }: GPUTexture) =>
  Array.from({ length: mipLevelCount }, (_, level) => level);

/** Returns the size of a texture's mip level. */
function sizeOf(
  { width, height, depthOrArrayLayers, dimension }: GPUTexture,
  level: number,
): [width: number, height: number, depthOrArrayLayers: number] {
  const halved = (length: number) => Math.max(length >> level, 1);
  const depth = dimension === "3d" ? halved(depthOrArrayLayers) : depthOrArrayLayers;
  return [halved(width), halved(height), depth];
}

const isChanged = (before: Uint8Array, after: Uint8Array) => before.some((byte, i) => byte !== after[i]);

const placeIn = ({ source }: KnownKernel, offset: number): string => {
  const { line, start } = lineAt(source.source, offset);
  return `line ${line}, column ${offset - start + 1}`;
};

/** Copies the plain data of an argument, which a program may change after the call. */
function copied(value: unknown): unknown {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return (value as Uint8Array).slice();
  if (value instanceof DataView || value instanceof ArrayBuffer) return structuredClone(value);
  if (Array.isArray(value)) return value.map(copied);
  const isPlain =
    value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copied(each)]))
    : value;
}
