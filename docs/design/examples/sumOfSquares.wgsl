@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn sumOfSquares(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var i = 0u; i < 8u; i++) {
    let a = x[id.x * 8u + i];
    sum += a * a;
  }
  y[id.x] = sum;
}
