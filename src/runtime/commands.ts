import type { Kernel } from "./kernels.ts";
import { original, shadow } from "./nativeObjects.ts";
import type { Pipelines, ReportBinding } from "./pipelines.ts";
import type { Access, Resource, Resources } from "./resources.ts";

/** What a command buffer does: what verification needs to know of it, and how to encode it again. */
export interface CommandRecord extends Access {
  /** Dispatches of each protected kernel. */
  readonly dispatches: Map<Kernel, number>;
  /** The commands, to be encoded again in this order. */
  readonly steps: ((encoder: GPUCommandEncoder) => void)[];
  /** Why the commands cannot be encoded again, if so. */
  obstacle?: string;
}

/** A native method with several signatures, called with whatever the program passed. */
type AnyArguments = (...args: unknown[]) => undefined;

type PassStep = (pass: GPUComputePassEncoder) => void;

/** Follows command encoders: binds reports before dispatches and records what each command buffer does. */
export class Commands {
  readonly #pipelines: Pipelines;
  readonly #resources: Resources;
  readonly #records = new WeakMap<GPUCommandBuffer, CommandRecord>();

  constructor(pipelines: Pipelines, resources: Resources) {
    this.#pipelines = pipelines;
    this.#resources = resources;
  }

  /** The record of commands that are being submitted, which happens once. */
  takeRecord(commands: GPUCommandBuffer): CommandRecord | undefined {
    const record = this.#records.get(commands);
    this.#records.delete(commands);
    return record;
  }

  follow(encoder: GPUCommandEncoder): void {
    const record: CommandRecord = {
      touched: new Set(),
      written: new Set(),
      dispatches: new Map(),
      steps: [],
    };
    const beginComputePass = original(encoder, "beginComputePass");
    const finish = original(encoder, "finish");
    followTransfers(encoder, record);
    followGraphics(encoder, record);
    shadow(encoder, {
      beginComputePass: (descriptor) => {
        const pass = beginComputePass(descriptor);
        const steps: PassStep[] = [];
        this.#followPass(pass, record, steps);
        const { timestampWrites, ...rest } = descriptor ?? {};
        const copy = { ...rest, ...(timestampWrites && { timestampWrites: { ...timestampWrites } }) };
        record.steps.push((again) => {
          const passAgain = again.beginComputePass(copy);
          for (const step of steps) step(passAgain);
          passAgain.end();
        });
        return pass;
      },
      finish: (descriptor) => {
        const commands = finish(descriptor);
        this.#records.set(commands, record);
        return commands;
      },
    });
  }

  #followPass(pass: GPUComputePassEncoder, record: CommandRecord, steps: PassStep[]): void {
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

    const bind = (...args: readonly unknown[]) => {
      setBindGroup(...args);
      steps.push((again) => (again.setBindGroup as AnyArguments)(...args));
    };
    const beforeDispatch = () => {
      const report = pipeline && this.#pipelines.reportBinding(pipeline);
      if (bound && bound.group !== report?.group) {
        // The next kernel may use the program's own group at this index.
        const own = groups.get(bound.group);
        if (own) bind(...own);
        bound = undefined;
      }
      if (report) {
        if (bound !== report) bind(report.group, report.bindGroup);
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
        steps.push((again) => again.setPipeline(next));
        pipeline = next;
      },
      setBindGroup: (index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]) => {
        // Copied because the program may change its array afterwards.
        const copies = offsets.map((each) =>
          ArrayBuffer.isView(each) ? (each as Uint32Array).slice() : each,
        );
        const args = [index, group ?? null, ...copies] as const;
        bind(...args);
        groups.set(index, args);
        if (bound?.group === index) bound = undefined;
      },
      dispatchWorkgroups: (x, y, z) => {
        beforeDispatch();
        dispatchWorkgroups(x, y, z);
        steps.push((again) => again.dispatchWorkgroups(x, y, z));
      },
      dispatchWorkgroupsIndirect: (buffer, offset) => {
        beforeDispatch();
        dispatchWorkgroupsIndirect(buffer, offset);
        record.touched.add(buffer);
        steps.push((again) => again.dispatchWorkgroupsIndirect(buffer, offset));
      },
    });
  }
}

/** Records what moves data between buffers. */
function followTransfers(encoder: GPUCommandEncoder, record: CommandRecord): void {
  const copyBufferToBuffer = original(encoder, "copyBufferToBuffer") as AnyArguments;
  const clearBuffer = original(encoder, "clearBuffer");
  const resolveQuerySet = original(encoder, "resolveQuerySet");
  shadow(encoder, {
    copyBufferToBuffer: (source: GPUBuffer, ...rest: unknown[]) => {
      copyBufferToBuffer(source, ...rest);
      record.steps.push((again) => (again.copyBufferToBuffer as AnyArguments)(source, ...rest));
      transfer(record, source, (typeof rest[0] === "object" ? rest[0] : rest[1]) as GPUBuffer);
    },
    clearBuffer: (buffer, offset, size) => {
      clearBuffer(buffer, offset, size);
      record.steps.push((again) => again.clearBuffer(buffer, offset, size));
      transfer(record, buffer, buffer);
    },
    resolveQuerySet: (querySet, first, count, destination, offset) => {
      resolveQuerySet(querySet, first, count, destination, offset);
      record.steps.push((again) => again.resolveQuerySet(querySet, first, count, destination, offset));
      transfer(record, destination, destination);
    },
  });
}

/** Records what is not encoded again: textures have no snapshots. */
function followGraphics(encoder: GPUCommandEncoder, record: CommandRecord): void {
  const copyBufferToTexture = original(encoder, "copyBufferToTexture");
  const copyTextureToBuffer = original(encoder, "copyTextureToBuffer");
  const copyTextureToTexture = original(encoder, "copyTextureToTexture");
  const beginRenderPass = original(encoder, "beginRenderPass");
  shadow(encoder, {
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
    beginRenderPass: (descriptor) => {
      record.obstacle = "it renders";
      return beginRenderPass(descriptor);
    },
  });
}

function transfer(record: Access, source: Resource, destination: Resource): void {
  record.touched.add(source).add(destination);
  record.written.add(destination);
}
