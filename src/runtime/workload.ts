/**
 * A compute program: it takes a device and hands back named results. Benchmarks, fault campaigns and users' own
 * programs are all workloads. It knows nothing of Belay, and the device may be a hardened one.
 */
export type Workload = (device: GPUDevice) => Promise<Record<string, ArrayBufferView>>;
