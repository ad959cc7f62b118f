/**
 * Programs that use the API in unusual orders. A hardened device on which a fault strikes gives
 * what the plain device gives, errors included.
 */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { sample } from "../../../../test/support/sample.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const { newDevice, sharedDevice } = testDevices({ full: true });
const CODE = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> args: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] = x[id.x] * 3u + 1u; }
@compute @workgroup_size(1) fn count(@builtin(global_invocation_id) id: vec3u) { args[0] = x[0] % 3u + 1u; args[1] = 1u; args[2] = 1u; }
`;
const N = 128;

/** Returns the parts of which programs are made. */
function programOf(device: GPUDevice) {
  const module = device.createShaderModule({ code: CODE });
  const buffer: GPUBufferBindingLayout = { type: "storage", hasDynamicOffset: true };
  const layout = device.createBindGroupLayout({ entries: [{ binding: 0, visibility: 4, buffer }] });
  const layouts = device.createPipelineLayout({ bindGroupLayouts: [layout] });
  const pipe = device.createComputePipeline({ layout: layouts, compute: { module, entryPoint: "main" } });
  const count = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "count" } });
  /** Creates a buffer of words with more usages than storage and copies. */
  const buf = (usage = 0, words = N) => {
    const made = device.createBuffer({ size: words * 4, usage: 4 | 8 | 128 | usage });
    device.queue.writeBuffer(
      made,
      0,
      Uint32Array.from({ length: words }, (_, i) => i + 1),
    );
    return made;
  };
  const enc = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    return encoder.finish();
  };
  const sub = (...commands: GPUCommandBuffer[]) => device.queue.submit(commands);
  const read = async (from: GPUBuffer) => {
    const to = device.createBuffer({ size: from.size, usage: 9 });
    sub(enc((encoder) => encoder.copyBufferToBuffer(from, 0, to, 0, from.size)));
    await to.mapAsync(1);
    return [...new Uint32Array(to.getMappedRange())];
  };
  /** Runs the kernel on a buffer, from a dynamic offset on. */
  const run = (encoder: GPUCommandEncoder, buffer: GPUBuffer, workgroups = 4, offset = 0) => {
    const pass = encoder.beginComputePass();
    const resource = { buffer, size: buffer.size - offset };
    pass.setPipeline(pipe);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries: [{ binding: 0, resource }] }), [offset]);
    pass.dispatchWorkgroups(workgroups);
    pass.end();
  };
  return { device, pipe, count, layout, buf, read, enc, run, sub };
}
type Program = ReturnType<typeof programOf>;

const scenarios: Record<string, (program: Program) => Promise<unknown>> = {
  "write while array changes": async ({ device, buf, enc, run, sub, read }) => {
    const b = buf();
    const a = new Uint32Array(N).fill(5);
    device.queue.writeBuffer(b, 0, a);
    a.fill(9);
    sub(enc((e) => run(e, b)));
    a.fill(11);
    return read(b);
  },
  "view into bigger array with offset": async ({ device, buf, enc, run, sub, read }) => {
    const b = buf();
    const a = Uint32Array.from({ length: 3 * N }, (_, i) => i * 5);
    device.queue.writeBuffer(b, 16, a.subarray(7), 3, 20);
    sub(enc((e) => run(e, b)));
    return read(b);
  },
  "map write, unmap, run, remap": async ({ device, buf, enc, run, sub, read }) => {
    const m = device.createBuffer({ size: N * 4, usage: 2 | 4, mappedAtCreation: true });
    const v = new Uint32Array(m.getMappedRange());
    v.fill(21);
    m.unmap();
    const b = buf();
    sub(
      enc((e) => {
        e.copyBufferToBuffer(m, 0, b, 0, N * 4);
        run(e, b);
      }),
    );
    await m.mapAsync(2);
    new Uint32Array(m.getMappedRange()).fill(99);
    m.unmap();
    return read(b);
  },
  "map write twice between": async ({ device, buf, enc, run, sub, read }) => {
    const m = device.createBuffer({ size: N * 4, usage: 2 | 4 });
    const b = buf();
    const out = [];
    for (const k of [3, 4]) {
      await m.mapAsync(2);
      new Uint32Array(m.getMappedRange()).fill(k);
      m.unmap();
      sub(
        enc((e) => {
          e.copyBufferToBuffer(m, 0, b, 0, N * 2);
          run(e, b);
        }),
      );
    }
    out.push(await read(b));
    return out;
  },
  "mapped partly, unmapped at once": async ({ device, buf, enc, run, sub }) => {
    const r = device.createBuffer({ size: N * 4, usage: 9 });
    const b = buf();
    sub(
      enc((e) => {
        run(e, b);
        e.copyBufferToBuffer(b, 0, r, 0, N * 4);
      }),
    );
    const p = r.mapAsync(1, 64, 64).then(
      () => "ok",
      (e) => e.name,
    );
    r.unmap();
    const q = await p;
    await r.mapAsync(1, 128, 64);
    return [
      q,
      [...new Uint32Array(r.getMappedRange(128, 32))],
      [...new Uint32Array(r.getMappedRange(160, 32))],
    ];
  },
  "two maps in flight": async ({ device, buf, enc, run, sub }) => {
    const b = buf(),
      c = buf();
    const rs = [b, c].map(() => device.createBuffer({ size: N * 4, usage: 9 }));
    sub(
      enc((e) => {
        run(e, b);
        e.copyBufferToBuffer(b, 0, rs[0]!, 0, N * 4);
        run(e, b);
        e.copyBufferToBuffer(b, 0, rs[1]!, 0, N * 4);
      }),
    );
    await Promise.all(rs.map((r) => r.mapAsync(1)));
    return rs.map((r) => [...new Uint32Array(r.getMappedRange())]);
  },
  "destroyed source after submit": async ({ buf, enc, run, sub, read }) => {
    const a = buf(),
      b = buf();
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, b, 0, N * 4);
      }),
    );
    a.destroy();
    sub(enc((e) => run(e, b)));
    return read(b);
  },
  "destroyed target of earlier copy": async ({ buf, enc, run, sub, read }) => {
    const a = buf(),
      b = buf();
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, b, 0, N * 4);
      }),
    );
    b.destroy();
    sub(enc((e) => run(e, a)));
    return read(a);
  },
  "overlapping in order copies": async ({ buf, enc, run, sub, read }) => {
    const a = buf(),
      b = buf();
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, b, 16, 64);
        e.copyBufferToBuffer(b, 16, a, 32, 64);
        e.copyBufferToBuffer(a, 0, b, 0, 128);
        run(e, b);
      }),
    );
    return [await read(a), await read(b)];
  },
  "copy within one buffer": async ({ device, buf, enc, run, sub, read }) => {
    const a = buf();
    sub(
      enc((e) => {
        run(e, a);
        device.pushErrorScope("validation");
        e.copyBufferToBuffer(a, 0, a, 256, 128);
      }),
    );
    const bad = await device.popErrorScope();
    return [bad?.message, await read(a)];
  },
  "dynamic offsets": async ({ buf, enc, run, sub, read }) => {
    const a = buf(0, 256);
    sub(
      enc((e) => {
        run(e, a, 3, 256);
        run(e, a, 2, 0);
        run(e, a, 3, 256);
      }),
    );
    return read(a);
  },
  "indirect counted before in the pass": async ({ device, count, pipe, layout, buf, enc, sub, read }) => {
    const a = buf(),
      args = buf(256, 4);
    const g1 = device.createBindGroup({
      layout: count.getBindGroupLayout(0),
      entries: [
        { binding: 0, resource: { buffer: a } },
        { binding: 1, resource: { buffer: args } },
      ],
    });
    const g = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: a } }] });
    sub(
      enc((e) => {
        const p = e.beginComputePass();
        for (let k = 0; k < 3; k++) {
          p.setPipeline(count);
          p.setBindGroup(0, g1);
          p.dispatchWorkgroups(1);
          p.setPipeline(pipe);
          p.setBindGroup(0, g, [0]);
          p.dispatchWorkgroupsIndirect(args, 0);
        }
        p.end();
      }),
    );
    return [await read(a), await read(args)];
  },
  "error scopes around": async ({ device, buf, enc, run, sub, read }) => {
    const a = buf();
    device.pushErrorScope("validation");
    device.pushErrorScope("out-of-memory");
    sub(enc((e) => run(e, a)));
    device.createBuffer({ size: 4, usage: 0 });
    const inner = await device.popErrorScope();
    const outer = await device.popErrorScope();
    const none = await device.popErrorScope().then(
      () => "ok",
      (e) => e.name,
    );
    return [inner, outer?.message, none, await read(a)];
  },
  "error scope popped later": async ({ device, buf, enc, run, sub, read }) => {
    const a = buf();
    device.pushErrorScope("validation");
    sub(enc((e) => run(e, a)));
    const r = await read(a);
    device.queue.writeBuffer(a, 2, new Uint32Array(1));
    const s = await device.popErrorScope();
    return [r, s?.message];
  },
  "work done orders": async ({ device, buf, enc, run, sub, read }) => {
    const a = buf();
    const order: string[] = [];
    const r = device.createBuffer({ size: N * 4, usage: 9 });
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, r, 0, N * 4);
      }),
    );
    const d1 = device.queue.onSubmittedWorkDone().then(() => order.push("done1"));
    const m = r.mapAsync(1).then(() => order.push("map"));
    const d2 = device.queue.onSubmittedWorkDone().then(() => order.push("done2"));
    await Promise.all([d1, m, d2]);
    return [order.sort(), [...new Uint32Array(r.getMappedRange())], await read(a)];
  },
  "timestamps beside stores": async ({ device, buf, enc, run, sub, read }) => {
    if (!device.features.has("timestamp-query")) return "none";
    const q = device.createQuerySet({ type: "timestamp", count: 2 });
    const a = buf(512);
    sub(
      enc((e) => {
        run(e, a);
        const p = e.beginComputePass({
          timestampWrites: { querySet: q, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
        });
        p.end();
        e.resolveQuerySet(q, 0, 2, a, 256);
        run(e, a, 1);
      }),
    );
    const all = await read(a);
    return [...all.slice(0, 64), ...all.slice(68)];
  },
  "unused query resolves zeros": async ({ device, buf, enc, run, sub, read }) => {
    const q = device.createQuerySet({ type: "occlusion", count: 4 });
    const a = buf(512);
    sub(
      enc((e) => {
        run(e, a);
        e.resolveQuerySet(q, 0, 4, a, 0);
        run(e, a);
      }),
    );
    return read(a);
  },
  "encoder finished after more work": async ({ device, buf, run, sub, enc, read }) => {
    const a = buf();
    const e = device.createCommandEncoder();
    run(e, a);
    sub(enc((f) => run(f, a)));
    device.queue.writeBuffer(a, 0, new Uint32Array(4));
    const c = e.finish();
    sub(
      enc((f) => run(f, a)),
      c,
    );
    return read(a);
  },
  "command buffer submitted twice": async ({ device, buf, run, sub, enc, read }) => {
    const a = buf();
    const c = enc((e) => run(e, a));
    device.pushErrorScope("validation");
    sub(c);
    sub(c);
    const s = await device.popErrorScope();
    return [s?.message, await read(a)];
  },
  "write between submits, of a part": async ({ device, buf, run, sub, enc, read }) => {
    const a = buf();
    for (let k = 0; k < 4; k++) {
      sub(enc((e) => run(e, a)));
      device.queue.writeBuffer(a, 20 * k, Uint32Array.of(k, k + 1, k + 2));
    }
    return read(a);
  },
  "clear between": async ({ buf, run, sub, enc, read }) => {
    const a = buf();
    sub(
      enc((e) => {
        run(e, a);
        e.clearBuffer(a, 4, 40);
        run(e, a);
        e.clearBuffer(a, 500);
        run(e, a, 1);
      }),
    );
    return read(a);
  },
  "mapped while work is pending": async ({ device, buf, run, sub, enc }) => {
    const a = buf();
    const r = device.createBuffer({ size: N * 4, usage: 9 });
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, r, 0, N * 4);
      }),
    );
    const m = r.mapAsync(1);
    device.pushErrorScope("validation");
    sub(enc((e) => e.copyBufferToBuffer(a, 0, r, 0, 4)));
    const s = await device.popErrorScope();
    await m;
    return [s?.message.slice(0, 50), r.mapState, [...new Uint32Array(r.getMappedRange())]];
  },
  "mapping rejected by destroy of device": async ({ device, buf, run, sub, enc }) => {
    const a = buf();
    const r = device.createBuffer({ size: N * 4, usage: 9 });
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToBuffer(a, 0, r, 0, N * 4);
      }),
    );
    const m = r.mapAsync(1).then(
      () => "ok",
      (e) => e.name,
    );
    device.destroy();
    const lost = await device.lost;
    return [await m, lost.reason, r.mapState];
  },
  "encoder finished after destroy": async ({ device, buf, run }) => {
    const a = buf();
    const e = device.createCommandEncoder();
    run(e, a);
    device.destroy();
    const c = e.finish();
    device.queue.submit([c]);
    return await device.queue.onSubmittedWorkDone().then(
      () => "ok",
      (x) => x.name,
    );
  },
  "copies to itself by way of texture": async ({ device, buf, run, sub, enc, read }) => {
    const a = buf(0, 256);
    const t = device.createTexture({ size: [16, 4], format: "r32uint", usage: 3 });
    sub(
      enc((e) => {
        run(e, a);
        e.copyBufferToTexture({ buffer: a, bytesPerRow: 256 }, { texture: t }, [16, 4]);
        run(e, a, 2);
        e.copyTextureToBuffer({ texture: t }, { buffer: a, bytesPerRow: 256 }, [16, 2]);
        run(e, a, 1);
      }),
    );
    return read(a);
  },
};
const policies: readonly Policy[] = [
  {},
  { redundancy: "inter" },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "intra+lds", memory: "secded128" },
];

describe.each(Object.entries(scenarios).map(([name, scenario], row) => ({ name, scenario, row })))(
  "$name",
  ({ name, scenario, row }) => {
    const open = name.includes("destroy") ? newDevice : sharedDevice;
    it.each(sample(policies, row, 2))("gives what the plain device gives, under %o", async (policy) => {
      const plain = await open({ errorsAreExpected: true });
      const right = await scenario(programOf(plain));
      const device = await harden(await open({ errorsAreExpected: true }), {
        ...policy,
        injectFaults: true,
      });
      const program = programOf(device);
      const { kernel, sites } = device.belay.faultSites().find((each) => each.kernel === "main")!;
      const { id: site } = sites.find(({ kind }) => kind === "value")!;
      const place = { workgroup: [0, 0, 0], localIndex: 3 } as const;
      device.belay.arm({ kernel, site, replica: 0, effect: { xor: 1 << 9 }, ...place });
      expect(await scenario(program)).toEqual(right);
      plain.destroy();
      device.destroy();
    });
  },
);
