/** Runs kernels on the GPU of this machine. */
import { type BelayEventType, FaultError, type HardenedDevice, harden } from "belay-gpu";
import { median } from "belay-gpu/internal/runtime/tuning/median";
import { newDevice } from "../page/adapter.ts";
import type {
  CleanRun,
  Heard,
  KernelCost,
  KernelProtection,
  KernelResults,
  StrikeFault,
  StruckRun,
} from "./results.ts";
import { invocationAt, type Runnable } from "./runnable.ts";

/** A device with the pipeline of one kernel. */
interface Session<Device extends GPUDevice> {
  readonly key: string;
  readonly device: Device;
  readonly pipeline: GPUComputePipeline;
}

const events = ["detection", "recovery", "fault", "giveUp", "unverified"] as const satisfies BelayEventType[];
const rounds = 9;
const dispatches = 10;

/** The GPU of this machine, with one device for the latest kernel and protection. */
export class Machine implements KernelResults {
  #session: Session<HardenedDevice> | undefined;

  async run(runnable: Runnable, protection: KernelProtection): Promise<CleanRun> {
    const session = await this.#open(runnable, protection);
    session.device.belay.disarm();
    const words = await execute(session, runnable, 1);
    const [kernel] = session.device.belay.faultSites();
    return { words, sites: kernel?.sites ?? [] };
  }

  async strike(runnable: Runnable, protection: KernelProtection, fault: StrikeFault): Promise<StruckRun> {
    const session = await this.#open(runnable, protection);
    const { belay } = session.device;
    const heard: Heard[] = [];
    const listening = new AbortController();
    for (const type of events)
      belay.addEventListener(
        type,
        ({ message, detail }) => {
          const line = "site" in detail ? detail.site?.line : undefined;
          heard.push({ type, message, ...(line !== undefined && { line }) });
        },
        { signal: listening.signal },
      );
    const { site, bit, replica, permanent } = fault;
    const { kernel } = belay.faultSites()[0]!;
    belay.arm({
      kernel,
      site,
      replica,
      effect: { xor: (2 ** bit) | 0 },
      permanent,
      ...invocationAt(runnable, fault.pixel)!,
    });
    try {
      const words = await execute(session, runnable, 1).catch((error: unknown) => {
        if (error instanceof FaultError) return null;
        throw error;
      });
      const { strikes, before, after } = await belay.observed();
      return { words, struck: strikes > 0 ? { before, after } : null, heard };
    } finally {
      listening.abort();
      belay.disarm();
    }
  }

  async measure(runnable: Runnable, protection: KernelProtection): Promise<KernelCost> {
    const plain = await sessionOn(await newDevice(), runnable, "plain");
    const hardened = await sessionOn(harden(await newDevice(), protection), runnable, "hardened");
    try {
      const times = { plain: [] as number[], hardened: [] as number[] };
      // The first round warms both devices up.
      for (let round = 0; round <= rounds; round++)
        for (const { key, device, pipeline } of [plain, hardened]) {
          const begun = performance.now();
          await execute({ key, device, pipeline }, runnable, dispatches);
          if (round > 0) times[key as keyof typeof times].push(performance.now() - begun);
        }
      return { plain: median(times.plain), protected: median(times.hardened), rounds, dispatches };
    } finally {
      plain.device.destroy();
      hardened.device.destroy();
    }
  }

  close(): void {
    this.#session?.device.destroy();
    this.#session = undefined;
  }

  async #open(runnable: Runnable, protection: KernelProtection): Promise<Session<HardenedDevice>> {
    const key = JSON.stringify([runnable.source, protection]);
    if (this.#session?.key === key) return this.#session;
    this.close();
    const device = harden(await newDevice(), { ...protection, injectFaults: true });
    device.belay.addEventListener("unprotected", (event) => event.preventDefault());
    this.#session = await sessionOn(device, runnable, key);
    return this.#session;
  }
}

async function sessionOn<Device extends GPUDevice>(
  device: Device,
  { source: code, entryPoint }: Runnable,
  key: string,
): Promise<Session<Device>> {
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module, entryPoint },
  });
  return { key, device, pipeline };
}

/** Runs a kernel on new buffers. Resolves to the words of the shown buffer. */
async function execute(
  { device, pipeline }: Session<GPUDevice>,
  { buffers, grid, picture }: Runnable,
  times: number,
): Promise<Uint32Array<ArrayBuffer>> {
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const made = buffers.map(({ name, isUniform, contents }) => {
    const usage = (isUniform ? UNIFORM : STORAGE) | COPY_SRC | COPY_DST;
    const buffer = device.createBuffer({ label: name, size: Math.max(16, contents.byteLength), usage });
    device.queue.writeBuffer(buffer, 0, contents);
    return buffer;
  });
  const shown = made[buffers.findIndex(({ name }) => name === picture.name)]!;
  const staging = device.createBuffer({ size: shown.size, usage: MAP_READ | COPY_DST });
  try {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    if (made.length > 0) {
      const entries = buffers.map(({ binding }, place) => ({ binding, resource: { buffer: made[place]! } }));
      const layout = pipeline.getBindGroupLayout(0);
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    }
    for (let time = 0; time < times; time++) pass.dispatchWorkgroups(...grid);
    pass.end();
    encoder.copyBufferToBuffer(shown, 0, staging, 0, shown.size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return new Uint32Array(staging.getMappedRange().slice(0));
  } finally {
    for (const buffer of [...made, staging]) buffer.destroy();
  }
}
