/**
 * The kernels of a transformer, written as those of public runtimes are. 4-bit weights become
 * numbers at their use. Sums are in 32 bits, and stored numbers have the model's precision.
 */
import { headWidth, type ModelPrecision, type Shape } from "./shape.ts";

/** The invocations of a workgroup that share a row in a product with a vector. */
const ROW_LANES = 16;
/** The rows of a workgroup in a product with a vector. */
export const ROWS_PER_WORKGROUP = 8;
/** The tokens, and the rows, of a workgroup in a product of matrices. */
export const TILE = 32;

/** The divisor of logits before a token is drawn. */
export const TEMPERATURE = 0.5;

/** The words that a step of the model has in a uniform buffer. */
const STEP = /* wgsl */ `
struct Step {
  start: u32, // the position of the first token
  count: u32, // the tokens of the step
  chance: f32, // the number in [0, 1) that chooses the next token
}`;

const DEQUANTIZE = /* wgsl */ `
fn lowWeights(word: u32) -> vec4f {
  return vec4f((vec4u(word) >> vec4u(0u, 4u, 8u, 12u)) & vec4u(15u)) - 8.0;
}

fn highWeights(word: u32) -> vec4f {
  return vec4f((vec4u(word) >> vec4u(16u, 20u, 24u, 28u)) & vec4u(15u)) - 8.0;
}`;

/** Returns the statements that add up `partial` over `lanes` neighbors, into the first of them. */
const addUp = (lanes: number) => /* wgsl */ `
  for (var width = ${lanes / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local % ${lanes}u < width) { partial[local] += partial[local + width]; }
  }
  workgroupBarrier();`;

/** A kernel of the model, by what it does. */
export type KernelName = keyof ReturnType<typeof kernelsOf>;

/** Returns the WGSL of each kernel. The entry point has the kernel's name. */
export function kernelsOf(shape: Shape, precision: ModelPrecision) {
  const { width, heads, groups, hidden, vocabulary } = shape;
  const head = headWidth(shape);
  const real = `${precision === "f16" ? "enable f16;\n" : ""}alias real = ${precision};`;

  const embed = /* wgsl */ `${real}
${STEP}
const WORDS = ${width / 8}u; // in a row of the table

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> words: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<real>;
@group(0) @binding(4) var<storage, read_write> state: array<vec4<real>>;
${DEQUANTIZE}

@compute @workgroup_size(64)
fn embed(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= WORDS) { return; }
  let index = tokens[step.start + id.y] * WORDS + id.x;
  let scale = f32(scales[index / 4u]);
  let first = 2u * (id.y * WORDS + id.x);
  state[first] = vec4<real>(scale * lowWeights(words[index]));
  state[first + 1u] = vec4<real>(scale * highWeights(words[index]));
}`;

  const normalize = /* wgsl */ `${real}
const VECTORS = ${width / 4}u;
const LANES = 64u;

@group(0) @binding(0) var<storage, read> state: array<vec4<real>>;
@group(0) @binding(1) var<storage, read> gain: array<vec4<real>>;
@group(0) @binding(2) var<storage, read_write> normalized: array<vec4<real>>;

var<workgroup> partial: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn normalize(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let start = group.x * VECTORS;
  var sum = 0.0;
  for (var i = local; i < VECTORS; i += LANES) {
    let numbers = vec4f(state[start + i]);
    sum += dot(numbers, numbers);
  }
  partial[local] = sum;${addUp(64)}
  let factor = inverseSqrt(partial[0] / ${width}.0 + 1e-5);
  for (var i = local; i < VECTORS; i += LANES) {
    normalized[start + i] = vec4<real>(factor * vec4f(state[start + i]) * vec4f(gain[i]));
  }
}`;

  const rotate = /* wgsl */ `${real}
${STEP}
const HEADS = ${heads}u;
const GROUPS = ${groups}u;
const HEAD = ${head}u;
const PAIRS = HEAD / 2u;

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> projected: array<real>; // queries, keys, values of each token
@group(0) @binding(2) var<storage, read> rotations: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> queries: array<real>;
@group(0) @binding(4) var<storage, read_write> keys: array<real>;
@group(0) @binding(5) var<storage, read_write> values: array<real>;

@compute @workgroup_size(64)
fn rotate(@builtin(global_invocation_id) id: vec3u) {
  let head = id.x / PAIRS;
  let pair = id.x % PAIRS;
  if (head >= HEADS + 2u * GROUPS) { return; }
  let position = step.start + id.y;
  let first = (id.y * (HEADS + 2u * GROUPS) + head) * HEAD + pair;
  let a = f32(projected[first]);
  let b = f32(projected[first + PAIRS]);
  if (head >= HEADS + GROUPS) {
    let place = (position * GROUPS + head - HEADS - GROUPS) * HEAD + pair;
    values[place] = real(a);
    values[place + PAIRS] = real(b);
    return;
  }
  let rotation = rotations[position * PAIRS + pair];
  let rotated = vec2f(a * rotation.x - b * rotation.y, b * rotation.x + a * rotation.y);
  if (head < HEADS) {
    let place = (id.y * HEADS + head) * HEAD + pair;
    queries[place] = real(rotated.x);
    queries[place + PAIRS] = real(rotated.y);
  } else {
    let place = (position * GROUPS + head - HEADS) * HEAD + pair;
    keys[place] = real(rotated.x);
    keys[place + PAIRS] = real(rotated.y);
  }
}`;

  const attend = /* wgsl */ `${real}
${STEP}
const HEADS = ${heads}u;
const GROUPS = ${groups}u;
const HEAD = ${head}u;
const LANES = 64u;

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> queries: array<vec4<real>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<real>>;
@group(0) @binding(3) var<storage, read> values: array<real>;
@group(0) @binding(4) var<storage, read_write> attended: array<real>;

var<workgroup> query: array<vec4f, HEAD / 4u>;
var<workgroup> partial: array<f32, LANES>;
var<workgroup> weights: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = group.x;
  let shared_head = head / (HEADS / GROUPS);
  let last = step.start + group.y;
  if (local < HEAD / 4u) { query[local] = vec4f(queries[(group.y * HEADS + head) * (HEAD / 4u) + local]); }
  workgroupBarrier();

  var highest = -1e30;
  var total = 0.0;
  var mixed = 0.0;
  for (var start = 0u; start <= last; start += LANES) {
    let position = start + local;
    var score = -1e30;
    if (position <= last) {
      let key = (position * GROUPS + shared_head) * (HEAD / 4u);
      score = 0.0;
      for (var i = 0u; i < HEAD / 4u; i++) { score += dot(query[i], vec4f(keys[key + i])); }
      score *= inverseSqrt(${head}.0);
    }
    partial[local] = score;
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
      workgroupBarrier();
      if (local < width) { partial[local] = max(partial[local], partial[local + width]); }
    }
    workgroupBarrier();
    let above = max(highest, partial[0]);
    let weight = select(0.0, exp(score - above), position <= last);
    weights[local] = weight;
    workgroupBarrier();
    partial[local] = weight;${addUp(64)}
    let shrink = exp(highest - above);
    total = total * shrink + partial[0];
    mixed *= shrink;
    if (local < HEAD) {
      for (var i = 0u; i < min(LANES, last + 1u - start); i++) {
        mixed += weights[i] * f32(values[((start + i) * GROUPS + shared_head) * HEAD + local]);
      }
    }
    highest = above;
    workgroupBarrier();
  }
  if (local < HEAD) { attended[(group.y * HEADS + head) * HEAD + local] = real(mixed / total); }
}`;

  const gate = /* wgsl */ `${real}
const HIDDEN = ${hidden / 4}u; // vectors

@group(0) @binding(0) var<storage, read> expanded: array<vec4<real>>; // gates and values of each token
@group(0) @binding(1) var<storage, read_write> gated: array<vec4<real>>;

@compute @workgroup_size(64)
fn gate(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= HIDDEN) { return; }
  let first = 2u * id.y * HIDDEN + id.x;
  let gates = vec4f(expanded[first]);
  gated[id.y * HIDDEN + id.x] = vec4<real>(gates / (1.0 + exp(-gates)) * vec4f(expanded[first + HIDDEN]));
}`;

  const softmax = /* wgsl */ `
const VOCABULARY = ${vocabulary}u;
const LANES = 128u;
const TEMPERATURE = ${TEMPERATURE};

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> probabilities: array<f32>;

var<workgroup> partial: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn softmax(@builtin(local_invocation_index) local: u32) {
  var highest = -1e30;
  for (var i = local; i < VOCABULARY; i += LANES) { highest = max(highest, logits[i]); }
  partial[local] = highest;
  for (var width = LANES / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) { partial[local] = max(partial[local], partial[local + width]); }
  }
  workgroupBarrier();
  highest = partial[0];
  workgroupBarrier();

  var sum = 0.0;
  for (var i = local; i < VOCABULARY; i += LANES) { sum += exp((logits[i] - highest) / TEMPERATURE); }
  partial[local] = sum;${addUp(128)}
  let total = partial[0];
  for (var i = local; i < VOCABULARY; i += LANES) {
    probabilities[i] = exp((logits[i] - highest) / TEMPERATURE) / total;
  }
}`;

  const sample = /* wgsl */ `
${STEP}
const VOCABULARY = ${vocabulary}u;
const LANES = 128u;
const SLICE = (VOCABULARY + LANES - 1u) / LANES;

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> probabilities: array<f32>;
@group(0) @binding(2) var<storage, read_write> tokens: array<u32>;

var<workgroup> ends: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn sample(@builtin(local_invocation_index) local: u32) {
  let first = min(local * SLICE, VOCABULARY - 1u);
  let end = min((local + 1u) * SLICE, VOCABULARY);
  var sum = 0.0;
  for (var i = local * SLICE; i < end; i++) { sum += probabilities[i]; }
  ends[local] = sum;
  workgroupBarrier();
  // One invocation adds, so that ends never decrease and exactly one slice is chosen.
  if (local == 0u) {
    for (var i = 1u; i < LANES; i++) { ends[i] += ends[i - 1u]; }
  }
  workgroupBarrier();

  let goal = step.chance * ends[LANES - 1u];
  var before = 0.0;
  if (local > 0u) { before = ends[local - 1u]; }
  if (before <= goal && (goal < ends[local] || local == LANES - 1u)) {
    var token = first;
    before += probabilities[token];
    while (before <= goal && token + 1u < end) {
      token++;
      before += probabilities[token];
    }
    tokens[step.start + step.count] = token;
  }
}`;

  return {
    embed,
    normalize,
    rotate,
    attend,
    gate,
    softmax,
    sample,
    multiplyVector: multiplyVector(real, "real", "="),
    addVectorProduct: multiplyVector(real, "real", "+="),
    computeLogits: multiplyVector(real, "f32", "="),
    multiplyMatrix: multiplyMatrix(real, "="),
    addMatrixProduct: multiplyMatrix(real, "+="),
  };
}

/** Returns the product of a matrix with the last token of a step. */
const multiplyVector = (real: string, result: "real" | "f32", assign: "=" | "+=") => /* wgsl */ `${real}
${STEP}
override ROWS: u32;
override BLOCKS: u32; // in a row
const LANES = ${ROW_LANES}u; // for a row

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> words: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<real>;
@group(0) @binding(3) var<storage, read> inputs: array<vec4<real>>;
@group(0) @binding(4) var<storage, read_write> outputs: array<${result}>;

var<workgroup> partial: array<f32, ${ROW_LANES * ROWS_PER_WORKGROUP}>;
${DEQUANTIZE}

@compute @workgroup_size(${ROW_LANES * ROWS_PER_WORKGROUP})
fn ${nameOf(result, assign)}(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = group.x * ${ROWS_PER_WORKGROUP}u + local / LANES;
  let first = (step.count - 1u) * BLOCKS * 8u;
  var sum = 0.0;
  if (row < ROWS) {
    for (var block = local % LANES; block < BLOCKS; block += LANES) {
      let packed = words[row * BLOCKS + block];
      let numbers = first + block * 8u;
      var part = 0.0;
      for (var i = 0u; i < 4u; i++) {
        part += dot(lowWeights(packed[i]), vec4f(inputs[numbers + 2u * i]));
        part += dot(highWeights(packed[i]), vec4f(inputs[numbers + 2u * i + 1u]));
      }
      sum += f32(scales[row * BLOCKS + block]) * part;
    }
  }
  partial[local] = sum;${addUp(ROW_LANES)}
  if (local % LANES == 0u && row < ROWS) { outputs[row] ${assign} ${result}(partial[local]); }
}`;

const nameOf = (result: "real" | "f32", assign: "=" | "+=") =>
  result === "f32" ? "computeLogits" : assign === "=" ? "multiplyVector" : "addVectorProduct";

/** Returns the product of a matrix with all tokens of a step, by tiles in workgroup memory. */
const multiplyMatrix = (real: string, assign: "=" | "+=") => /* wgsl */ `${real}
${STEP}
override ROWS: u32;
override BLOCKS: u32; // in a row
const TILE = ${TILE}u;
const STRIDE = 9u; // vectors of a tile's row, one of them unused: rows begin in different banks

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> words: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<real>;
@group(0) @binding(3) var<storage, read> inputs: array<vec4<real>>;
@group(0) @binding(4) var<storage, read_write> outputs: array<real>;

var<workgroup> numbers: array<vec4<real>, TILE * STRIDE>;
var<workgroup> weights: array<vec4<real>, TILE * STRIDE>;
${DEQUANTIZE}

@compute @workgroup_size(8, 8)
fn ${assign === "=" ? "multiplyMatrix" : "addMatrixProduct"}(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) place: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  var sums: array<vec4f, 4>; // for each of four tokens, the sums of four rows
  for (var block = 0u; block < BLOCKS; block++) {
    for (var i = local; i < TILE * 8u; i += 64u) {
      let token = group.y * TILE + i / 8u;
      var vector = vec4<real>();
      if (token < step.count) { vector = inputs[(token * BLOCKS + block) * 8u + i % 8u]; }
      numbers[i / 8u * STRIDE + i % 8u] = vector;
    }
    for (var i = local; i < TILE * 4u; i += 64u) {
      let row = group.x * TILE + i / 4u;
      var word = 0x88888888u;
      var scale = 0.0;
      if (row < ROWS) {
        word = words[(row * BLOCKS + block) * 4u + i % 4u];
        scale = f32(scales[row * BLOCKS + block]);
      }
      let first = i / 4u * STRIDE + i % 4u * 2u;
      weights[first] = vec4<real>(scale * lowWeights(word));
      weights[first + 1u] = vec4<real>(scale * highWeights(word));
    }
    workgroupBarrier();
    for (var k = 0u; k < 8u; k++) {
      let a = vec4f(weights[place.x * STRIDE + k]);
      let b = vec4f(weights[(place.x + 8u) * STRIDE + k]);
      let c = vec4f(weights[(place.x + 16u) * STRIDE + k]);
      let d = vec4f(weights[(place.x + 24u) * STRIDE + k]);
      for (var i = 0u; i < 4u; i++) {
        let vector = vec4f(numbers[(place.y + 8u * i) * STRIDE + k]);
        sums[i] += vec4f(dot(vector, a), dot(vector, b), dot(vector, c), dot(vector, d));
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i++) {
    let token = group.y * TILE + place.y + 8u * i;
    for (var j = 0u; j < 4u; j++) {
      let row = group.x * TILE + place.x + 8u * j;
      if (token < step.count && row < ROWS) { outputs[token * ROWS + row] ${assign} real(sums[i][j]); }
    }
  }
}`;
