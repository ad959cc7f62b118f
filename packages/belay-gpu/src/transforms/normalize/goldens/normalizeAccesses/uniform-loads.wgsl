fn f() -> u32 {
  let belay_value_1 = workgroupUniformLoad(&seen);
  if (belay_value_1) {
    workgroupBarrier();
  }
  let belay_value_2 = workgroupUniformLoad(&most);
  return dot(belay_value_2, vec2u(next()));
}
