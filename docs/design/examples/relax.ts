/** Runs a loop of which one iteration in a thousand needs the result of the one before it. */
import { requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import { useDevice } from "belay-speculate";

export async function relax(a: Float32Array, p: Uint32Array, q: Uint32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a) precision(f32)
  for (let i = 0; i < n; i++) {
    a[p[i]!] = a[q[i]!]! * 0.5 + 1;
  }
}

const { adapter, close } = await openGpu();
useDevice(await requestFullDevice(adapter), {
  onExecuted: ({ name }, { plans, rounds, committed, misspeculated }) =>
    console.log(name, { plans, rounds, committed, misspeculated }),
});
const n = 1 << 20;
const p = Uint32Array.from({ length: n }, (_, i) => i);
const q = Uint32Array.from({ length: n }, (_, i) => (i % 1000 === 999 ? i - 1 : i));
await relax(new Float32Array(n), p, q, n);
close();
