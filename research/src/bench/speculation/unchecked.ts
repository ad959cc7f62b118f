import type { Workspace } from "belay-speculate/internal/engine/device/workspace";
import type { LoopExecution } from "belay-speculate/internal/engine/rounds/execution";
import { collapse } from "belay-speculate/internal/loops/analysis/specialization/collapse";
import { specialize } from "belay-speculate/internal/loops/analysis/specialization/specialize";
import { type Effects, emitBody } from "belay-speculate/internal/loops/kernels/code/body";
import {
  assembleKernel,
  type LoopKernel,
  numberInGrid,
  placeInGrid,
  workgroupSize,
} from "belay-speculate/internal/loops/kernels/code/kernel";
import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import { packParameters, parametersOf } from "belay-speculate/internal/loops/kernels/code/parameters";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";

/** The effects that access memory directly, as in a loop that is known to be parallel. */
const direct: Effects = {
  load: ({ name }) => `  return peek_${wgslName(name)}(element);`,
  store: ({ name }) => `  poke_${wgslName(name)}(element, bits);`,
  loadCarried: () => "  return 0u;",
  storeCarried: () => "",
  bailOut: "",
  endLoop: "",
  misspeculate: "",
};

/**
 * Returns true if a loop can run without speculation: iterations pass values only through arrays.
 */
export function canRunUnchecked({ carried, reductions }: Loop): boolean {
  return carried.length + reductions.length === 0;
}

function uncheckedKernel(loop: Loop): LoopKernel {
  const index = loop.index.type;
  return assembleKernel({
    name: "unchecked",
    loop,
    parameters: parametersOf(loop, []),
    resources: [],
    declarations: [],
    functions: [
      emitBody(loop, direct),
      `@compute @workgroup_size(${workgroupSize}) fn unchecked(${placeInGrid}) {
  let place = ${numberInGrid};
  if (place >= params.count) { return; }
  fuel = 1048576u;
  start_reductions();
  iterate(params.first + ${index}(place) * ${index}(params.step));
}`,
    ],
  });
}

/**
 * Executes all iterations at once and checks nothing, like a GPU version by a person who knows that
 * the loop is parallel. The results are right only if it is.
 */
export async function runUnchecked(workspace: Workspace, execution: LoopExecution): Promise<void> {
  const { device } = workspace;
  const { buffers } = execution;
  const executed = collapse(execution.loop, execution) ?? execution;
  const { lengths, inputs, first, step, count } = executed;
  const loop = specialize(executed.loop, executed);
  const [compiled] = await workspace.pipelines.compile(loop, [uncheckedKernel(loop)]);
  const parameters = parametersOf(loop, []);
  const { UNIFORM, COPY_DST } = GPUBufferUsage;
  const params = workspace.buffer("unchecked params", 4 * parameters.size, UNIFORM | COPY_DST);
  const values = {
    first,
    step,
    count,
    ...Object.fromEntries(loop.arrays.map(({ name }) => [`length_${wgslName(name)}`, lengths[name]!])),
    ...Object.fromEntries(loop.inputs.map(({ name }) => [`input_${wgslName(name)}`, inputs[name]!])),
  };
  device.queue.writeBuffer(params, 0, packParameters(parameters, values));
  const named = {
    params,
    ...Object.fromEntries(loop.arrays.map(({ name }) => [`array_${wgslName(name)}`, buffers[name]!])),
  };
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(compiled!.pipeline);
  pass.setBindGroup(0, compiled!.bind(named));
  pass.dispatchWorkgroups(...workspace.pipelines.gridFor(loop, count));
  pass.end();
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
}
