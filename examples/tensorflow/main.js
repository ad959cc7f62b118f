/** TensorFlow.js on a hardened device. The library does not know Belay. */

import * as tf from "@tensorflow/tfjs-core";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { harden, requestFullDevice } from "belay-gpu";

const adapter = await navigator.gpu.requestAdapter();
if (!adapter) throw new Error("this browser has no WebGPU");
const device = harden(await requestFullDevice(adapter));
tf.registerBackend("hardened", () => new WebGPUBackend(device));
tf.copyRegisteredKernels("webgpu", "hardened");
await tf.setBackend("hardened");
// Small tensors would otherwise not use the GPU.
tf.env().set("WEBGPU_CPU_FORWARD", false);

const a = tf.tensor2d([1, 2, 3, 4], [2, 2]);
const product = await tf.matMul(a, a).data();
const { kernels, checks, faults } = await device.belay.report();
const covered = kernels.filter(({ redundancy }) => redundancy !== "none").length;
document.querySelector("#output").textContent = [
  `product: ${[...product].join(" ")}`,
  `protected kernels: ${covered} of ${kernels.length}, checks: ${checks}, faults: ${faults.length}`,
].join("\n");
