// --- input

requires unrestricted_pointer_parameters;

struct Part {
  mass: f32,
  at: array<vec2u, 4>,
  hits: array<u32, 3>,
  count: atomic<u32>,
}

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> parts: array<Part>;
@group(0) @binding(2) var<uniform> sizes: array<vec4u, 4>;
var<workgroup> tile: array<array<u32, 4>, 8>;

fn next(p: ptr<function, u32>) -> u32 {
  *p += 1u;
  return *p;
}

fn clear(v: ptr<storage, vec2u, read_write>) {
  for (var i = 0; i < 2; i++) {
    (*v)[i] = 0u;
  }
}

fn reset(part: ptr<storage, Part, read_write>, i: u32) {
  part.mass = 0.0;
  clear(&part.at[i]);
  clear(&(*part).at[3]);
}

fn f(i: u32) {
  let part = &parts[i];
  reset(part, i + 1u);
  reset(&parts[0], i);
}

// --- passes: resolvePointers

fn f(i: u32) {
  let belay_index_1 = i;
  belay_reset_1(u32(belay_index_1), i + 1u);
  belay_reset_2(i);
}

fn belay_reset_1(belay_index_2: u32, i: u32) {
  parts[belay_index_2].mass = 0.0;
  belay_clear_1(u32(belay_index_2), u32(i));
  belay_clear_2(u32(belay_index_2));
}

fn belay_reset_2(i: u32) {
  parts[0].mass = 0.0;
  belay_clear_3(u32(i));
  belay_clear_4();
}

fn belay_clear_1(belay_index_3: u32, belay_index_4: u32) {
  for (var i = 0; i < 2; i++) {
    parts[belay_index_3].at[belay_index_4][i] = 0u;
  }
}

fn belay_clear_2(belay_index_5: u32) {
  for (var i = 0; i < 2; i++) {
    parts[belay_index_5].at[3][i] = 0u;
  }
}

fn belay_clear_3(belay_index_6: u32) {
  for (var i = 0; i < 2; i++) {
    parts[0].at[belay_index_6][i] = 0u;
  }
}

fn belay_clear_4() {
  for (var i = 0; i < 2; i++) {
    parts[0].at[3][i] = 0u;
  }
}
