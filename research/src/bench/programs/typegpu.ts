/** Programs of TypeGPU, which does not know Belay. It submits each dispatch on its own. */
import tgpu from "typegpu";
import * as d from "typegpu/data";
import { dispatchesPerRun, type UsedProgram } from "./program.ts";

const workgroupSize = 256;
/** The number of results that are read. */
const READ = 16;

const Step = d.struct({ seconds: d.f32, size: d.u32 });
const layout = tgpu.bindGroupLayout({
  step: { uniform: Step },
  before: { storage: d.arrayOf(d.vec4f) },
  after: { storage: d.arrayOf(d.vec4f), access: "mutable" },
});
const invocation = { in: { id: d.builtin.globalInvocationId }, workgroupSize: [workgroupSize] };

/** Moves particles with positions and velocities, which bounce off the walls of a box. */
const move = tgpu.computeFn(invocation)`{
  let i = in.id.x;
  if (i >= layout.$.step.size) { return; }
  var particle = layout.$.before[i];
  particle = vec4f(particle.xy + particle.zw * layout.$.step.seconds, particle.zw);
  if (abs(particle.x) > 1) { particle.z = -particle.z; }
  if (abs(particle.y) > 1) { particle.w = -particle.w; }
  layout.$.after[i] = particle;
}`.$uses({ layout });

/** Takes the mean of neighboring elements. */
const smooth = tgpu.computeFn(invocation)`{
  let i = in.id.x;
  let size = layout.$.step.size;
  if (i >= size) { return; }
  let left = layout.$.before[max(i, 1u) - 1u];
  let right = layout.$.before[min(i + 1u, size - 1u)];
  layout.$.after[i] = 0.25 * left + 0.5 * layout.$.before[i] + 0.25 * right;
}`.$uses({ layout });

/** Returns programs that apply a kernel several times to `numbers` numbers. */
export function typegpuPrograms(numbers: number): UsedProgram[] {
  const size = numbers / 4;
  return Object.entries({ particles: move, smoothing: smooth }).map(([name, compute]) => ({
    name,
    source: "TypeGPU",
    prepare: async (device) => {
      const root = tgpu.initFromDevice({ device });
      const step = root.createBuffer(Step, { seconds: 0.01, size }).$usage("uniform");
      const [start, first, second] = [0, 1, 2].map(() =>
        root.createBuffer(d.arrayOf(d.vec4f, size)).$usage("storage"),
      );
      device.queue.writeBuffer(root.unwrap(start!), 0, startOf(numbers));
      const groups = [
        root.createBindGroup(layout, { step, before: first!, after: second! }),
        root.createBindGroup(layout, { step, before: second!, after: first! }),
      ];
      const pipeline = root.createComputePipeline({ compute });
      // The library reads whole buffers only.
      const read = root.createBuffer(d.arrayOf(d.vec4f, READ / 4)).$usage("storage");
      return {
        run: async () => {
          const copy = (from: typeof first, to: typeof first, bytes: number) => {
            const encoder = device.createCommandEncoder();
            encoder.copyBufferToBuffer(root.unwrap(from!), 0, root.unwrap(to!), 0, bytes);
            device.queue.submit([encoder.finish()]);
          };
          copy(start, first, 4 * numbers);
          for (let i = 0; i < dispatchesPerRun; i++)
            pipeline.with(groups[i % 2]!).dispatchWorkgroups(Math.ceil(size / workgroupSize));
          copy(first, read, 4 * READ);
          return (await read.read()).flatMap(({ x, y, z, w }) => [x, y, z, w]);
        },
      };
    },
  }));
}

/** Returns numbers from -1 to 1. */
function startOf(count: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, (_, i) => ((i * 7919) % 2048) / 1024 - 1);
}
