/** The features that compute programs can use. All others are for graphics. */
const COMPUTE_FEATURES: readonly GPUFeatureName[] = ["subgroups", "shader-f16", "timestamp-query"];

/**
 * Requests a device with all limits of the adapter, and with its features for compute: `subgroups`,
 * `shader-f16` and `timestamp-query`. Rejects as `requestDevice` does, such as for an adapter that
 * already has a device. Rejects with a `TypeError` if the
 * argument is no adapter.
 */
export async function requestFullDevice(adapter: GPUAdapter): Promise<GPUDevice> {
  if (typeof adapter?.requestDevice !== "function")
    throw new TypeError(
      `a GPUAdapter is needed, not ${adapter === null ? "null, which requestAdapter() gives where there is no GPU" : typeof adapter}`,
    );
  const requiredFeatures = COMPUTE_FEATURES.filter((feature) => adapter.features.has(feature));
  return adapter.requestDevice({ requiredFeatures, requiredLimits: limitsOf(adapter.limits) });
}

/**
 * Returns the limits as a plain object. An adapter has them as getters of a prototype, which
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
