/** From now on tells the most bytes that the device's storage buffers had at once. */
export function countMemory(device: GPUDevice): () => number {
  let [bytes, most] = [0, 0];
  const createBuffer = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer(descriptor);
    let size = (descriptor.usage & GPUBufferUsage.STORAGE) === 0 ? 0 : descriptor.size;
    bytes += size;
    most = Math.max(most, bytes);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      bytes -= size;
      size = 0;
      destroy();
    };
    return buffer;
  };
  return () => most;
}
