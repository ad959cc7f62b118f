/** A model of jax-js, which opens a device by itself, on a device that was tried before. */

import { defaultDevice, init, nn, numpy as np } from "@jax-js/jax";
import { harden, requestFullDevice } from "belay-gpu";
import { qualify } from "belay-gpu/qualify";

/** Lets the library open this device in place of a new one. */
function offer(device) {
  const { features, limits, adapterInfo: info } = device;
  const adapter = { features, limits, info, requestDevice: async () => device };
  Object.defineProperty(navigator, "gpu", { value: { requestAdapter: async () => adapter } });
}

/** Tries a device, and returns the backend for jax-js: the hardened device, or the CPU. */
async function openBackend() {
  const adapter = await navigator.gpu?.requestAdapter();
  const device = adapter && (await requestFullDevice(adapter));
  const { verdict } = device ? await qualify(device) : { verdict: "not-usable" };
  if (verdict === "not-usable") return { verdict, backend: "wasm" };
  const hardened = harden(device);
  offer(hardened);
  return { verdict, backend: "webgpu", hardened };
}

const { verdict, backend, hardened } = await openBackend();
await init(backend);
defaultDevice(backend);

/** Two layers that compute the exclusive or of two bits. */
const hidden = nn.relu(
  np.matmul(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[1, 1], [1, 1]])).add(np.array([0, -1])),
);
const xor = await np.matmul(hidden, np.array([[1], [-2]])).jsAsync();
const report = await hardened?.belay.report();
document.querySelector("#output").textContent = [
  `verdict: ${verdict}`,
  `xor: ${xor.flat().join(" ")}`,
  `faults: ${report?.faults.length}, checks: ${report?.checks}`,
].join("\n");
