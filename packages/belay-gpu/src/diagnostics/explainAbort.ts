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
