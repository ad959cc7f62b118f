/** Encodes a pass with one dispatch, which has one bind group. */
export function encodeDispatch(
  encoder: GPUCommandEncoder,
  pipeline: GPUComputePipeline,
  group: GPUBindGroup,
  ...workgroups: Parameters<GPUComputePassEncoder["dispatchWorkgroups"]>
): void {
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(...workgroups);
  pass.end();
}
