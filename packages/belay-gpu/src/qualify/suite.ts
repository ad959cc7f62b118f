/** The built-in kernels of `qualify`, one or more for each area of the language. */

/** A built-in kernel. Its buffers are filled by their types, like those of other kernels. */
export interface BuiltInKernel {
  /** The area that the kernel covers. */
  readonly name: string;
  readonly source: string;
  /** The features that the kernel needs, by their names in WebGPU. Default: none. */
  readonly needs?: readonly string[];
  /** The size of the grid. Default: 16 workgroups. */
  readonly workgroups?: readonly [number, number, number];
  /** The values of overrides, one pipeline each. Default: one pipeline without values. */
  readonly variants?: readonly Readonly<Record<string, number>>[];
  /** The number of elements of arrays without a known length. */
  readonly elements?: number;
  /** The contents of numbers in buffers. Default: `"edges"`. */
  readonly contents?: "edges" | "indices";
}

/** Returns a kernel that applies each expression of `x`, `y` and `z` to 1,024 combinations. */
function table(type: string, expressions: readonly string[], before = ""): string {
  const count = expressions.length;
  const stores = expressions.map((each, i) => `out[${count}u * i + ${i}u] = ${each};`);
  return `
    alias T = ${type};
    @group(0) @binding(0) var<storage, read> values: array<T, 32>;
    @group(0) @binding(1) var<storage, read_write> out: array<T, ${1024 * count}>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      let i = id.x; let x = values[i % 32u]; let y = values[i / 32u]; let z = values[(i * 7u + 3u) % 32u];
      let v = vec3<T>(x, y, z); let w = max(vec3<T>(z, x, y), vec3<T>(1));
      ${before}
      ${stores.join("\n")}
    }`;
}

/** Expressions of all types of numbers. */
const numbers = [
  "x + y",
  "x - y",
  "x * y",
  "x / y",
  "x % y",
  "x / 7",
  "x % 10",
  "1000 / y",
  "x * 3 + 1",
  "x * y + z",
  "x + y + z",
  "min(x, y)",
  "max(x, y)",
  "clamp(x, min(y, z), max(y, z))",
  "clamp(x, 3, 200)",
  "T(x > 1)",
  "T(x < y) + 2 * T(x <= y) + 4 * T(x > y) + 8 * T(x >= y) + 16 * T(x == y) + 32 * T(x != y)",
  "select(x, y, x < z)",
  "select(x + 1, y, (z > 9 && x != y) || y == 3)",
  "dot(v, w)",
  "(v / w).z + (v % w).x",
  "(v * w - v).y",
  "(v * 5).y",
  "min(v, w).x + max(v, w).y + clamp(v, vec3<T>(2), vec3<T>(9)).z",
  "select(v, w, v < w).x + T(all(v == w)) + 2 * T(any(v > w))",
  // Components of numbers from 1 on are equal here.
  "T(any(v < w.yzx)) + 2 * T(any(v > w.yzx))",
];
const withSign = [
  "-x",
  "abs(x)",
  "sign(x)",
  "x / -3",
  "x % -7",
  "clamp(x, -5, 200)",
  "abs(v).x + sign(-v).y",
];
const integers = ["x & y", "x | (y ^ z)", "~x ^ 5", "q"];
const integerLoop =
  "var q = x; for (var k = T(0); k < 4; k++) { q = q / (k + 2) + q % (y % 9 + 11) * 5; q ^= min(q, z) * z; q -= k; }";

const bits = [
  "x << (y & 31u)",
  "x >> (y & 31u)",
  "x << y",
  "x >> y",
  "x << 5u",
  "x >> 27u",
  "bitcast<u32>(bitcast<i32>(x) << y)",
  "bitcast<u32>(bitcast<i32>(x) >> y)",
  "bitcast<u32>(bitcast<i32>(x) >> 3u)",
  "(vec2u(x, z) << vec2u(5u)).y ^ (vec2u(x, z) >> vec2u(27u, 3u)).y",
  "(vec2u(x, z) << vec2u(y, x)).y ^ (vec2u(x, z) >> vec2u(y, x)).x",
  "bitcast<u32>((vec2i(vec2u(x, z)) >> vec2u(y, x)).x)",
  "countOneBits(x)",
  "countLeadingZeros(x)",
  "countTrailingZeros(x)",
  "reverseBits(x)",
  "firstLeadingBit(x)",
  "bitcast<u32>(firstLeadingBit(bitcast<i32>(x)))",
  "firstTrailingBit(x)",
  "extractBits(x, y % 40u, z % 40u)",
  "bitcast<u32>(extractBits(bitcast<i32>(x), y % 40u, z % 40u))",
  "extractBits(x, 8u, 8u)",
  "bitcast<u32>(extractBits(bitcast<i32>(x), 8u, 8u))",
  "insertBits(x, y, z % 40u, x % 40u)",
  "insertBits(x, y, 16u, 8u)",
  "s",
];

const packed = [
  "dot4U8Packed(x, y)",
  "bitcast<u32>(dot4I8Packed(x, y))",
  "pack4xI8(unpack4xI8(x) + unpack4xI8(y))",
  "pack4xU8(unpack4xU8(x) * 3u)",
  "pack4xI8Clamp(vec4i(i32(x), 5, -200, 127))",
  "pack4xU8Clamp(vec4u(x, y, 300u, 7u))",
];

const floats = [
  ...numbers,
  ...withSign,
  "fma(x, y, z)",
  "x * 0.5 + y * 0.25",
  "saturate(x)",
  "floor(x)",
  "ceil(x)",
  "trunc(x)",
  "round(x)",
  "fract(x)",
  "step(x, y)",
  "sqrt(abs(x))",
  "T(i32(clamp(x, -1e3, 1e4))) + T(u32(clamp(y, 0.0, 1e4)))",
  "cross(v, w).z",
  "q",
];
const floatLoop =
  "var q = x; for (var k = 0; k < 4; k++) { q = q * 0.5 + x; q -= y / 2; q = max(q, min(z, T(k))); }";

const functions = [
  "quantizeToF16(clamp(x, -6e4, 6e4))",
  "inverseSqrt(abs(x))",
  "exp(min(x, 80.0))",
  "exp2(min(x, 100.0))",
  "log(abs(x))",
  "log2(abs(x))",
  "pow(abs(x), 1.5)",
  "sin(x)",
  "cos(x)",
  "atan(x)",
  "atan2(y, x)",
  "length(v)",
  "distance(v, v.zxy)",
  "normalize(v + 1.0).y",
  "mix(x, y, 0.3)",
  "smoothstep(0.0, 10.0, x)",
  "ldexp(x, 3)",
  "modf(x).fract + modf(x).whole",
  "frexp(x).fract + f32(frexp(x).exp)",
  "degrees(x)",
  "unpack4x8snorm(pack4x8snorm(vec4(0.3, -1.0, 0.25, 2.0))).y",
  "unpack2x16unorm(i * 77777u).x",
  "unpack2x16float((i * 1300u) & 0x7bffu).x",
];

const control = `
  @group(0) @binding(0) var<storage, read> values: array<u32, 32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32, 3072>;
  fn first(x: u32, limit: u32) -> u32 {
    for (var i = 0u; i < 40u; i++) {
      if (i * i >= x % 700u) { return i; }
      if (i > limit) { break; }
    }
    return 99u;
  }
  fn sign3(x: i32) -> i32 { if (x < 0) { return -1; } if (x == 0) { return 0; } return 1; }
  fn nested(a: u32, b: u32) -> u32 {
    var sum = 0u;
    for (var i = 0u; i < a; i++) {
      if (i % 3u == 2u) { continue; }
      for (var j = i; j < b; j += 2u) {
        if ((i ^ j) == 5u) { break; }
        sum = sum * 3u + i + j;
      }
      sum += 1u;
    }
    return sum;
  }
  fn loops(a: u32) -> u32 {
    var n = a; var steps = 0u; var last = 0u;
    loop {
      if (n < 2u) { break; }
      if (n % 2u == 0u) { n /= 2u; continue; }
      n = n * 3u + 1u;
      continuing { last = steps; steps += 1u; break if steps > 50u; }
    }
    var k = a % 5u;
    while (k > 0u) { k -= 1u; if (k == 2u) { continue; } steps += k; }
    return steps * 64u + last;
  }
  fn choose(x: u32, s: i32) -> u32 {
    var r = 0u;
    switch (x % 6u) {
      case 0u, 3u: { r = 7u; }
      case 1u: { if (x > 100u) { break; } r = 8u; }
      case 2u: { return 1000u + x; }
      default: { r = 9u; }
    }
    switch (s) { case -1: { r += 10u; } case 0: { r += 20u; } default: { r += 30u; } }
    return r;
  }
  fn either(x: u32, y: u32) -> bool { return x > 3u && (y < 9u || x == y) && !(x % 2u == 1u); }
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x; let x = values[i % 32u]; let y = values[i / 32u];
    out[i] = first(x, y % 50u) ^ (nested(x % 9u, y % 11u) << 6u);
    out[1024u + i] = loops(x % 97u + i) + choose(x, sign3(bitcast<i32>(y)));
    if (i % 7u == 3u) { return; }
    if (either(x, y)) { out[2048u + i] = 1u; } else if (x < y) { out[2048u + i] = 2u; } else { return; }
    var h = x;
    for (var k = 0u; k < 8u; k++) { h = (h ^ (h >> 13u)) * 0x9e3779b1u + (h << (k & 7u)); }
    out[2048u + i] += h;
  }`;

const structures = `
  struct Inner { a: vec3f, b: f32, c: array<vec2u, 3> }
  struct Part { position: vec3f, mass: f32, velocity: vec3f, m: mat3x2f, inner: array<Inner, 2>, flag: u32 }
  struct Settings { scale: vec4f, offset: vec3i, m: mat4x4f, list: array<vec4u, 4> }
  @group(0) @binding(0) var<storage, read_write> parts: array<Part, 64>;
  @group(0) @binding(1) var<storage, read> values: array<vec4u, 64>;
  @group(0) @binding(2) var<uniform> settings: Settings;
  @group(0) @binding(3) var<storage, read_write> out: array<vec4f, 64>;
  fn f(x: u32) -> f32 { return f32(x % 100u) * 0.25; }
  fn moved(p: Part, by: vec3f) -> Part { var q = p; q.position += by; q.inner[1].c[2].y ^= q.flag; return q; }
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
    let v = values[i];
    parts[i].position = vec3f(f(v.x), f(v.y), f(v.z));
    parts[i].position.y *= 2.0;
    parts[i].velocity[v.w % 3u] = 1.5;
    parts[i].m = mat3x2f(1, 2, 3, 4, 5, f(v.w));
    parts[i].m[v.x % 3u].y = f(i);
    parts[i].inner[i % 2u] = Inner(vec3f(f(i), 2, 3), f(v.z), array(v.xy, v.zw, vec2u(i)));
    parts[i].inner[(i + 1u) % 2u].c[v.y % 3u].x++;
    parts[i].flag = settings.list[v.z % 4u][v.w % 4u] + u32(settings.offset.z);
    if (i > 20u) { parts[i] = moved(parts[i], settings.scale.zyx); }
    let m = mat3x3f(1, 2, 3, 4, f(v.x), 6, 7, 8, f(v.y));
    let p = m * vec3f(f(v.z), 1, 2);
    let t = transpose(m) * p + p * m;
    out[i] = vec4f(t, determinant(mat2x2f(f(v.x), 2, 3, f(v.y)))) + settings.m * vec4f(1, 2, f(v.w), 4);
  }`;

/** Sorts by bubbles, so that loads and stores of neighboring elements alternate. */
const privateArrays = `
  @group(0) @binding(0) var<storage, read> values: array<u32, 256>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32, 1024>;
  var<private> table: array<u32, 16>;
  var<private> calls: u32;
  const primes = array(2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u);
  fn put(at: u32, x: u32) -> u32 { calls++; let old = table[at % 16u]; table[at % 16u] = old * 31u + x; return old; }
  fn swap(p: ptr<function, u32>, q: ptr<function, u32>) { let t = *p; *p = *q; *q = t; }
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x; let x = values[i];
    for (var k = 0u; k < 24u; k++) { _ = put(x + k * (i % 5u), k); }
    var list = array<u32, 8>(1, 2, 3, 4, 5, 6, 7, 8);
    for (var k = 0u; k < 8u; k++) { list[(x + k * 3u) % 8u] += list[(i + k) % 8u] * primes[(x + k) % 8u]; }
    for (var k = 0u; k < 8u; k++) {
      for (var j = 0u; j + 1u < 8u; j++) {
        if (list[j] > list[j + 1u]) { let t = list[j]; list[j] = list[j + 1u]; list[j + 1u] = t; }
      }
    }
    var v = vec4u(x, i, 3u, 4u);
    v[x % 4u] += 10u; v[(x + 1u) % 4u] = v[i % 4u] * 2u; v = v.wyxw;
    var a = v.x; var b = list[i % 8u]; swap(&a, &b);
    var m = mat4x2f(1, 2, 3, 4, 5, 6, 7, 8); m[x % 4u][i % 2u] = 16.0;
    out[4u * i] = put(x, i) + calls + v[2] * 7u;
    out[4u * i + 1u] = list[x % 8u] ^ (list[7] << 16u);
    out[4u * i + 2u] = a * 3u + b;
    out[4u * i + 3u] = u32(m[i % 4u].x * 100.0 + m[(i + x) % 4u].y) + primes[i % 8u];
  }`;

const inPlace = `
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<vec4u>;
  var<workgroup> w: array<u32, 64>;
  @compute @workgroup_size(64)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
    let i = id.x;
    if (i >= arrayLength(&a)) { return; }
    let before = a[i];
    a[i] += 7u;
    a[i] = a[i] * (a[i] % 11u + 1u);
    a[i]++;
    let middle = a[i];
    a[i] = 3u;
    a[i] = middle ^ a[i] ^ (before << 1u);
    w[l] = a[i];
    w[l] += w[l] >> 3u;
    for (var k = 0u; k < 5u; k++) { w[l] = w[l] * 5u + k; a[i] += w[l]; }
    b[i].x = a[i]; b[i].y = b[i].x + 1u; b[i] = b[i].yxwz;
    if (b[i].x > b[i].y) { b[i].z = b[i].x; }
    b[i].w ^= w[l];
  }`;

/**
 * Scans by doubling: each step reads what others have stored in the step before. Then adds in a
 * tree: half of the invocations work in each step.
 */
const tiles = `
  override size: u32 = 64;
  @group(0) @binding(0) var<storage, read> values: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32>;
  var<workgroup> tile: array<u32, size>;
  var<workgroup> pairs: array<vec2u, size>;
  var<workgroup> limit: u32;
  @compute @workgroup_size(size)
  fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
    let i = g.x * size + l;
    let isIn = i < arrayLength(&values);
    let x = select(1u, values[min(i, arrayLength(&values) - 1u)], isIn);
    let zero = tile[l] + pairs[(l + 1u) % size].y;
    if (l == size / 2u) { limit = x % 3u + 2u; }
    let rounds = workgroupUniformLoad(&limit);
    tile[l] = x + zero;
    pairs[l] = vec2u(l, x);
    workgroupBarrier();
    var sum = tile[size - 1u - l] * 3u + pairs[(l + 1u) % size].y;
    workgroupBarrier();
    for (var step = 1u; step < size; step *= 2u) {
      let add = select(0u, tile[max(l, step) - step], l >= step);
      workgroupBarrier();
      tile[l] += add;
      workgroupBarrier();
    }
    sum ^= tile[l];
    workgroupBarrier();
    for (var half = size / 2u; half > 0u; half /= 2u) {
      if (l < half) { tile[l] = tile[l] * 5u + tile[l + half]; }
      workgroupBarrier();
    }
    for (var k = 0u; k < rounds; k++) {
      let next = tile[(l + k) % size];
      workgroupBarrier();
      tile[l] = next + k;
      workgroupBarrier();
    }
    if (isIn) { out[i] = sum + tile[0] + tile[size - 1u - l] * rounds; }
  }`;

const storageExchange = `
  @group(0) @binding(0) var<storage, read_write> a: array<u32, 512>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32, 512>;
  @compute @workgroup_size(128)
  fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
    let first = g.x * 128u;
    a[first + l] = a[first + l] * 3u + l;
    storageBarrier();
    let other = a[first + 127u - l];
    storageBarrier();
    a[first + l] ^= other;
    storageBarrier();
    out[first + l] = a[first + (l + 37u) % 128u] + other;
  }`;

/** Gives each ticket out once, so that each cell counts one. */
const atomics = `
  struct Counters { sum: atomic<u32>, low: atomic<i32>, high: atomic<i32>, rest: array<atomic<u32>, 5> }
  @group(0) @binding(0) var<storage, read_write> c: Counters;
  @group(0) @binding(1) var<storage, read> values: array<u32, 256>;
  @group(0) @binding(2) var<storage, read_write> taken: array<atomic<u32>, 256>;
  @group(0) @binding(3) var<storage, read_write> out: array<u32, 64>;
  @group(0) @binding(4) var<storage, read_write> n: array<atomic<u32>, 4>;
  var<workgroup> bins: array<atomic<u32>, 16>;
  var<workgroup> least: atomic<i32>;
  @compute @workgroup_size(64)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) g: vec3u,
          @builtin(local_invocation_index) l: u32) {
    let x = values[id.x];
    let ticket = atomicAdd(&n[0], 1u);
    atomicAdd(&taken[ticket % 256u], 1u);
    atomicAdd(&c.sum, x);
    atomicMin(&c.low, bitcast<i32>(x)); atomicMax(&c.high, bitcast<i32>(x));
    atomicOr(&c.rest[0], x); atomicAnd(&c.rest[1], x | 3u); atomicXor(&c.rest[2], x * 5u);
    atomicMax(&c.rest[3], x); atomicSub(&c.rest[4], x >> 3u);
    for (var k = 0u; k < x % 4u; k++) { atomicAdd(&n[1], k); }
    var old = atomicLoad(&n[2]);
    loop {
      let result = atomicCompareExchangeWeak(&n[2], old, old + 3u);
      if (result.exchanged) { break; }
      old = result.old_value;
    }
    atomicAdd(&bins[x % 16u], l + 1u);
    atomicMin(&least, -i32(x % 1000u));
    workgroupBarrier();
    if (l < 16u) { out[g.x * 16u + l] = atomicLoad(&bins[l]) * 3u + u32(atomicLoad(&least)); }
    workgroupBarrier();
    if (l == 0u) { atomicStore(&bins[0], 5u); atomicAdd(&n[3], atomicExchange(&bins[0], 6u)); }
  }`;

const ids = `
  override x: u32 = 4; override y: u32 = 3; override z: u32 = 2;
  @group(0) @binding(0) var<storage, read_write> out: array<array<u32, 12>, 1536>;
  struct In { @builtin(local_invocation_id) lid: vec3u, @builtin(num_workgroups) groups: vec3u }
  @compute @workgroup_size(x, y, z)
  fn main(in: In, @builtin(global_invocation_id) gid: vec3u, @builtin(workgroup_id) wid: vec3u,
          @builtin(local_invocation_index) index: u32) {
    let size = x * y * z;
    let flat = (wid.x + in.groups.x * (wid.y + in.groups.y * wid.z)) * size + index;
    let mine = array(gid.x, gid.y, gid.z, in.lid.x, in.lid.y, in.lid.z, index, wid.x, wid.y, wid.z,
                     in.groups.x + in.groups.y * 100u + in.groups.z * 10000u, flat);
    if (flat < 1536u) { out[flat] = mine; }
  }`;

/**
 * A loop over all elements, whose last turn is partial. Floats are small integers and powers of
 * two, so each step is exact, in any order.
 */
const everyLane = `
  @group(0) @binding(0) var<storage, read_write> out: array<vec2u>;
  @group(0) @binding(1) var<storage, read> values: array<f32, 64>;
  @compute @workgroup_size(256)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < arrayLength(&out); i += groups.x * 256u) {
      var h = i * 0x85ebca6bu + 1u;
      var f = values[i % 64u];
      for (var k = 0u; k < 6u; k++) {
        h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
        h ^= h << (k + 1u);
        f = f * 0.5 + f32(h & 7u);
      }
      out[i] = vec2u(h, bitcast<u32>(i32(f * 64.0)));
    }
  }`;

const lanes = `
  enable subgroups;
  override x: u32 = 64; override y: u32 = 1; override z: u32 = 1;
  @group(0) @binding(0) var<storage, read_write> lanes: array<vec2u>;
  @group(0) @binding(1) var<storage, read_write> checks: array<u32>;
  @compute @workgroup_size(x, y, z)
  fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32,
          @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {
    let i = g.x * x * y * z + l;
    let others = subgroupBallot(true);
    let mine = others[lane / 32u];
    let below = (1u << (lane % 32u)) - 1u;
    var before = countOneBits(mine & below);
    for (var k = 0u; k < lane / 32u; k++) { before += countOneBits(others[k]); }
    let count = countOneBits(others.x) + countOneBits(others.y) + countOneBits(others.z) + countOneBits(others.w);
    let first = subgroupMin(lane);
    let hasNext = lane + 1u < size && ((others[(lane + 1u) / 32u] >> ((lane + 1u) % 32u)) & 1u) == 1u;
    let next = subgroupShuffle(lane, select(lane, lane + 1u, hasNext));
    lanes[i] = vec2u(size, lane);
    checks[i] = u32(lane < size) + 2u * u32(((mine >> (lane % 32u)) & 1u) == 1u)
      + 4u * u32(subgroupShuffle(l, lane) == l) + 8u * u32(subgroupExclusiveAdd(1u) == before)
      + 16u * u32(subgroupAdd(1u) == count) + 32u * u32(subgroupBroadcastFirst(lane) == first)
      + 64u * u32(subgroupElect() == (lane == first)) + 128u * u32(!hasNext || next == lane + 1u)
      + 256u * u32(countOneBits(size) == 1u) + 512u * u32(subgroupInclusiveAdd(1u) == before + 1u);
  }`;

const subgroupOperations = `
  enable subgroups;
  override x: u32 = 64;
  @group(0) @binding(0) var<storage, read_write> lanes: array<vec2u>;
  @group(0) @binding(1) var<storage, read> values: array<u32, 64>;
  @group(0) @binding(2) var<storage, read_write> out: array<array<u32, 20>>;
  @group(0) @binding(3) var<storage, read_write> sums: array<f32>;
  @compute @workgroup_size(x)
  fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32,
          @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {
    let i = g.x * x + l; let v = values[i % 64u]; let s = bitcast<i32>(v);
    lanes[i] = vec2u(size, lane);
    var o = array<u32, 20>();
    o[0] = subgroupAdd(v); o[1] = subgroupInclusiveAdd(v); o[2] = subgroupExclusiveAdd(v);
    o[3] = subgroupMul(v | 1u); o[4] = subgroupExclusiveMul(v | 1u);
    o[5] = subgroupMin(v); o[6] = bitcast<u32>(subgroupMax(s)); o[7] = bitcast<u32>(subgroupMin(s));
    o[8] = subgroupAnd(v | 5u); o[9] = subgroupOr(v & 0xff00u); o[10] = subgroupXor(v);
    o[11] = subgroupShuffle(v, lane ^ 3u); o[12] = subgroupShuffleXor(v, 1u);
    o[13] = subgroupBroadcast(v, 2u); o[14] = subgroupBroadcastFirst(v);
    o[15] = u32(subgroupAll(v != 3u)) + 2u * u32(subgroupAny(v == 3u));
    let b = subgroupBallot(v % 2u == 1u); o[16] = b.x ^ b.y;
    o[17] = quadBroadcast(v, 1u); o[18] = quadSwapX(v) ^ (quadSwapY(v) * 3u); o[19] = quadSwapDiagonal(v);
    for (var k = 0u; k < 3u; k++) { o[12] += subgroupShuffleXor(o[12], 1u); }
    out[i] = o;
    sums[i] = subgroupAdd(f32(v % 16u)) + subgroupMax(f32(l));
  }`;

/**
 * The kernel that stores the size and the lane of each invocation's subgroup. Its `checks` are the
 * same for every mapping of invocations to lanes.
 */
export const laneKernel: BuiltInKernel = {
  name: "lanes of subgroups",
  needs: ["subgroups"],
  workgroups: [2, 1, 1],
  elements: 512,
  variants: [
    { x: 32, y: 1, z: 1 },
    { x: 256, y: 1, z: 1 },
  ],
  source: lanes,
};

/** The built-in kernels. Those that need a feature are for devices that have it. */
export const builtInKernels: readonly BuiltInKernel[] = [
  {
    name: "unsigned integers",
    source: table("u32", [...numbers, ...integers], integerLoop),
  },
  {
    name: "signed integers",
    source: table("i32", [...numbers, ...withSign, ...integers], integerLoop),
  },
  {
    name: "shifts and bits",
    source: table(
      "u32",
      bits,
      `var s = x; var t = bitcast<i32>(y);
       for (var k = 0u; k < 5u; k++) { s ^= s << (k + z); s ^= s >> 7u; t = (t >> k) ^ (t << 3u); s += u32(t); }
       s += extractBits(s, z & 15u, 9u) ^ insertBits(s, x, y & 15u, 5u);`,
    ),
  },
  {
    name: "packed integers",
    needs: ["packed_4x8_integer_dot_product"],
    source: table("u32", packed),
  },
  { name: "floats", source: table("f32", floats, floatLoop) },
  { name: "functions of floats", source: table("f32", functions) },
  { name: "branches and loops", source: control },
  {
    name: "structures and matrices",
    workgroups: [1, 1, 1],
    contents: "indices",
    source: structures,
  },
  {
    name: "arrays with variable indices",
    workgroups: [4, 1, 1],
    source: privateArrays,
  },
  { name: "loads after stores", workgroups: [4, 1, 1], elements: 231, source: inPlace },
  {
    name: "workgroup memory and barriers",
    workgroups: [3, 1, 1],
    elements: 149,
    variants: [{ size: 8 }, { size: 64 }, { size: 256 }],
    source: tiles,
  },
  { name: "storage barriers", workgroups: [4, 1, 1], source: storageExchange },
  { name: "atomics", workgroups: [4, 1, 1], source: atomics },
  {
    name: "identifiers",
    workgroups: [3, 2, 2],
    variants: [
      { x: 4, y: 3, z: 2 },
      { x: 16, y: 8, z: 1 },
      { x: 1, y: 5, z: 1 },
    ],
    source: ids,
  },
  {
    name: "every lane",
    workgroups: [8, 1, 1],
    elements: 5003,
    contents: "indices",
    source: everyLane,
  },
  laneKernel,
  {
    name: "operations of subgroups",
    needs: ["subgroups"],
    workgroups: [2, 1, 1],
    elements: 256,
    contents: "indices",
    variants: [{ x: 128 }],
    source: subgroupOperations,
  },
  {
    name: "numbers of 16 bits",
    needs: ["shader-f16"],
    source: `enable f16;${table("f16", floats, floatLoop)}`,
  },
];
