/** Small kernels, each built around a feature that protection must carry through unchanged. */
import type { KernelInput } from "./kernelRunner.ts";

export interface FeatureKernel extends KernelInput {
  readonly name: string;
  readonly code: string;
  /**
   * The buffers that are not compared, as their contents differ between runs or agree only as sets.
   */
  readonly unordered?: readonly number[];
}

const words = (n: number, seed: number): Uint32Array<ArrayBuffer> => {
  const out = new Uint32Array(n);
  let state = seed;
  for (let i = 0; i < n; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = state >>> 8;
  }
  return out;
};
const floats = (n: number, seed: number): Uint32Array<ArrayBuffer> =>
  new Uint32Array(Float32Array.from(words(n, seed), (word) => word / 2 ** 23 - 1).buffer);

export const featureKernels: readonly FeatureKernel[] = [
  {
    name: "stores in divergent loops with different trip counts",
    buffers: { 0: words(256, 1), 1: words(256, 2) },
    workgroups: [4, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        let n = a[id.x] % 7u;
        var sum = 0u;
        for (var i = 0u; i < n; i++) {
          sum = sum * 31u + a[(id.x + i * 17u) % 256u];
          if (sum % 3u == 0u) { out[id.x] = sum; } else if (sum % 3u == 1u) { continue; }
          if (sum % 5u == 4u) { break; }
        }
        if (n > 5u) { return; }
        switch n { case 0, 1: { out[id.x] = n; } case 2: { return; } default: { out[id.x] = sum ^ n; } }
      }`,
  },
  {
    name: "in place, with values read back",
    buffers: { 0: words(250, 3) },
    workgroups: [4, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x >= arrayLength(&a)) { return; }
        a[id.x] += 7u;
        a[id.x] *= a[id.x] % 11u + 1u;
        a[id.x]++;
        let before = a[id.x];
        a[id.x] = 3;
        a[id.x] = before ^ a[id.x];
      }`,
  },
  {
    name: "tiles with barriers in a loop",
    buffers: { 0: floats(256, 4), 1: floats(256, 5) },
    workgroups: [4, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read> a: array<f32>;
      @group(0) @binding(1) var<storage, read_write> out: array<f32>;
      var<workgroup> tile: array<f32, 64>;
      @compute @workgroup_size(64)
      fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) l: u32) {
        var sum = 0.0;
        for (var t = 0u; t < 4u; t++) {
          tile[l] = a[t * 64u + l];
          workgroupBarrier();
          for (var k = 0u; k < 64u; k++) { sum = fma(tile[(k + l) % 64u], 0.5, sum * 0.9); }
          workgroupBarrier();
        }
        out[w.x * 64u + l] = sum;
      }`,
  },
  {
    name: "two- and three-dimensional workgroups and every built-in id",
    buffers: { 0: new Uint32Array(4 * 2 * 3 * 2 * 24 * 8) },
    workgroups: [2, 3, 2],
    code: `
      struct In {
        @builtin(local_invocation_id) lid: vec3u,
        @builtin(num_workgroups) groups: vec3u,
      }
      @group(0) @binding(0) var<storage, read_write> out: array<array<u32, 8>>;
      @compute @workgroup_size(4, 3, 2)
      fn main(in: In, @builtin(global_invocation_id) gid: vec3u, @builtin(workgroup_id) wid: vec3<u32>,
              @builtin(local_invocation_index) index: u32) {
        let flat = (wid.x + in.groups.x * (wid.y + in.groups.y * wid.z)) * 24u + index;
        out[flat] = array(gid.x, gid.y, gid.z, in.lid.x, in.lid.y, in.lid.z, index, in.groups.z * 100u + wid.y);
      }`,
  },
  {
    name: "override-sized workgroup and workgroup memory",
    buffers: { 0: words(96, 6), 1: words(96, 7) },
    workgroups: [3, 1, 1],
    constants: { width: 32 },
    code: `
      override width: i32 = 16;
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, width>;
      @compute @workgroup_size(width)
      fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) l: vec3u) {
        tile[l.x] = a[id.x];
        workgroupBarrier();
        out[id.x] = tile[u32(width) - 1u - l.x] + tile[(l.x + 1u) % u32(width)];
      }`,
  },
  {
    name: "structs, arrays, matrices, vector components and vec3 padding",
    buffers: { 0: words(64 * 40, 8), 1: words(256, 9) },
    workgroups: [1, 1, 1],
    code: `
      struct Part { position: vec3f, mass: f32, velocity: vec3f, m: mat3x3f, flags: array<vec2u, 4> }
      @group(0) @binding(0) var<storage, read_write> parts: array<Part>;
      @group(0) @binding(1) var<storage, read> a: array<vec4u>;
      fn f(x: u32) -> f32 { return f32(x % 1000u) * 0.25; }
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        let i = id.x;
        parts[i].position = vec3f(f(a[i].x), f(a[i].y), f(a[i].z));
        parts[i].position.y *= 2.0;
        parts[i].velocity[a[i].w % 3u] = 1.5;
        parts[i].m = mat3x3f(1, 2, 3, 4, 5, 6, 7, 8, f(a[i].w));
        parts[i].m[1].z = f(i);
        parts[i].flags = array(a[i].xy, a[i].zw, vec2u(i), vec2u());
        parts[i].flags[i % 4u].y++;
        if (i > 32u) {
          var part = parts[i];
          part.mass = f(part.flags[1].x);
          parts[i] = part;
        }
      }`,
  },
  {
    name: "functions that store, through pointers too",
    buffers: { 0: words(128, 10), 1: words(128, 11) },
    workgroups: [2, 1, 1],
    code: `
      requires unrestricted_pointer_parameters;
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> b: array<vec2u>;
      var<workgroup> tile: array<array<u32, 2>, 64>;
      fn bump(p: ptr<storage, u32, read_write>, by: u32) -> u32 { let before = *p; *p = before + by; return before; }
      fn twice(p: ptr<storage, u32, read_write>) -> u32 { return bump(p, 1u) + bump(p, 2u); }
      fn put(t: ptr<workgroup, array<u32, 2>>, local: ptr<function, u32>) { (*t)[1] = *local; t[0] = 9u; *local += 1u; }
      fn early(i: u32) -> u32 {
        // An odd neighbor would store to the same word.
        if (i % 2u == 0u && a[i] % 2u == 0u) { b[i / 2u].x = i; return 1u; }
        return twice(&a[i]);
      }
      @compute @workgroup_size(64)
      fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
        var local = early(id.x);
        let row = &tile[l];
        put(row, &local);
        let entry = &b[id.x / 2u];
        if (id.x % 2u == 1u) { (*entry).y = (*row)[1] + local + (*row)[0]; }
      }`,
  },
  {
    name: "storage atomics of every kind",
    buffers: { 0: new Uint32Array(8), 1: words(128, 12), 2: new Uint32Array(128) },
    workgroups: [2, 1, 1],
    unordered: [2],
    code: `
      struct Counters { sum: atomic<u32>, low: atomic<i32>, all: array<atomic<u32>, 4> }
      @group(0) @binding(0) var<storage, read_write> c: Counters;
      @group(0) @binding(1) var<storage, read> a: array<u32>;
      @group(0) @binding(2) var<storage, read_write> order: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        let slot = atomicAdd(&c.sum, 1u);
        order[slot] = id.x;
        atomicMin(&c.low, -i32(a[id.x]));
        if (a[id.x] % 2u == 0u) { atomicOr(&c.all[a[id.x] / 16u % 1u], 1u << (id.x % 32u)); }
        _ = atomicMax(&c.all[1], id.x) + atomicXor(&c.all[2], a[id.x]);
        for (var i = 0u; i < a[id.x] % 3u; i++) { atomicSub(&c.all[3], i); }
      }`,
  },
  {
    name: "a float sum by compare and exchange",
    buffers: { 0: new Uint32Array(2), 1: words(64, 13) },
    workgroups: [1, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> sum: array<atomic<u32>, 2>;
      @group(0) @binding(1) var<storage, read> a: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        var old = atomicLoad(&sum[0]);
        loop {
          let next = bitcast<u32>(bitcast<f32>(old) + f32(a[id.x] % 16u));
          let result = atomicCompareExchangeWeak(&sum[0], old, next);
          if (result.exchanged) { break; }
          old = result.old_value;
        }
        while (atomicLoad(&sum[1]) < 1000u && atomicAdd(&sum[1], 0u) == 0u) { atomicMax(&sum[1], 1u); }
      }`,
  },
  {
    name: "workgroup atomics and uniform loads",
    buffers: { 0: new Uint32Array(16 * 4), 1: words(256, 14) },
    workgroups: [4, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      @group(0) @binding(1) var<storage, read> a: array<u32>;
      var<workgroup> bins: array<atomic<u32>, 16>;
      var<workgroup> limit: vec2u;
      @compute @workgroup_size(64)
      fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) l: u32) {
        if (l == 0u) { limit = vec2u(w.x + 3u, 40u); }
        let most = workgroupUniformLoad(&limit);
        for (var i = 0u; i < most.x; i++) {
          atomicAdd(&bins[(a[w.x * 64u + l] + i) % 16u], 1u);
          workgroupBarrier();
        }
        if (l < 16u) { out[w.x * 16u + l] = atomicLoad(&bins[l]) + most.y; }
      }`,
  },
  {
    name: "short circuits, conditions and headers with atomics",
    buffers: { 0: new Uint32Array(4), 1: words(64, 15) },
    workgroups: [1, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>, 4>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
        if (out[l] % 2u == 0u && atomicAdd(&n[0], 1u) < 1000u) { out[l] = 1u; }
        else if (out[l] % 3u == 0u || atomicAdd(&n[1], 1u) > 1000u) { out[l] = 2u; }
        var i = 0u;
        loop { i++; continuing { break if atomicAdd(&n[2], 1u) > 5000u || i > l % 5u; } }
        switch (atomicOr(&n[3], 0u)) { case 0u: { out[l] += i; } default: {} }
        for (out[l] += 1u; i > 0u; out[l] += 2u) { i -= 1u; }
      }`,
  },
  {
    name: "names that hide others",
    buffers: { 0: words(64, 16) },
    workgroups: [1, 1, 1],
    code: `
      var<workgroup> tile: array<u32, 64>;
      @group(0) @binding(0) var<storage, read_write> belay_report: array<u32>;
      fn select(bitcast: u32, u32_: u32) -> u32 { let tile = bitcast; return tile + u32_; }
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) atomicAdd: u32) {
        tile[atomicAdd] = belay_report[atomicAdd];
        { let belay_report = tile[atomicAdd]; tile[atomicAdd] = select(belay_report, 5u); }
        belay_report[atomicAdd] = tile[atomicAdd];
      }`,
  },
  {
    name: "indices out of bounds, negative ones too",
    buffers: { 0: words(64, 17), 1: words(64, 18) },
    workgroups: [1, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
        out[i32(l)] = a[l + 1000u] + a[-1 - i32(l)];
      }`,
  },
  {
    name: "a kernel of two dispatch dimensions with an unused built-in",
    buffers: { 0: new Uint32Array(16 * 12) },
    workgroups: [4, 6, 1],
    entryPoint: "second",
    code: `
      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      fn write(x: u32, y: u32, v: u32) { out[y * 16u + x] = v; }
      @compute @workgroup_size(8) fn first(@builtin(global_invocation_id) id: vec3u) { write(id.x, id.y, 1u); }
      @compute @workgroup_size(4, 2) fn second(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) unused: vec3u) {
        write(id.x, id.y, id.x * id.y);
      }`,
  },
  {
    name: "a queue whose items an atomic hands out",
    buffers: { 0: new Uint32Array(2), 1: words(128, 19), 2: words(32, 23), 3: new Uint32Array(128) },
    workgroups: [2, 1, 1],
    code: `
      struct Item { at: vec3u, list: array<u32, 4> }
      @group(0) @binding(0) var<storage, read_write> next: array<atomic<u32>, 2>;
      @group(0) @binding(1) var<storage, read> keys: array<u32>;
      @group(0) @binding(2) var<storage, read> items: array<Item, 4>;
      @group(0) @binding(3) var<storage, read_write> done: array<u32>;
      @compute @workgroup_size(64) fn main() {
        let key = keys[atomicAdd(&next[0], 1u)];
        let item = items[key % 4u].list[atomicLoad(&next[1]) + key % 4u] + items[atomicLoad(&next[1])].at.z;
        done[key % 128u + atomicOr(&next[1], 0u)] = item;
      }`,
  },
  {
    name: "module variables that hide functions of the language",
    buffers: { 0: new Uint32Array(4), 1: words(64, 20) },
    workgroups: [1, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> min: array<atomic<u32>, 4>;
      @group(0) @binding(1) var<storage, read_write> all: array<u32>;
      var<workgroup> cross: array<u32, 64>;
      var<workgroup> any: bool;
      var<private> select: u32;
      fn bump(p: ptr<private, u32>) -> u32 { *p += 1u; return *p; }
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) bitcast: u32) {
        select = bitcast;
        cross[select] = all[bitcast] + atomicAdd(&min[bitcast % 4u], 1u) * 0u;
        if (bitcast == 5u) { any = all[1] > 0u && atomicAdd(&min[0], 1u) < 100u; }
        workgroupBarrier();
        select -= 1u;
        all[select + 1u] = cross[63u - bump(&select)] + u32(any) + select;
      }`,
  },
  {
    name: "swizzles, and pointers and stores in the headers of loops",
    buffers: { 0: words(256, 21), 1: words(256, 22) },
    workgroups: [1, 1, 1],
    code: `
      @group(0) @binding(0) var<storage, read_write> v: array<vec4u>;
      @group(0) @binding(1) var<storage, read_write> out: array<vec4u>;
      var<workgroup> tile: array<vec3u, 64>;
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
        v[l].zx = v[l].xw + 1u;
        v[l].wzyx.yx *= v[l].xx;
        tile[l].yz = v[l].rg;
        workgroupBarrier();
        out[l].xyz = tile[63u - l];
        for (let p = &out[l]; (*p).w % 8u != 7u; (*p).w++) { (*p).xy += vec2u(1u, (*p).w); }
        var i = 0u;
        for (out[l].x ^= 5u; i < l % 4u; out[l].z -= i) { i++; if (i == 2u) { continue; } v[l].y += i; }
      }`,
  },
];
