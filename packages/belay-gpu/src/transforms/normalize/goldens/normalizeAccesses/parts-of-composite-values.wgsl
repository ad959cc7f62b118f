fn f(i: u32) {
  let belay_value_1: vec3<f32> = vec3f(1, 2, 3);
  parts[i].at = belay_value_1;
  let belay_value_2: f32 = parts[i].at.y * 2.0;
  parts[i].at.y = belay_value_2;
  let belay_value_3 = i % 3u;
  let belay_value_4: f32 = parts[i].at[belay_value_3] + 1.0;
  parts[i].at[belay_value_3] = belay_value_4;
  let belay_value_5 = next();
  let belay_value_6: vec2<f32> = vec2f(f32(next()));
  parts[belay_value_5].at.xz = belay_value_6;
  let belay_value_7 = next() % 2u;
  let belay_value_8: f32 = 1;
  parts[i].m[belay_value_7].x = belay_value_8;
  let belay_value_9: array<u32, 4> = array(1u, i, 3u, 4u);
  parts[i].flags = belay_value_9;
  let belay_value_10: Part = parts[i + 1u];
  parts[i] = belay_value_10;
}
