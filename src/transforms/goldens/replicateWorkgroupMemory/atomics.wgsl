struct belay_Copy_1 {
  value: Bins,
  skew: array<u32, 7>,
}

var<workgroup> bins: array<belay_Copy_1, 2>;

override belay_stride_1: u32 = u32(n) + select(0u, (48u - u32(n) % 32u) % 32u, u32(n) >= 32u);

var<workgroup> counts: array<atomic<i32>, 2u * belay_stride_1>;

fn f(i: u32) {
  atomicAdd(&bins[belay_replica].value.all[i], 1u);
  atomicMax(&counts[min(u32(i), u32(n) - 1u) + belay_replica * belay_stride_1], 3);
  workgroupBarrier();
  let belay_value_1 = atomicLoad(&bins[belay_replica].value.all[0]);
  bins[belay_replica].value.total = belay_value_1;
}
