/**
 * The browser's side of `browser.test.ts`: the package as a web page gets it, and the workloads.
 */
import { type ArmedFault, type DetectedFault, harden, type Policy, protect } from "belay-gpu";
import { createDecode } from "belay-research/internal/workloads/model/programs";
import { shapes } from "belay-research/internal/workloads/model/shape";
import type { Outputs, VerifiableProgram } from "belay-research/internal/workloads/program";
import { catalog } from "belay-research/internal/workloads/samples/index";
import * as sobelFilter from "belay-research/internal/workloads/samples/sobelFilter";

async function newDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error("the browser offers no WebGPU adapter");
  const features = (["subgroups"] as const).filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredFeatures: features });
  // An unexpected error ends the test that caused it, as an uncaught exception of the page.
  device.addEventListener("uncapturederror", ({ error }) => reportError(new Error(error.message)));
  return device;
}

/** Returns a program of the catalog, or the generation of a token by a transformer, by its name. */
const programOf = (name: string): VerifiableProgram =>
  name === "decode"
    ? createDecode({ shape: { ...shapes.campaign, prompt: 2, tokens: 1 } })
    : catalog.find((entry) => entry.name === name)!.small();

/**
 * Runs one workload on the plain and on the hardened device. Compares their results, and returns
 * the report of the hardened device.
 */
export async function compareRuns(name: string, policy: Policy) {
  const program = programOf(name);
  const plain = await newDevice();
  const device = await harden(plain, policy);
  const expected = await program.workload(plain);
  const actual = await program.workload(device);
  const { kernels, faults } = await device.belay.report();
  plain.destroy();
  return {
    isDevice: device instanceof GPUDevice,
    sameBits: sameBits(actual, expected),
    verdict: program.verify(actual),
    redundancy: kernels.map((kernel) => kernel.redundancy),
    faults,
  };
}

/** Strikes one run with a fault. Returns the verdict on its result and the detected faults. */
export async function strike(policy: Policy) {
  const program: VerifiableProgram = sobelFilter.create({ width: 5 });
  const plain = await newDevice();
  const device = await harden(plain, { ...policy, injectFaults: true });
  const heard: DetectedFault[] = [];
  device.belay.addEventListener("fault", ({ detail }) => heard.push(detail));
  await program.workload(device);
  const [kernel] = device.belay.faultSites();
  const source = program.kernelSources.sobel!;
  const site = kernel!.sites.find(
    ({ kind, span }) => kind === "value" && source.startsWith("even | (odd", span.start),
  )!;
  const fault: ArmedFault = {
    kernel: kernel!.kernel,
    site: site.id,
    effect: { xor: 1 << 22 },
    replica: 0,
    workgroup: [0, 0, 0],
    localIndex: 1,
  };
  device.belay.arm(fault);
  const right = program.verify(await program.workload(device)).ok;
  const strikes = await device.belay.strikes();
  plain.destroy();
  return { right, strikes, heard, line: source.split("\n")[(heard[0]?.site?.line ?? 0) - 1] };
}

/** Examines a hardened device and its objects through the prototypes of their classes. */
export async function lookThroughClasses() {
  const plain = await newDevice();
  const device = await harden(plain);
  const { STORAGE, COPY_DST, MAP_READ } = GPUBufferUsage;
  const { createBuffer } = GPUDevice.prototype;
  const [buffer, staging] = [STORAGE | COPY_DST, MAP_READ | COPY_DST].map((usage) =>
    createBuffer.call(device, { size: 16, usage }),
  ) as [GPUBuffer, GPUBuffer];
  const queue = Reflect.getOwnPropertyDescriptor(GPUDevice.prototype, "queue")!.get!.call(device);
  GPUQueue.prototype.submit.call(device.queue, []);
  await GPUBuffer.prototype.mapAsync.call(staging, GPUMapMode.READ);
  const encoder = device.createCommandEncoder();
  encoder.pushDebugGroup("open");
  device.pushErrorScope("validation");
  const commands = encoder.finish();
  device.queue.submit([commands]);
  const errors = [await device.popErrorScope()];
  device.pushErrorScope("validation");
  device.queue.submit([commands]);
  errors.push(await device.popErrorScope());
  const look = {
    usage: buffer.usage === (STORAGE | COPY_DST),
    own: Object.getOwnPropertyNames(buffer).concat(Object.getOwnPropertyNames(staging)),
    prototypes: [buffer, staging].every((each) => Object.getPrototypeOf(each) === GPUBuffer.prototype),
    queue: queue === device.queue,
    mapState: staging.mapState,
    errors: errors.map((error) => error instanceof GPUValidationError),
    plainUsage: createBuffer.call(plain, { size: 16, usage: STORAGE }).usage === STORAGE,
  };
  device.destroy();
  return look;
}

/** Returns the WGSL that the page's compiler makes of a kernel. */
export function protectInPage(source: string): string {
  return protect(source).code;
}

function sameBits(actual: Outputs, expected: Outputs): boolean {
  const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
    new Uint8Array(buffer, byteOffset, byteLength);
  return Object.entries(expected).every(([name, view]) => {
    const bytes = bytesOf(actual[name]!);
    return bytes.length === view.byteLength && bytesOf(view).every((byte, i) => byte === bytes[i]);
  });
}
