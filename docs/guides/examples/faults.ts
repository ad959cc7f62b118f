/** Injects a fault into a program, once for a moment and once for good, and prints the events. */
import { FaultError, harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import blur, { code } from "./blur.ts";

const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { check: "store", injectFaults: true });
for (const type of ["detection", "fault", "recovery", "giveUp"] as const)
  device.belay.addEventListener(type, ({ message }) => console.log(`${type}: ${message}`));

await blur(device); // creates the pipeline, whose fault sites can be listed then
const [{ kernel, sites }] = device.belay.faultSites() as [ReturnType<typeof device.belay.faultSites>[0]];
const sum = sites.find(({ span }) =>
  code.startsWith("0.25 * left + 0.5 * a[id.x] + 0.25 * right", span.start),
)!;

for (const permanent of [false, true]) {
  const where = { workgroup: [0, 0, 0], localIndex: 3, replica: 0 } as const;
  device.belay.arm({ kernel, site: sum.id, effect: { xor: 1 << 22 }, ...where, permanent });
  try {
    const { b } = await blur(device);
    console.log("b[3] =", b[3]);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    console.log(`${error.name} ${error.code}: ${error.faults.length} fault in ${error.faults[0]!.kernel}`);
  }
}
close();
