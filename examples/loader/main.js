/** A model on a device that was tried before, and whose kernels are audited. */

import * as tf from "@tensorflow/tfjs-core";
import { loadLayersModel } from "@tensorflow/tfjs-layers";
import { openBackend } from "./backend.js";

const lines = [];

/** Makes a mistake of a driver in a kernel of TensorFlow.js. The trial cannot know this kernel. */
function changeDriver(device) {
  const createShaderModule = device.createShaderModule.bind(device);
  device.createShaderModule = ({ code }) =>
    createShaderModule({ code: code.replace("sumValues[0] + sumValues[1]", "sumValues[0]") });
}

/** Loads the model into the current backend, and computes `xor` of all pairs of bits. */
async function compute() {
  const model = await loadLayersModel("./model.json");
  const pairs = tf.tensor2d([0, 0, 0, 1, 1, 0, 1, 1], [4, 2]);
  return (await model.predict(pairs).data()).join(" ");
}

const device = await openBackend({ tell: (line) => lines.push(line), changeDriver });
lines.push(`xor: ${await compute()}`);
const { audit } = (await device?.belay.report()) ?? {};
if (audit?.disagreed) {
  lines.push(`audit: ${audit.disagreed} of ${audit.workgroups} workgroups are wrong`);
  await tf.setBackend("cpu");
  lines.push(`xor on the CPU: ${await compute()}`);
}
document.querySelector("#output").textContent = lines.join("\n");
