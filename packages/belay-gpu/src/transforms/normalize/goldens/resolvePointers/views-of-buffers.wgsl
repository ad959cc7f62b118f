// --- input

requires buffer_view;

struct Tail {
  count: u32,
  rest: array<u32>,
}

@group(0) @binding(0) var<storage, read_write> memory: buffer;
@group(0) @binding(1) var<storage, read_write> whole: buffer;
var<workgroup> scratch: buffer<64>;

fn count(b: ptr<storage, buffer, read_write>) {
  bufferView<vec2u>(b, 8).x += bufferLength(&scratch);
}

fn f(i: u32) {
  let list = bufferArrayView<array<f32>>(&memory, 16, 32);
  list[i] = *bufferView<f32>(&scratch, 4);
  count(&memory);
  bufferView<Tail>(&whole, 0).rest[i] = 1;
}

// --- passes: resolvePointers

struct belay_views_1 {
  @size(8) gap: u32,
  @size(8) at_8: vec2<u32>,
  at_16: array<f32, 8>,
}

@group(0) @binding(0) var<storage, read_write> memory: belay_views_1;
@group(0) @binding(1) var<storage, read_write> whole: Tail;

struct belay_views_2 {
  @size(4) gap: u32,
  at_4: f32,
}

var<workgroup> scratch: belay_views_2;

fn f(i: u32) {
  memory.at_16[i] = scratch.at_4;
  belay_count_1();
  whole.rest[i] = 1;
}

fn belay_count_1() {
  memory.at_8.x += 64u;
}
