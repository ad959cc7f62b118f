// A picture, blurred: each pixel becomes the mean of nine.
//! dispatch 8 8
//! fill image waves
//! show blurred 64 64
@group(0) @binding(0) var<storage, read> image: array<f32>;
@group(0) @binding(1) var<storage, read_write> blurred: array<f32>;

const size = 64i;

fn pixel(x: i32, y: i32) -> f32 {
  return image[clamp(y, 0, size - 1) * size + clamp(x, 0, size - 1)];
}

@compute @workgroup_size(8, 8)
fn blur(@builtin(global_invocation_id) id: vec3u) {
  let at = vec2i(id.xy);
  var sum = 0.0;
  for (var dy = -1; dy <= 1; dy++) {
    for (var dx = -1; dx <= 1; dx++) {
      sum += pixel(at.x + dx, at.y + dy);
    }
  }
  blurred[at.y * size + at.x] = sum / 9;
}
