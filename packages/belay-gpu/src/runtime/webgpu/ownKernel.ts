import { flags, makeGroupSilently, makeSilently } from "./nativeObjects.ts";
import type { PassCommands } from "./passCommands.ts";
import { noOffsets } from "./replayStep.ts";
import { type BufferRange, placesOf } from "./resources.ts";
import { WeakCache } from "./weakCache.ts";

/** The descriptor of a kernel of Belay's own. */
export interface OwnKernelDescriptor {
  readonly label: string;
  /**
   * WGSL with one entry point. Its resources are storage buffers in group 0, with bindings from 0
   * on.
   */
  readonly code: string;
  readonly buffers: readonly ("read-only-storage" | "storage")[];
  readonly constants?: Readonly<Record<string, number>>;
}

/** The descriptor of a kernel's pipeline, with the objects that it needs. */
interface Described {
  readonly layout: GPUBindGroupLayout;
  readonly descriptor: GPUComputePipelineDescriptor;
}

/**
 * A small kernel of Belay's own. It runs in the program's passes, right before the dispatch that it
 * prepares.
 */
export class OwnKernel {
  readonly #device: GPUDevice;
  readonly #descriptor: OwnKernelDescriptor;
  readonly #groups = new WeakCache<GPUBindGroup>();
  #described: Described | undefined;
  #pipeline: GPUComputePipeline | undefined;

  constructor(device: GPUDevice, descriptor: OwnKernelDescriptor) {
    this.#device = device;
    this.#descriptor = descriptor;
  }

  /**
   * Begins to compile the kernel beside the program's work. Its first dispatch then need not wait
   * for the driver.
   */
  begin(): void {
    const { descriptor } = this.#description;
    const keep = (pipeline: GPUComputePipeline) => {
      this.#pipeline ??= pipeline;
    };
    // The first dispatch gets the reason.
    this.#device.createComputePipelineAsync(descriptor).then(keep, () => {});
  }

  /** Encodes one dispatch. Its pipeline and bind group stay set afterwards. */
  encode(commands: PassCommands, buffers: readonly BufferRange[], workgroups: number): void {
    this.dispatch(commands, this.bind(buffers), workgroups);
  }

  /** Returns the bind group of buffers. */
  bind(buffers: readonly BufferRange[]): GPUBindGroup {
    return this.#groups.get(
      buffers.map(({ buffer }) => buffer),
      placesOf(buffers),
      () => this.#makeGroup(this.#description.layout, buffers),
    );
  }

  /** Encodes one dispatch with a bind group that `bind` returned. */
  dispatch(commands: PassCommands, group: GPUBindGroup, workgroups: number): void {
    commands.noteAdded(group);
    commands.setPipeline(this.#ready);
    commands.setBindGroup(0, { group, offsets: noOffsets });
    commands.dispatchWorkgroups([workgroups]);
  }

  get #ready(): GPUComputePipeline {
    const { descriptor } = this.#description;
    this.#pipeline ??= makeSilently(this.#device, () => this.#device.createComputePipeline(descriptor)).made;
    return this.#pipeline;
  }

  get #description(): Described {
    this.#described ??= makeSilently(this.#device, () => this.#describe()).made;
    return this.#described;
  }

  #describe(): Described {
    const { label, code, buffers, constants = {} } = this.#descriptor;
    const layout = this.#device.createBindGroupLayout({
      label,
      entries: buffers.map((type, binding) => ({
        binding,
        visibility: flags.shaderStageCompute,
        buffer: { type },
      })),
    });
    const descriptor = {
      label,
      layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: this.#device.createShaderModule({ label, code }), constants: { ...constants } },
    };
    return { layout, descriptor };
  }

  #makeGroup(layout: GPUBindGroupLayout, buffers: readonly BufferRange[]): GPUBindGroup {
    const entries = buffers.map((resource, binding) => ({ binding, resource }));
    const { label } = this.#descriptor;
    return makeGroupSilently(this.#device, { label, layout, entries });
  }
}
