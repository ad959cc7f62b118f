import { create } from "../../workloads/samples/matrixProduct.js";
import { type CapturedDispatch, captureDispatches } from "./captured.js";
import { sumOperations } from "./operations.js";

export type NewDevice = () => Promise<GPUDevice>;

/** A dispatch that a program makes. */
interface ProgramDispatch {
  readonly program: string;
  readonly dispatch: CapturedDispatch;
}

/**
 * Yields the dispatches of own products of matrices of these sizes, and of operations of
 * TensorFlow.js with matrices of this side, unless it is 0.
 */
export async function* capturedProducts(
  newDevice: NewDevice,
  sizes: readonly number[],
  side: number,
): AsyncGenerator<ProgramDispatch> {
  for (const size of sizes) {
    const run = async (device: GPUDevice) => void (await create({ rows: size }).workload(device));
    for (const dispatch of await dispatchesOf(newDevice, run))
      yield { program: `own product, ${size}`, dispatch };
  }
  if (side === 0) return;
  for (const { name, run } of await sumOperations(side))
    for (const dispatch of await dispatchesOf(newDevice, run))
      yield { program: `TensorFlow.js ${name}`, dispatch };
}

/** Returns the different dispatches of a program. */
export async function dispatchesOf(
  newDevice: NewDevice,
  run: (device: GPUDevice) => Promise<void>,
): Promise<CapturedDispatch[]> {
  const device = await newDevice();
  const dispatches = captureDispatches(device);
  await run(device);
  device.destroy();
  const key = (each: CapturedDispatch) => JSON.stringify([each.source, each.grid, each.constants]);
  return [...new Map(dispatches.map((each) => [key(each), each])).values()];
}
