fn f(at: vec2u) {
  let belay_value_1 = vec4f(f32(next()));
  textureStore(image, at, belay_value_1);
  let belay_value_2 = vec2(next(), 1u);
  textureStore(image, belay_value_2, vec4f());
}
