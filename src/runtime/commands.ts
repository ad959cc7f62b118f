import type { Kernel } from "./kernels.ts";
import { original, shadow } from "./nativeObjects.ts";
import type { Pipelines, ReportBinding } from "./pipelines.ts";
import type { Access, Resource, Resources } from "./resources.ts";

/** What a command buffer does, as far as verification needs to know. */
export interface CommandRecord extends Access {
  /** Dispatches of each protected kernel. */
  readonly dispatches: Map<Kernel, number>;
}

/** A native method with several signatures, called with whatever the program passed. */
type AnyArguments = (...args: unknown[]) => undefined;

/** Follows command encoders: binds reports before dispatches and records what each command buffer reaches. */
export class Commands {
  readonly #pipelines: Pipelines;
  readonly #resources: Resources;
  readonly #records = new WeakMap<GPUCommandBuffer, CommandRecord>();

  constructor(pipelines: Pipelines, resources: Resources) {
    this.#pipelines = pipelines;
    this.#resources = resources;
  }

  recordOf(commands: GPUCommandBuffer): CommandRecord | undefined {
    return this.#records.get(commands);
  }

  follow(encoder: GPUCommandEncoder): void {
    const record: CommandRecord = { touched: new Set(), written: new Set(), dispatches: new Map() };
    const beginComputePass = original(encoder, "beginComputePass");
    const copyBufferToBuffer = original(encoder, "copyBufferToBuffer") as AnyArguments;
    const copyBufferToTexture = original(encoder, "copyBufferToTexture");
    const copyTextureToBuffer = original(encoder, "copyTextureToBuffer");
    const copyTextureToTexture = original(encoder, "copyTextureToTexture");
    const clearBuffer = original(encoder, "clearBuffer");
    const resolveQuerySet = original(encoder, "resolveQuerySet");
    const finish = original(encoder, "finish");
    shadow(encoder, {
      beginComputePass: (descriptor) => {
        const pass = beginComputePass(descriptor);
        this.#followPass(pass, record);
        return pass;
      },
      copyBufferToBuffer: (source: GPUBuffer, ...rest: unknown[]) => {
        const destination = (typeof rest[0] === "object" ? rest[0] : rest[1]) as GPUBuffer;
        copyBufferToBuffer(source, ...rest);
        transfer(record, source, destination);
      },
      copyBufferToTexture: (source, destination, size) => {
        copyBufferToTexture(source, destination, size);
        transfer(record, source.buffer, destination.texture);
      },
      copyTextureToBuffer: (source, destination, size) => {
        copyTextureToBuffer(source, destination, size);
        transfer(record, source.texture, destination.buffer);
      },
      copyTextureToTexture: (source, destination, size) => {
        copyTextureToTexture(source, destination, size);
        transfer(record, source.texture, destination.texture);
      },
      clearBuffer: (buffer, offset, size) => {
        clearBuffer(buffer, offset, size);
        transfer(record, buffer, buffer);
      },
      resolveQuerySet: (querySet, first, count, destination, offset) => {
        resolveQuerySet(querySet, first, count, destination, offset);
        transfer(record, destination, destination);
      },
      finish: (descriptor) => {
        const commands = finish(descriptor);
        this.#records.set(commands, record);
        return commands;
      },
    });
  }

  #followPass(pass: GPUComputePassEncoder, record: CommandRecord): void {
    const setPipeline = original(pass, "setPipeline");
    const setBindGroup = original(pass, "setBindGroup") as AnyArguments;
    const dispatchWorkgroups = original(pass, "dispatchWorkgroups");
    const dispatchWorkgroupsIndirect = original(pass, "dispatchWorkgroupsIndirect");
    /** The program's own bind groups by index: the arguments it set them with. */
    const groups = new Map<
      number,
      readonly [index: number, group: GPUBindGroup | null, ...offsets: unknown[]]
    >();
    let pipeline: GPUComputePipeline | undefined;
    let bound: ReportBinding | undefined;

    const beforeDispatch = () => {
      const report = pipeline && this.#pipelines.reportBinding(pipeline);
      if (bound && bound.group !== report?.group) {
        // The next kernel may use the program's own group at this index.
        const own = groups.get(bound.group);
        if (own) setBindGroup(...own);
        bound = undefined;
      }
      if (report) {
        if (bound !== report) setBindGroup(report.group, report.bindGroup);
        bound = report;
        record.dispatches.set(report.kernel, (record.dispatches.get(report.kernel) ?? 0) + 1);
      }
      for (const [, group] of groups.values()) {
        const access = group && this.#resources.accessOf(group);
        if (!access) continue;
        for (const resource of access.touched) record.touched.add(resource);
        for (const resource of access.written) record.written.add(resource);
      }
    };
    shadow(pass, {
      setPipeline: (next: GPUComputePipeline) => {
        setPipeline(next);
        pipeline = next;
      },
      setBindGroup: (index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]) => {
        setBindGroup(index, group, ...offsets);
        const copies = offsets.map((offset) =>
          ArrayBuffer.isView(offset) ? (offset as Uint32Array).slice() : offset,
        );
        groups.set(index, [index, group ?? null, ...copies]);
        if (bound?.group === index) bound = undefined;
      },
      dispatchWorkgroups: (x, y, z) => {
        beforeDispatch();
        dispatchWorkgroups(x, y, z);
      },
      dispatchWorkgroupsIndirect: (buffer, offset) => {
        beforeDispatch();
        dispatchWorkgroupsIndirect(buffer, offset);
        record.touched.add(buffer);
      },
    });
  }
}

function transfer(record: Access, source: Resource, destination: Resource): void {
  record.touched.add(source).add(destination);
  record.written.add(destination);
}
