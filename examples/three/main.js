/** A compute node of three.js on a hardened device. The library does not know Belay. */
import { harden, requestFullDevice } from "belay-gpu";
import { Fn, instancedArray, instanceIndex } from "three/tsl";
import { WebGPURenderer } from "three/webgpu";

const adapter = await navigator.gpu.requestAdapter();
if (!adapter) throw new Error("this browser has no WebGPU");
const device = harden(await requestFullDevice(adapter));
const renderer = new WebGPURenderer({ device });
await renderer.init();

const squares = instancedArray(256, "float");
const square = Fn(() => {
  const number = instanceIndex.toFloat();
  squares.element(instanceIndex).assign(number.mul(number));
})().compute(256);
await renderer.computeAsync(square);
const numbers = new Float32Array(await renderer.getArrayBufferAsync(squares.value));

const { kernels, checks, faults } = await device.belay.report();
const covered = kernels.filter(({ redundancy }) => redundancy !== "none").length;
document.querySelector("#output").textContent = [
  `12 * 12 = ${numbers[12]}`,
  `protected kernels: ${covered} of ${kernels.length}, checks: ${checks}, faults: ${faults.length}`,
].join("\n");
