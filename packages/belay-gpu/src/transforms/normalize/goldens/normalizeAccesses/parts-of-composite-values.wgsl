// --- input

struct Part {
  at: vec3f,
  flags: array<u32, 4>,
  m: mat2x2f,
}

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> parts: array<Part>;
@group(0) @binding(3) var image: texture_storage_2d<rgba8unorm, write>;
var<workgroup> most: vec2u;
var<workgroup> seen: bool;
var<private> count: u32;

fn next() -> u32 {
  count += 1u;
  return count;
}

fn bump(p: ptr<function, u32>) -> u32 {
  *p += 1u;
  return *p;
}

fn f(i: u32) {
  parts[i].at = vec3f(1, 2, 3);
  parts[i].at.y *= 2.0;
  parts[i].at[i % 3u] += 1.0;
  parts[next()].at.xz = vec2f(f32(next()));
  parts[i].m[next() % 2u].x = 1;
  parts[i].flags = array(1u, i, 3u, 4u);
  parts[i] = parts[i + 1u];
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

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
