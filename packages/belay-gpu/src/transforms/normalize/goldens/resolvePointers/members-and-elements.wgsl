fn f(i: u32) {
  let belay_index_1 = i;
  parts[belay_index_1].mass = 1.0;
  parts[belay_index_1].mass = f32(parts[belay_index_1].at[1].x);
  parts[belay_index_1].at[i + 1u].y = parts[belay_index_1].at[2][0];
  let belay_index_2 = i;
  parts[belay_index_1].at[belay_index_2].x += 1u;
  parts[belay_index_1].at[belay_index_2][i % 2u] = 1u;
  atomicAdd(&parts[belay_index_1].count, arrayLength(&parts));
}
