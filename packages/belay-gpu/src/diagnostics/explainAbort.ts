/**
 * Returns an error that names the loss of the device, if the error of a mapping says nothing.
 * `when` ends its message. Returns the error itself if the device is not lost.
 */
export async function explainAbort(device: GPUDevice, error: unknown, when: string): Promise<unknown> {
  const { name, message } = error as Partial<DOMException>;
  if (name !== "AbortError" || message) return error;
  const lost = await Promise.race([device.lost, undefined]);
  if (!lost) return error;
  const event = lost.reason === "destroyed" ? "closed" : `lost (${lost.message})`;
  return new DOMException(`the device was ${event} ${when}`, name);
}

/** Maps a buffer for reading. Rejects with the loss of the device, if it is the reason. */
export async function mapToRead(device: GPUDevice, buffer: GPUBuffer): Promise<void> {
  try {
    // Hosts without WebGPU globals lack `GPUMapMode.READ`.
    await buffer.mapAsync(1);
  } catch (error) {
    throw await explainAbort(device, error, "before its results were read");
  }
}
