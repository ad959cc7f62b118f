// How often each of 256 values occurs. Belay reports what it cannot compare: the atomics.
//! dispatch 64
//! fill values noise
//! size values 4096
//! show counts 16 16
@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>, 256>;

@compute @workgroup_size(64)
fn histogram(@builtin(global_invocation_id) id: vec3u) {
  let value = values[id.x];
  atomicAdd(&counts[value & 255], 1u);
}
