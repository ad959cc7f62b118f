// How many steps each point of the plane takes to escape.
//! dispatch 8 8
//! show steps 64 64
@group(0) @binding(0) var<storage, read_write> steps: array<f32>;

@compute @workgroup_size(8, 8)
fn mandelbrot(@builtin(global_invocation_id) id: vec3u) {
  let c = vec2f(id.xy) / 64 * 2.6 - vec2f(1.9, 1.3);
  var z = vec2f(0);
  var n = 0.0;
  while (n < 48 && dot(z, z) < 16) {
    z = vec2f(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
    n += 1;
  }
  steps[id.y * 64 + id.x] = sqrt(n / 48);
}
