/** Programs for the tests of campaigns: small, and some of them bad. */
import { readFileSync, writeFileSync } from "node:fs";
import type { CampaignProgram } from "belay-cli/internal/campaign/processes/readyProgram";
import type { Prepared, VerifiableProgram, Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { readBuffers, resultBuffer, uploadBuffer } from "belay-research/internal/workloads/buffers";

const SUM = /* wgsl */ `
@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
var<workgroup> shared_values: array<u32, 8>;

@compute @workgroup_size(8)
fn sum(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  shared_values[local] = values[id.x];
  workgroupBarrier();
  var total = id.x;
  for (var i = 0u; i < 3u; i++) {
    let next = shared_values[(local + i) % 8u];
    if (next > 500u) { total += next * 3u; }
  }
  sums[id.x] = total;
}`;

/** Sums of neighbors, 16 of them. */
const sum: VerifiableProgram = {
  workload: () => Promise.reject(new Error("prepared only")),
  prepare: (device): Prepared => {
    const module = device.createShaderModule({ code: SUM });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const values = uploadBuffer(
      device,
      Uint32Array.from({ length: 16 }, (_, i) => (i * 7919) % 1000),
    );
    const sums = resultBuffer(device, 64);
    const bindings = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [values, sums].map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    return {
      encode: (encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(2);
        pass.end();
      },
      read: async () => ({ sums: new Uint32Array(await readBuffers(device, sums)) }),
      destroy: () => {},
    };
  },
  verify: () => ({ ok: true, message: "" }),
  kernelSources: { sum: SUM },
  work: { bytes: 0, flops: 0 },
};

/** The sums, where every so many runs of a process something else happens in place of a run. */
function interrupted(every: number, happens: () => Promise<void>): VerifiableProgram {
  let runs = 0;
  return {
    ...sum,
    prepare: (device) => {
      const prepared = sum.prepare(device);
      return {
        ...prepared,
        read: async () => {
          if (++runs % every === 0) await happens();
          return prepared.read();
        },
      };
    },
  };
}

const WIDE = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(64)
fn wide(@builtin(global_invocation_id) id: vec3u) {
  var total = sums[id.x];
  for (var i = 0u; i < id.x % 5u; i++) { total += sums[(id.x * i) % 4096u] >> 31u; }
  sums[id.x] = total + id.x;
}`;

/** More executions of each site than a profile keeps, by workgroups that run in any order. */
const wide: VerifiableProgram = {
  ...sum,
  prepare: (device) => {
    const module = device.createShaderModule({ code: WIDE });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const sums = resultBuffer(device, 4 * 4096);
    const bindings = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: { buffer: sums } }],
    });
    return {
      encode: (encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(64);
        pass.end();
      },
      read: async () => ({ sums: new Uint32Array(await readBuffers(device, sums)) }),
      destroy: () => {},
    };
  },
  kernelSources: { wide: WIDE },
};

const never = () => new Promise<never>(() => {});
const output = (value: number) => Promise.resolve({ value: Float64Array.of(value) });
let calls = 0;

/**
 * Ends the process with the device as long as the file has a number above zero, which it counts
 * down.
 */
const killed: VerifiableProgram = {
  ...sum,
  prepare: (device) => {
    const left = Number(readFileSync(process.env.BELAY_TEST_KILLS!, "utf8"));
    if (left > 0) {
      writeFileSync(process.env.BELAY_TEST_KILLS!, String(left - 1));
      process.kill(process.pid, "SIGKILL");
    }
    return sum.prepare(device);
  },
};

const programs: Readonly<Record<string, Workload | VerifiableProgram>> = {
  sum,
  wide,
  killed,
  hanging: interrupted(20, never),
  dying: interrupted(20, async () => {
    process.stderr.write("the driver has had enough\n");
    process.exit(7);
  }),
  random: () => output(calls++),
  throwing: () => Promise.reject(new Error("out of cheese")),
  empty: async () => ({}),
  idle: () => output(1),
  endless: never,
  // As a driver that compiles for ever: the process has time for nothing else.
  blocking: async () => {
    writeFileSync(process.env.BELAY_TEST_PID!, String(process.pid));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return {};
  },
};

export async function programNamed(name: string): Promise<CampaignProgram> {
  return { name, digest: process.env.BELAY_TEST_DIGEST ?? "1", runs: programs[name]! };
}
