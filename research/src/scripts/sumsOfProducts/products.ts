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
 * TensorFlow.js with matrices of this side, unless it is 0. Leaves out programs with other names.
 */
export async function* capturedProducts(
  newDevice: NewDevice,
  sizes: readonly number[],
  side: number,
  names = /^/,
): AsyncGenerator<ProgramDispatch> {
  for (const size of sizes) {
    const program = `own product, ${size}`;
    if (names.test(program)) yield { program, dispatch: await ownProduct(newDevice, size) };
  }
  if (side === 0) return;
  for (const { name, run } of await sumOperations(side)) {
    const program = `TensorFlow.js ${name}`;
    if (!names.test(program)) continue;
    for (const dispatch of await dispatchesOf(newDevice, run)) yield { program, dispatch };
  }
}

/** Returns the dispatch of the own product of square matrices. */
export async function ownProduct(newDevice: NewDevice, rows: number): Promise<CapturedDispatch> {
  const run = async (device: GPUDevice) => void (await create({ rows }).workload(device));
  const [dispatch] = await dispatchesOf(newDevice, run);
  return dispatch!;
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
