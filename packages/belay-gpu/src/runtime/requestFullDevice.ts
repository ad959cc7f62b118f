/** What a device needs to run any compute program at full speed; the rest is graphics. */
const COMPUTE_FEATURES: readonly GPUFeatureName[] = ["subgroups", "shader-f16", "timestamp-query"];

/**
 * Requests a device with every limit the adapter has, and its features that are of use to compute:
 * `subgroups`, `shader-f16` and `timestamp-query`. Rejects as `requestDevice` does, such as for an
 * adapter that has given a device already.
 */
export async function requestFullDevice(adapter: GPUAdapter): Promise<GPUDevice> {
  const requiredFeatures = COMPUTE_FEATURES.filter((feature) => adapter.features.has(feature));
  return adapter.requestDevice({ requiredFeatures, requiredLimits: limitsOf(adapter.limits) });
}

/**
 * The limits as a plain object; on the adapter they are getters of a prototype, which
 * `requestDevice` skips.
 */
export function limitsOf(limits: GPUSupportedLimits): Record<string, number> {
  const values: Record<string, number> = {};
  for (const name in limits) {
    const value = limits[name as keyof GPUSupportedLimits];
    if (typeof value === "number") values[name] = value;
  }
  return values;
}
