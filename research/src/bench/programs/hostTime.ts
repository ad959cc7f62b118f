/** The time that the host spends on calls, apart from the GPU's work. */
import { median } from "simple-statistics";

/** The microseconds of host time for each call. */
export interface HostTimes {
  /** A dispatch in a command buffer of its own, its submission included. */
  readonly dispatch: number;
  /** A dispatch in a pass with many others. */
  readonly dispatchInPass: number;
  readonly createBuffer: number;
  readonly writeBuffer: number;
}

const CODE = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn count(@builtin(global_invocation_id) id: vec3u) { data[id.x]++; }`;

/** Measures calls on devices in alternation, `runs` times each. Resolves to a median per device. */
export async function measureHostTimes(
  devices: readonly GPUDevice[],
  { calls, runs }: { readonly calls: number; readonly runs: number },
): Promise<HostTimes[]> {
  const measured = devices.map(() => ({
    dispatch: [] as number[],
    dispatchInPass: [] as number[],
    createBuffer: [] as number[],
    writeBuffer: [] as number[],
  }));
  const prepared = devices.map(prepare);
  // The first round compiles.
  for (let run = 0; run <= runs; run++) {
    for (const [i, calling] of prepared.entries()) {
      for (const [name, times] of Object.entries(measured[i]!)) {
        const microseconds = await calling[name as keyof HostTimes](calls);
        if (run > 0) times.push(microseconds);
      }
    }
  }
  return measured.map(({ dispatch, dispatchInPass, createBuffer, writeBuffer }) => ({
    dispatch: median(dispatch),
    dispatchInPass: median(dispatchInPass),
    createBuffer: median(createBuffer),
    writeBuffer: median(writeBuffer),
  }));
}

type Calling = { readonly [Name in keyof HostTimes]: (calls: number) => Promise<number> };

function prepare(device: GPUDevice): Calling {
  const module = device.createShaderModule({ code: CODE });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size: 1024, usage });
  const layout = pipeline.getBindGroupLayout(0);
  const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
  const inPass = (count: number) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let i = 0; i < count; i++) pass.dispatchWorkgroups(4);
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
  /** Returns the microseconds of each call, and waits for the device. */
  const timed = async (calls: number, act: () => void) => {
    const start = performance.now();
    act();
    const microseconds = (1000 * (performance.now() - start)) / calls;
    await device.queue.onSubmittedWorkDone();
    return microseconds;
  };
  const data = new Uint32Array(256);
  return {
    dispatch: (calls) =>
      timed(calls, () => {
        for (let i = 0; i < calls; i++) inPass(1);
      }),
    dispatchInPass: (calls) => timed(calls, () => inPass(calls)),
    createBuffer: async (calls) => {
      const made: GPUBuffer[] = [];
      const microseconds = await timed(calls, () => {
        for (let i = 0; i < calls; i++) made.push(device.createBuffer({ size: 1024, usage }));
      });
      for (const each of made) each.destroy();
      return microseconds;
    },
    writeBuffer: (calls) =>
      timed(calls, () => {
        for (let i = 0; i < calls; i++) device.queue.writeBuffer(buffer, 0, data);
      }),
  };
}
