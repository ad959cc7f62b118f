/** Runs a program on a hardened device. */
import { harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import blur from "./blur.ts";

const { adapter, close } = await openGpu(); // in a page: await navigator.gpu.requestAdapter()
const device = harden(await requestFullDevice(adapter));
device.belay.addEventListener("fault", ({ message }) => console.error(message));

const { b } = await blur(device); // the program, unchanged
console.log("b[3] =", b[3]);

const { kernels, checks } = await device.belay.report();
for (const { kernel, redundancy, dispatches } of kernels)
  console.log(`kernel ${kernel}: redundancy ${redundancy}, dispatches ${dispatches}`);
console.log("verifications:", checks);
close();
