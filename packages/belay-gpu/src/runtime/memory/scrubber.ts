/** Has the memory of a device scrubbed at intervals for as long as the device lives; keeps no process alive. */
export function scrubAtIntervals(
  device: GPUDevice,
  milliseconds: number,
  scrub: () => Promise<unknown>,
): void {
  let isScrubbing = false;
  const timer = setInterval(() => {
    if (isScrubbing) return;
    isScrubbing = true;
    void scrub().finally(() => {
      isScrubbing = false;
    });
  }, milliseconds);
  (timer as { unref?: () => void }).unref?.();
  void device.lost.then(() => clearInterval(timer));
}
