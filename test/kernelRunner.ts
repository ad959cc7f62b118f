/** Runs one compute kernel on plain buffers, protected or not, without the hardened device. */
import { type ProtectResult, reportWords } from "../src/compiler/contract.ts";

export interface KernelInput {
  /** Contents of the storage buffers of group 0, by binding; each must have a multiple of four bytes. */
  readonly buffers: Readonly<Record<number, Uint32Array<ArrayBuffer>>>;
  readonly workgroups: readonly [number, number, number];
  readonly entryPoint?: string;
  readonly constants?: Record<string, number>;
}

export interface KernelOutput {
  /** Contents afterwards, by binding. */
  readonly buffers: Record<number, Uint32Array>;
  /** The report buffer's words; empty for an unprotected kernel. */
  readonly report: Uint32Array;
}

/** A fault to arm: `reportWords` names to values. */
export type Armed = Partial<Record<keyof typeof reportWords, number>>;

/** Runs unprotected source, or what `protect` made of it; throws with the compiler's message when it is invalid. */
export async function runKernel(
  device: GPUDevice,
  kernel: string | ProtectResult,
  input: KernelInput,
  armed: Armed = {},
): Promise<KernelOutput> {
  const code = typeof kernel === "string" ? kernel : kernel.code;
  const layout = typeof kernel === "string" ? null : kernel.layout;
  const module = device.createShaderModule({ code });
  const { entryPoint, constants } = input;
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module, ...(entryPoint ? { entryPoint } : {}), ...(constants ? { constants } : {}) },
  });
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const upload = (words: Uint32Array<ArrayBuffer>) => {
    const buffer = device.createBuffer({ size: words.byteLength, usage: STORAGE | COPY_SRC | COPY_DST });
    device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  };
  const buffers = new Map(
    Object.entries(input.buffers).map(([binding, words]) => [Number(binding), upload(words)]),
  );
  const reportStart = new Uint32Array(reportWords.total);
  for (const [name, value] of Object.entries(armed)) reportStart[reportWords[name as keyof Armed]] = value;
  const report = layout && upload(reportStart);

  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const bind = (group: number, bound: Iterable<[number, GPUBuffer]>) => {
    const entries = [...bound].map(([binding, buffer]) => ({ binding, resource: { buffer } }));
    pass.setBindGroup(group, device.createBindGroup({ layout: pipeline.getBindGroupLayout(group), entries }));
  };
  bind(0, buffers);
  if (layout && report) bind(layout.group, [[layout.binding, report]]);
  pass.dispatchWorkgroups(...input.workgroups);
  pass.end();
  const readers = [...buffers, ...(report ? [[-1, report] as const] : [])].map(([binding, buffer]) => {
    const reader = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
    encoder.copyBufferToBuffer(buffer, 0, reader, 0, buffer.size);
    return { binding, reader };
  });
  device.queue.submit([encoder.finish()]);

  const output: KernelOutput = { buffers: {}, report: new Uint32Array(0) };
  let words = output.report;
  for (const { binding, reader } of readers) {
    await reader.mapAsync(GPUMapMode.READ);
    const contents = new Uint32Array(reader.getMappedRange().slice(0));
    if (binding < 0) words = contents;
    else output.buffers[binding] = contents;
    reader.destroy();
  }
  for (const buffer of buffers.values()) buffer.destroy();
  report?.destroy();
  return { ...output, report: words };
}
