/** Functions that copy words into buffers and out of them. */

export function upload(device: GPUDevice, words: readonly number[], more = 0): GPUBuffer {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST | more;
  const buffer = device.createBuffer({ size: 4 * words.length, usage });
  device.queue.writeBuffer(buffer, 0, Uint32Array.from(words));
  return buffer;
}

export async function download(device: GPUDevice, buffer: GPUBuffer): Promise<number[]> {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const readBack = device.createBuffer({ size: buffer.size, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  const words = [...new Uint32Array(readBack.getMappedRange())];
  readBack.destroy();
  return words;
}
