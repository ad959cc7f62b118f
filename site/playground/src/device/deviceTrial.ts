/** Trials of the device of this machine, with the kernels of the playground in addition. */
import { type KernelCase, type KernelToQualify, type Qualification, qualify } from "belay-gpu/qualify";
import { examples } from "../kernel/examples.ts";
import { readRunnable } from "../kernel/runnable.ts";
import { newDevice } from "../page/adapter.ts";
import { type Driver, drivers, withDriver } from "./drivers.ts";

/** The result of a trial. */
export interface DeviceTrial extends Qualification {
  readonly milliseconds: number;
}

/** Recorded trials, by the names of the drivers. */
export interface RecordedTrials {
  readonly adapter: string;
  readonly date: string;
  readonly trials: Readonly<Record<string, DeviceTrial>>;
}

/** The kernels of the playground, as the view of kernels runs them. */
const ownKernels: readonly KernelToQualify[] = examples.map(({ title, source }) => {
  const { buffers, grid } = readRunnable(source).runnable!;
  const given = buffers.map(({ binding, contents }) => ({ group: 0, binding, data: contents }));
  return { name: title, source, workgroups: grid, buffers: given };
});

/** Tries the device of this machine with a driver. `finished` is called with each tried kernel. */
export async function tryDevice(
  driver: Driver,
  signal?: AbortSignal,
  finished: (kernel: KernelCase, total: number) => void = () => {},
): Promise<DeviceTrial> {
  const device = withDriver(await newDevice(), driver);
  const begun = performance.now();
  try {
    const result = await qualify(device, {
      kernels: ownKernels,
      signal,
      onProgress: (progress) => progress.finished && finished(progress.finished, progress.total),
    });
    return { ...result, milliseconds: performance.now() - begun };
  } finally {
    device.destroy();
  }
}

/** Tries the device with all drivers of the picker, by their names. */
export async function tryAllDrivers(): Promise<Record<string, DeviceTrial>> {
  const tried: Record<string, DeviceTrial> = {};
  for (const driver of drivers) tried[driver.name] = await tryDevice(driver);
  return tried;
}
