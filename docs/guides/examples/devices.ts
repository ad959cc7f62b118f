/** Gives loops their device: one for all, or one for each call. */
import { requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import { resident, useDevice } from "belay-speculate";
import { deposit } from "./deposit.ts";

// biome-ignore lint/correctness/noUnusedFunctionParameters: the directive names the options.
export async function scale(a: Float32Array, n: number, options: { device: GPUDevice; signal: AbortSignal }) {
  "use speculate";
  //#pragma omp for target(webgpu) configure(options)
  for (let i = 0; i < n; i++) a[i] = Math.fround(a[i]! * 2);
}

const { adapter } = await openGpu();
const n = 1 << 20;
const where = new Uint32Array(n);
const cells = new Int32Array(n);
useDevice(await requestFullDevice(adapter), {
  onExecuted: ({ name }, { engine, plans, onCpu, reason }) => console.log(name, engine, plans, onCpu, reason),
});
const kept = resident(cells); // loops get `cells`, and find it on the GPU
await deposit(cells, where, n);
await kept.read(); // updates `cells` before the program looks at it
