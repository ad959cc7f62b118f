/** Runs a program on a hardened device, and prints parts of the device's report. */
import { harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import blur from "./blur.ts";

const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { memory: "secded128" });
device.belay.addEventListener("unprotected", (event) => event.preventDefault());
await blur(device);

const { kernels, memory, ...counts } = await device.belay.report();
for (const { kernel, redundancy, chosen, diagnostics, detections } of kernels) {
  console.log(`${kernel}: ${redundancy}, ${chosen!.pairing}, detections ${detections}`);
  for (const { line, column, code, message } of diagnostics)
    console.log(`  ${line}:${column} ${code} ${message}`);
}
for (const { label, size, corrected, uncorrectable } of memory!.buffers)
  console.log(`buffer ${label}: ${size} bytes, corrected ${corrected}, uncorrectable ${uncorrectable}`);
const { checks, replays, recoveries, giveUps, faults } = counts;
console.log({ checks, replays, recoveries, giveUps, faults });
close();
