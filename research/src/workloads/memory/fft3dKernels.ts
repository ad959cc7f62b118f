/**
 * The passes of the three-dimensional Fourier transform, as WGSL. An element of `array<vec4f>` is
 * two complex numbers side by side.
 */

/**
 * The possible lengths of a side: the squares of the lengths that an invocation transforms in
 * registers.
 */
export type Side = 16 | 256;

/**
 * The number of invocations of a workgroup that work side by side on neighbors in memory: sixteen
 * numbers of 8 bytes each.
 */
const ABREAST = 8;
/** The number of lines of a workgroup in the pass along x. */
const LINES = 16;

export const workgroupsAlongX = (side: Side, numbers: number) => numbers / (LINES * side);
export const workgroupsAcross = (side: Side, numbers: number) => numbers / (2 * ABREAST * side);

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const list = (count: number, item: (i: number) => string) => range(count).map(item).join(", ");
const number = (value: number) => value.toFixed(9);

/** The complex arithmetic on pairs, and transforms of four of them. */
const ARITHMETIC = /* wgsl */ `
fn times(a: vec4f, b: vec4f) -> vec4f {
  return fma(a.xxzz, b, a.yyww * b.yxwz * vec4f(-1.0, 1.0, -1.0, 1.0));
}

fn turned(a: vec4f) -> vec4f {
  return a.yxwz * vec4f(1.0, -1.0, 1.0, -1.0);
}

fn four(a: vec4f, b: vec4f, c: vec4f, d: vec4f) -> array<vec4f, 4> {
  let evens = a + c;
  let odds = b + d;
  let left = a - c;
  let right = turned(b - d);
  return array(evens + odds, left + right, evens - odds, left - right);
}`;

/**
 * The transform of sixteen numbers in registers: four transforms of four, then four more across
 * them.
 */
const SIXTEEN = /* wgsl */ `
fn short(v: array<vec4f, 16>) -> array<vec4f, 16> {
${range(4)
  .map((i) => `  let s${i} = four(v[${i}], v[${i + 4}], v[${i + 8}], v[${i + 12}]);`)
  .join("\n")}
${range(4)
  .map((k) => {
    const terms = range(4).map((i) =>
      i * k === 0 ? `s${i}[${k}]` : `times(s${i}[${k}], ${root(i * k, 16)})`,
    );
    return `  let t${k} = four(${terms.join(", ")});`;
  })
  .join("\n")}
  return array(${range(16)
    .map((i) => `t${i % 4}[${i >> 2}]`)
    .join(", ")});
}`;

const FOUR = /* wgsl */ `
fn short(v: array<vec4f, 4>) -> array<vec4f, 4> {
  return four(v[0], v[1], v[2], v[3]);
}`;

function root(power: number, length: number): string {
  const angle = (-2 * Math.PI * power) / length;
  const [re, im] = [number(Math.cos(angle)), number(Math.sin(angle))];
  return `vec4f(${re}, ${im}, ${re}, ${im})`;
}

/**
 * Returns the bindings of a pass and its functions on registers; a line has `radix` squared
 * numbers.
 */
function preamble(radix: 4 | 16): string {
  const powers = range(radix - 1)
    .slice(1)
    .map((i) => {
      const power = i + 1;
      const half = power >> 1;
      return `  let w${power} = times(w${half}, w${power - half});`;
    });
  const twiddled = range(radix).map((k) => (k === 0 ? "v[0]" : `times(v[${k}], w${k})`));
  return /* wgsl */ `
@group(0) @binding(0) var<storage, read> roots: array<vec4f>;
@group(0) @binding(1) var<storage, read> before: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> after: array<vec4f>;
${ARITHMETIC}
${radix === 16 ? SIXTEEN : FOUR}

// Each times the power of w that its place is.
fn twiddled(v: array<vec4f, ${radix}>, w1: vec4f) -> array<vec4f, ${radix}> {
${powers.join("\n")}
  return array(${twiddled.join(", ")});
}`;
}

/**
 * Returns code that exchanges numbers through workgroup memory in two halves. More workgroups run
 * at once if each takes less memory.
 */
function exchange(
  count: number,
  put: (k: number, half: "xy" | "zw") => string,
  get: (b: number) => string,
): string {
  const puts = (half: "xy" | "zw") => range(count).map((k) => put(k, half));
  const gets = (name: string) => range(count).map((b) => `let ${name}${b} = ${get(b)};`);
  return [
    ...puts("xy"),
    "workgroupBarrier();",
    ...gets("first"),
    "workgroupBarrier();",
    ...puts("zw"),
    "workgroupBarrier();",
    ...gets("second"),
  ]
    .map((line) => `  ${line}`)
    .join("\n");
}

/**
 * Returns a pass that transforms along y or z, many rows at once. Neighbors in a workgroup hold
 * neighbors in memory, and one invocation gathers numbers of distant rows. Numbers of a line lie
 * `stride` vectors apart. Odd rows change places in pairs, so that no two invocations meet in a
 * bank.
 *
 * Source: Nukada, Ogata, Endo, Matsuoka, "Bandwidth intensive 3-D FFT kernel for GPUs using CUDA",
 * SC 2008, with both steps of a line in one pass.
 */
export function transformAcross(side: Side, stride: number): string {
  const radix = Math.sqrt(side) as 4 | 16;
  const steps = exchange(
    radix,
    (k, half) =>
      `tile[(${k * radix}u + (local.y ^ ${k % 2}u)) * ${ABREAST}u + local.x] = once[${k}].${half};`,
    (b) => `tile[(local.y * ${radix}u + (${b}u ^ (local.y & 1u))) * ${ABREAST}u + local.x]`,
  );
  return /* wgsl */ `${preamble(radix)}

var<workgroup> tile: array<vec2f, ${side * ABREAST}>;

@compute @workgroup_size(${ABREAST}, ${radix})
fn transformAcross(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let column = group.x * ${ABREAST}u + local.x;
  let base = column / ${stride}u * ${stride * side}u + column % ${stride}u + local.y * ${stride}u;
  let rows = array(${list(radix, (a) => `before[base + ${a * radix * stride}u]`)});
  let once = twiddled(short(rows), roots[local.y]);
${steps}
  let twice = short(array(${list(radix, (b) => `vec4f(first${b}, second${b})`)}));
${range(radix)
  .map((k) => `  after[base + ${k * radix * stride}u] = twice[${k}];`)
  .join("\n")}
}`;
}

/**
 * Returns a pass that transforms along x. A pair holds two numbers of the same line, so the
 * exchange through workgroup memory also transposes squares of two by two. Places are mixed so that
 * no two invocations meet in a bank.
 */
export function transformAlongX(side: Side): string {
  const radix = Math.sqrt(side) as 4 | 16;
  const pairs = radix / 2;
  const steps = exchange(
    pairs,
    (m, half) =>
      `tile[line + local.x * ${pairs}u + (${m}u ^ local.x)] = vec4f(once[${2 * m}].${half}, once[${2 * m + 1}].${half});`,
    (j) => `tile[line + ${j * pairs}u + (local.x ^ ${j}u)]`,
  );
  return /* wgsl */ `${preamble(radix)}

var<workgroup> tile: array<vec4f, ${(LINES * side) / 4}>;

@compute @workgroup_size(${pairs}, ${LINES})
fn transformAlongX(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let base = (group.x * ${LINES}u + local.y) * ${side / 2}u + local.x;
  let line = local.y * ${side / 4}u;
  let once = twiddled(short(array(${list(radix, (a) => `before[base + ${a * pairs}u]`)})), roots[local.x]);
${steps}
  let twice = short(array(${list(radix, (b) => `${b % 2 ? "second" : "first"}${b >> 1}`)}));
${range(radix)
  .map((k) => `  after[base + ${k * pairs}u] = twice[${k}];`)
  .join("\n")}
}`;
}

/**
 * Returns the contents of `roots` for the passes across, or for the pass along x. They are the
 * roots of unity that belong to a place in the first step.
 */
export function rootsFor(side: Side, pass: "across" | "alongX"): Float32Array {
  const radix = Math.sqrt(side);
  const numbers = range(radix).flatMap((place) => {
    const angle = (-2 * Math.PI * place) / side;
    const value = [Math.cos(angle), Math.sin(angle)];
    return pass === "across" ? [...value, ...value] : value;
  });
  return Float32Array.from(numbers);
}
