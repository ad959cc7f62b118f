/** Hardens devices with different policies, and prints what became of the program's kernel. */
import { harden, type KernelReport, type Policy, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import blur from "./blur.ts";

const { gpu, close } = await openGpu();
const policies: Policy[] = [
  {},
  { redundancy: "inter" },
  { pairing: "adjacent", check: "store" },
  { kernels: { blur: { redundancy: "none" } } },
  { memroy: "secded128" } as Policy,
];
for (const policy of policies) {
  const adapter = (await gpu.requestAdapter())!;
  try {
    const device = harden(await requestFullDevice(adapter), policy);
    await blur(device);
    const [{ redundancy, chosen }] = (await device.belay.report()).kernels as [KernelReport];
    console.log(JSON.stringify(policy), redundancy, chosen?.reason ?? "");
  } catch (error) {
    console.log(JSON.stringify(policy), `${error}`.replace(/are .*/, "are …"));
  }
}
close();
