/** Reacts to faults. */
import { FaultError, type HardenedDevice } from "belay-gpu";
import blur from "./blur.ts";

/** Sends the faults of a device to its owner. */
export function listen(device: HardenedDevice, report: (...words: unknown[]) => void): void {
  device.belay.addEventListener("fault", ({ message, detail }) =>
    report(message, detail.kernel, detail.outcome),
  );
  device.belay.addEventListener("unprotected", ({ detail }) => report(`${detail.kernel} runs unprotected`));
}

/** Runs the program, and once more on another device if the first one fails. */
export async function blurSomewhere(device: HardenedDevice, anotherDevice: () => Promise<HardenedDevice>) {
  try {
    return await blur(device);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return await blur(await anotherDevice());
  }
}
