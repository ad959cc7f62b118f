/** Returns a storage buffer that holds `data`. */
export function uploadBuffer(
  device: GPUDevice,
  data: Uint32Array | Float32Array,
  usage: GPUBufferUsageFlags = GPUBufferUsage.STORAGE,
): GPUBuffer {
  const buffer = device.createBuffer({ size: data.byteLength, usage, mappedAtCreation: true });
  const Elements = data instanceof Uint32Array ? Uint32Array : Float32Array;
  new Elements(buffer.getMappedRange()).set(data);
  buffer.unmap();
  return buffer;
}

/** Returns a storage buffer for results. */
export function resultBuffer(device: GPUDevice, bytes: number): GPUBuffer {
  return device.createBuffer({
    size: bytes,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  });
}

/** Copies buffers to the host, one after the other. */
export async function readBuffers(device: GPUDevice, ...buffers: readonly GPUBuffer[]): Promise<ArrayBuffer> {
  const size = buffers.reduce((sum, buffer) => sum + buffer.size, 0);
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  let offset = 0;
  for (const buffer of buffers) {
    encoder.copyBufferToBuffer(buffer, 0, staging, offset, buffer.size);
    offset += buffer.size;
  }
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const bytes = staging.getMappedRange().slice(0);
  staging.destroy();
  return bytes;
}

/** Returns a bind group of `pipeline` with whole buffers at bindings 0, 1, 2… */
export function bindBuffers(
  device: GPUDevice,
  pipeline: GPUComputePipeline,
  ...buffers: readonly GPUBuffer[]
): GPUBindGroup {
  return device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
}

/**
 * Returns a two-dimensional grid with at least `workgroups` workgroups, for counts beyond the limit
 * of one dimension. The kernel numbers them `group.x + group.y * groups.x`, and has to check its
 * bounds.
 */
export function gridOf(workgroups: number): [x: number, y: number] {
  const x = Math.min(workgroups, 1 << 14);
  return [x, Math.ceil(workgroups / x)];
}
