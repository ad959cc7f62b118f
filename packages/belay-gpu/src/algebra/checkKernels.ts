/**
 * Writes the kernels that check sums of products. With random weights `w`, the results `C` of the
 * factors `A` and `B` have `C w = A (B w)`. The right side costs a fraction of the product, as one
 * weighted sum stands for a block of columns.
 *
 * Source: R. Freivalds, "Probabilistic machines can use less running time", 1977. Bounds of
 * rounding errors: N. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1.
 */
import { reportWords as kernelReportWords } from "../compiler/contract.ts";
import type { Dimension, Operand, SumsOfProducts } from "./sumsOfProducts.ts";
import { bitsOf, isPacked } from "./symbols.ts";

/** The columns that one weighted sum stands for. More cost less, and hide larger errors. */
const blockColumns = 64;
/** The most blocks that a workgroup compares, and its invocations. */
const mostBlocks = 8;
const lanes = 64;
/**
 * The rows from which on a workgroup compares two vectors of rows, which load combined columns less
 * often. Its kernel takes longer to compile.
 */
const manyRows = 64;
/** The columns of a tile of the right factor, and the terms from which on it pays. */
const tileColumns = 32;
const tileTerms = 32;
/** The blocks whose sums are in workgroup memory at a time. */
const phaseBlocks = 2;

/** The words of a report on one comparison. */
export const reportWords = {
  /** The number of compared sums. It tells that the check has run. */
  compared: 0,
  mismatches: 1,
  undecided: 2,
  /** Not 0 if words outside of the results changed. */
  outside: 3,
  /** The first result of a row with a mismatch, its block, the difference and the bound. */
  result: 4,
  block: 5,
  difference: 6,
  bound: 7,
  /** The largest bound of all sums. */
  largest: 8,
  /** The number of workgroups all of whose sums agree. */
  agreed: 9,
} as const;
/**
 * The words of one report. A second comparison has the next ones. Only a comparison whose report
 * begins with word 0 decides.
 */
export const reportStride = 16;
export const reportSize = 8 * reportStride;

/** The size of the uniform buffer with the seed of the weights, in bytes. */
export const drawSize = 8;

/** The kernels of a check, and what they need. */
export interface CheckKernels {
  readonly source: string;
  /** The workgroups of the kernel `combine`, and of the kernel `compare`. */
  readonly combine: readonly [number, number];
  readonly compare: readonly [number, number];
  /** The bytes of the weighted sums of the right operand. */
  readonly combinedBytes: number;
  /** The number of sums that `compare` compares. */
  readonly compared: number;
  /** The numbers outside of the results, in the output's binding, and the workgroups for them. */
  readonly outside: number;
  readonly digest: readonly [number, number];
  /** True if the right operand is the one that the kernels call the left one. */
  readonly isMirrored: boolean;
  /** Multiplications of the check, as a fraction of those of the sums. */
  readonly work: number;
}

/** The most workgroups in a dimension of a grid. */
const mostWorkgroups = 65535;

/** A dimension with its place in an index of fewer dimensions. */
interface Placed extends Dimension {
  /** The step in the results. */
  readonly output: number;
}

/** Returns the reason why a check of sums makes no sense, if there is one. */
export function obstacleToCheck({ results, precision, roundings }: SumsOfProducts): string | undefined {
  if (results.some(({ left, right, size }) => left === 0 && right === 0 && size > 1))
    return "several results have the same factors";
  if (precision === "f16") return "it adds up in f16";
  if (roundings > 2 ** 18) return "its sums are too long for a useful bound";
  return undefined;
}

/**
 * Returns the kernels that check sums of products, in whose output's binding are so many bytes. If
 * they decide, the first comparison skips a kernel, by a word of the kernel's report, once all sums
 * agree.
 */
export function checkKernels(given: SumsOfProducts, outputBytes: number, decides = false): CheckKernels {
  const sums = inCheaperOrder(given);
  const { rows, columns, batches } = partsOf(sums);
  const terms = countOf(sums.terms);
  const [rowCount, columnCount, batchCount] = [rows, columns, batches].map(countOf) as [
    number,
    number,
    number,
  ];
  const blocks = Math.ceil(columnCount / blockColumns);
  const vectors = rowCount >= manyRows && sums.windows.length === 0 ? 2 : 1;
  const groupRows = 4 * vectors;
  const groupBlocks = Math.min(mostBlocks, blocks);
  const blockGroups = Math.ceil(blocks / groupBlocks);
  const rowGroups = Math.ceil(rowCount / groupRows);
  const workgroups = rowGroups * blockGroups * batchCount;
  const combined = batchCount * blocks * terms;
  const words = Math.ceil(outputBytes / 4);
  const { output, first: firstResult, count } = sums;
  const perWord = output.format === "f16" ? 2 : 1;
  const { scale } = sums;
  /** Writes the load of the right factor of a term and a column. */
  const rightAt = (term: string, column: string) => {
    const at = (operand: "right" | "scale") =>
      `${wrapped(sums.start[operand])} + ${addressOf(batches, "batch", operand)} + ${addressOf(sums.terms, term, operand)} + ${addressOf(columns, column, operand)}`;
    return `rightAt(${at("right")})${scale?.scaled === "right" ? ` * scaleAt(${at("scale")})` : ""}`;
  };
  const scalesLeft = scale?.scaled === "left";
  const stored = (sum: string, magnitude: string) =>
    `vec2f(${float(sums.coefficient)} * ${sum}, ${float(Math.abs(sums.coefficient))} * ${magnitude} * share)`;
  // Neighboring lanes have neighboring terms. They load neighboring columns where these are closer.
  const isTiled = terms >= tileTerms && nearest(columns) < nearest(sums.terms);
  const termGroups = Math.ceil(terms / lanes);
  const plainCombine = `/** Combines a block of columns of a term: their weighted sum, and its share of the bound. */
@compute @workgroup_size(${lanes})
fn combine(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let n = linear(id, groups) * ${lanes}u + lane;
  if (n >= ${combined}u) { return; }
  let term = n % terms;
  let block = n / terms % blocks;
  let batch = n / (terms * blocks);
  var sum = 0.0;
  var magnitude = 0.0;
  for (var column = block * ${blockColumns}u; column < min((block + 1u) * ${blockColumns}u, columns); column++) {
    let x = weight(column) * ${rightAt("term", "column")};
    sum += x;
    magnitude += abs(x) + tinyRight;
  }
  combined[n] = ${stored("sum", "magnitude")};
}`;
  const tiledCombine = `var<workgroup> tile: array<array<f32, ${tileColumns + 1}>, ${lanes}>;

/** Combines a block of columns of ${lanes} terms, whose numbers go through a tile. */
@compute @workgroup_size(${lanes})
fn combine(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = linear(id, groups);
  if (group >= ${termGroups * blocks * batchCount}u) { return; }
  let firstTerm = group % ${termGroups}u * ${lanes}u;
  let block = group / ${termGroups}u % blocks;
  let batch = group / (${termGroups}u * blocks);
  var sum = 0.0;
  var magnitude = 0.0;
  for (var first = block * ${blockColumns}u; first < min((block + 1u) * ${blockColumns}u, columns); first += ${tileColumns}u) {
    // Loads without conditions overlap. Nobody uses those of other terms and columns.
    let column = min(first + lane % ${tileColumns}u, columns - 1u);
    for (var i = 0u; i < ${tileColumns}u; i++) {
      let row = lane / ${tileColumns}u + i * ${lanes / tileColumns}u;
      let term = min(firstTerm + row, terms - 1u);
      tile[row][lane % ${tileColumns}u] = ${rightAt("term", "column")};
    }
    workgroupBarrier();
    for (var i = 0u; i < min(${tileColumns}u, columns - first); i++) {
      let x = weight(first + i) * tile[lane][i];
      sum += x;
      magnitude += abs(x) + tinyRight;
    }
    workgroupBarrier();
  }
  let term = firstTerm + lane;
  if (term < terms) { combined[(batch * blocks + block) * terms + term] = ${stored("sum", "magnitude")}; }
}`;
  const source = `
${declarationOf(sums.left, 0, "left")}
${declarationOf(sums.right, 1, "right")}
${declarationOf(output, 2, "results")}
${sums.added ? declarationOf(sums.added, 3, "added") : ""}
@group(0) @binding(4) var<storage, read_write> combined: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> report: array<atomic<u32>>;
/** The seed of the weights, and the first word of the report. */
struct Draw { seed: u32, own: u32 }
@group(0) @binding(6) var<uniform> draw: Draw;
${decides ? "@group(0) @binding(7) var<storage, read_write> skipped: array<u32>;" : ""}
${scale ? declarationOf(scale, 8, "scales") : ""}

const terms = ${terms}u;
const rows = ${rowCount}u;
const columns = ${columnCount}u;
const blocks = ${blocks}u;
${boundsOf(sums, terms)}

fn linear(id: vec3u, groups: vec3u) -> u32 { return id.x + id.y * groups.x; }

/** Returns a random number of either sign, whose magnitude is in [1, 2). */
fn weight(column: u32) -> f32 {
  var x = (column + draw.seed) * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
  x = (x >> 22u) ^ x;
  return bitcast<f32>((x & 0x807fffffu) | 0x3f800000u);
}

fn leftAt(at: u32) -> f32 { return ${loadOf(sums.left, "left", "at")}; }
fn rightAt(at: u32) -> f32 { return ${loadOf(sums.right, "right", "at")}; }
${scale ? `fn scaleAt(at: u32) -> f32 { return ${loadOf(scale, "scales", "at")}; }` : ""}
fn resultAt(at: u32) -> f32 { return ${loadOf(output, "results", "at")}; }
${sums.added ? `fn addedAt(at: u32) -> f32 { return ${float(sums.addedScale)} * ${loadOf(sums.added, "added", "at")}; }` : ""}

fn isFinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

${isTiled ? tiledCombine : plainCombine}

var<workgroup> partial: array<array<vec4f, ${lanes}>, ${phaseBlocks * 2 * vectors}>;
var<workgroup> reduced: array<array<f32, ${lanes}>, ${groupBlocks}>;
/** The numbers of sums of this workgroup, and its largest bound. */
var<workgroup> agreed: atomic<u32>;
var<workgroup> undecided: atomic<u32>;
var<workgroup> mismatches: atomic<u32>;
var<workgroup> largest: atomic<u32>;
${decides ? "var<workgroup> isOver: u32;" : ""}

/** The lanes that add up one number of a block: the difference or the bound of a row. */
const parts = ${lanes / (2 * groupRows)}u;

/** Adds up a part of the lanes' numbers of a block. */
fn reduce(first: u32, lane: u32) -> f32 {
  let number = lane / parts;
  var sum = 0.0;
  for (var i = lane % parts; i < ${lanes}u; i += parts) { sum += partial[first + number / 4u][i][number % 4u]; }
  return sum;
}

/** Adds up the parts of a number of a block. */
fn whole(block: u32, number: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < parts; i++) { sum += reduced[block][number * parts + i]; }
  return sum;
}

/** Compares both sides for some rows and some blocks. */
@compute @workgroup_size(${lanes})
fn compare(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = linear(id, groups);
${
  decides
    ? `  if (lane == 0u) { isOver = skipped[${kernelReportWords.skip}]; }
  if (workgroupUniformLoad(&isOver) != 0u) { return; }`
    : ""
}
  if (group >= ${workgroups}u) { return; }
  let firstBlock = group % ${blockGroups}u * ${groupBlocks}u;
  let firstRow = group / ${blockGroups}u % ${rowGroups}u * ${groupRows}u;
  let batch = group / ${blockGroups * rowGroups}u;
${each(
  vectors,
  (
    v,
  ) => `  let row${v} = min(firstRow + vec4u(${4 * v}u, ${4 * v + 1}u, ${4 * v + 2}u, ${4 * v + 3}u), vec4u(rows - 1u));
  let base${v} = ${wrapped(sums.start.left)} + ${addressOf(batches, "batch", "left")} + ${addressOf(rows, `row${v}`, "left", true)};
${scalesLeft ? `  let scaleBase${v} = ${wrapped(sums.start.scale)} + ${addressOf(batches, "batch", "scale")} + ${addressOf(rows, `row${v}`, "scale", true)};` : ""}
  let result${v} = ${addressOf(batches, "batch", "output")} + ${addressOf(rows, `row${v}`, "output", true)};
${sums.added ? `  let addedBase${v} = ${wrapped(sums.start.added)} + ${addressOf(batches, "batch", "added")} + ${addressOf(rows, `row${v}`, "added", true)};` : ""}
${each(
  groupBlocks,
  (g) => `  var difference${g}_${v} = vec4f();
  var bound${g}_${v} = vec4f();`,
)}`,
)}
  for (var term = lane; term < terms; term += ${lanes}u) {
    let at = ${addressOf(sums.terms, "term", "left")};
${scalesLeft ? `    let scaleAtTerm = ${addressOf(sums.terms, "term", "scale")};` : ""}
${each(
  vectors,
  (
    v,
  ) => `    let x${v} = vec4f(${fours((r) => `select(0.0, leftAt(base${v}[${r}] + at)${scalesLeft ? ` * scaleAt(scaleBase${v}[${r}] + scaleAtTerm)` : ""}, ${windowsOf(sums, `result${v}[${r}]`)})`)});
    let magnitude${v} = abs(x${v}) + tinyLeft;`,
)}
${each(
  groupBlocks,
  (g) => `    let both${g} = combined[(batch * blocks + min(firstBlock + ${g}u, blocks - 1u)) * terms + term];
${each(
  vectors,
  (v) => `    difference${g}_${v} += x${v} * both${g}.x;
    bound${g}_${v} += magnitude${v} * both${g}.y;`,
)}`,
)}
  }
${each(groupBlocks, (g) => {
  const first = (g % phaseBlocks) * 2 * vectors;
  const isLast = g % phaseBlocks === phaseBlocks - 1 || g === groupBlocks - 1;
  const phase = isLast ? Array.from({ length: (g % phaseBlocks) + 1 }, (_, i) => g - i) : [];
  return `  {
    let column = (firstBlock + ${g}u) * ${blockColumns}u + lane;
    if (column < columns) {
      let factor = weight(column);
      let outputAt = ${firstResult}u + ${addressOf(columns, "column", "output")};
${sums.added ? `      let addedAtColumn = ${addressOf(columns, "column", "added")};` : ""}
${each(
  vectors,
  (v) => `      let y${v} = factor * vec4f(${fours((r) => `resultAt(outputAt + result${v}[${r}])`)});
      difference${g}_${v} -= y${v};
${output.format === "f16" ? `      bound${g}_${v} += select(vec4f(), abs(y${v}) * shareOfResult, vec4<bool>(${fours((r) => `isFinite(y${v}[${r}])`)}));` : ""}
${
  sums.added
    ? `      let z${v} = factor * vec4f(${fours((r) => `addedAt(addedBase${v}[${r}] + addedAtColumn)`)});
      difference${g}_${v} += z${v};
      bound${g}_${v} += (abs(z${v}) + tinyAdded) * shareOfAdded;`
    : ""
}`,
)}
    }
  }
${each(
  vectors,
  (v) => `  partial[${first + v}][lane] = difference${g}_${v};
  partial[${first + vectors + v}][lane] = bound${g}_${v};`,
)}
${
  isLast
    ? `  workgroupBarrier();
${phase.map((each) => `  reduced[${each}][lane] = reduce(${(each % phaseBlocks) * 2 * vectors}u, lane);`).join("\n")}
  workgroupBarrier();`
    : ""
}`;
})}
  let block = lane / ${groupRows}u;
  let mine = lane % ${groupRows}u;
  if (block < ${groupBlocks}u && firstRow + mine < rows && firstBlock + block < blocks) {
    let difference = whole(block, mine);
    let bound = least + whole(block, ${groupRows}u + mine);
    let result = array<vec4u, ${vectors}>(${Array.from({ length: vectors }, (_, v) => `result${v}`).join(", ")})[mine / 4u][mine % 4u];
    judge(difference, bound, result, firstBlock + block);
  }
  workgroupBarrier();
  if (lane != 0u) { return; }
  let own = draw.own;
  let right = atomicLoad(&agreed);
  let open = atomicLoad(&undecided);
  atomicAdd(&report[own + ${reportWords.compared}u], right + open + atomicLoad(&mismatches));
  atomicMax(&report[own + ${reportWords.largest}u], atomicLoad(&largest));
  if (open > 0u) { atomicAdd(&report[own + ${reportWords.undecided}u], open); }
${
  decides
    ? `  // One word tells that all workgroups agree, whatever the order of their other atomic operations.
  let expected = min(rows - firstRow, ${groupRows}u) * min(blocks - firstBlock, ${groupBlocks}u);
  if (right != expected || own > 0u) { return; }
  if (atomicAdd(&report[${reportWords.agreed}], 1u) == ${workgroups - 1}u) { skipped[${kernelReportWords.skip}] = 1u; }`
    : ""
}
}

fn judge(difference: f32, bound: f32, result: u32, block: u32) {
  // Sums that may overflow say nothing.
  if (!isFinite(bound) || bound > most) {
    atomicAdd(&undecided, 1u);
    return;
  }
${
  output.format === "f16"
    ? `  if (!isFinite(difference) && bound > mostHalf) {
    atomicAdd(&undecided, 1u);
    return;
  }`
    : ""
}
  atomicMax(&largest, bitcast<u32>(bound));
  if (isFinite(difference) && abs(difference) <= bound) {
    atomicAdd(&agreed, 1u);
    return;
  }
  atomicAdd(&mismatches, 1u);
  let own = draw.own;
  if (atomicAdd(&report[own + ${reportWords.mismatches}u], 1u) > 0u) { return; }
  atomicStore(&report[own + ${reportWords.result}u], result);
  atomicStore(&report[own + ${reportWords.block}u], block);
  atomicStore(&report[own + ${reportWords.difference}u], bitcast<u32>(difference));
  atomicStore(&report[own + ${reportWords.bound}u], bitcast<u32>(bound));
}

override factor = 1u;

/** Adds up hashes of the words outside of the results, times a factor. */
@compute @workgroup_size(${lanes})
fn digest(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let n = linear(id, groups) * ${lanes}u + lane;
  if (n >= ${words}u) { return; }
  var word = ${output.format === "f16" ? "results[n]" : "bitcast<u32>(results[n])"};
  var isInside = true;
${each(perWord, (i) => `  if (${perWord}u * n + ${i}u >= ${firstResult}u && ${perWord}u * n + ${i}u < ${firstResult + count}u) { word &= ${perWord === 1 ? "0u" : i === 0 ? "0xffff0000u" : "0xffffu"}; } else { isInside = false; }`)}
  if (isInside) { return; }
  var x = word ^ (n * 0x9e3779b1u);
  x = (x ^ (x >> 16u)) * 0x7feb352du;
  x = (x ^ (x >> 15u)) * 0x846ca68bu;
  atomicAdd(&report[${reportWords.outside}], (x ^ (x >> 16u)) * factor);
}
`;
  return {
    source,
    combine: gridOf(isTiled ? termGroups * blocks * batchCount : Math.ceil(combined / lanes)),
    compare: gridOf(workgroups),
    combinedBytes: 8 * combined,
    compared: rowCount * blocks * batchCount,
    outside: words * perWord - count,
    digest: gridOf(Math.ceil(words / lanes)),
    isMirrored: sums !== given,
    work: workOf(sums),
  };
}

/** Returns the workgroups of a grid with at least so many. */
function gridOf(workgroups: number): readonly [number, number] {
  const y = Math.ceil(workgroups / mostWorkgroups);
  return [Math.ceil(workgroups / y), y];
}

/** Returns the sums with their factors in the order in which the check costs less. */
const inCheaperOrder = (sums: SumsOfProducts): SumsOfProducts =>
  sums.windows.length === 0 && workOf(mirrored(sums)) < workOf(sums) ? mirrored(sums) : sums;

/** Returns the multiplications of the check of sums, as a fraction of their own. */
export const workOfCheck = (sums: SumsOfProducts): number => workOf(inCheaperOrder(sums));

/** Returns the multiplications of a check with this order of factors, as a fraction. */
function workOf(sums: SumsOfProducts): number {
  const { rows, columns, batches } = partsOf(sums);
  const [m, n, b] = [rows, columns, batches].map(countOf) as [number, number, number];
  const terms = countOf(sums.terms);
  const check = b * (terms * n + 2 * m * terms * Math.ceil(n / blockColumns) + m * n);
  return check / (b * m * n * terms);
}

/** Returns the same sums with the factors exchanged. */
function mirrored(sums: SumsOfProducts): SumsOfProducts {
  const exchanged = (all: readonly Dimension[]) =>
    all.map((each) => ({ ...each, left: each.right, right: each.left }));
  return {
    ...sums,
    left: sums.right,
    right: sums.left,
    ...(sums.scale && { scale: { ...sums.scale, scaled: sums.scale.scaled === "left" ? "right" : "left" } }),
    start: { ...sums.start, left: sums.start.right, right: sums.start.left },
    results: exchanged(sums.results),
    terms: exchanged(sums.terms),
  };
}

/** Returns the least step in the right factor of dimensions that move it. */
const nearest = (all: readonly Dimension[]) =>
  Math.min(...all.flatMap(({ right }) => (right === 0 ? [] : [Math.abs(right)])));

const countOf = (all: readonly Dimension[]) => all.reduce((product, { size }) => product * size, 1);

/**
 * Returns the dimensions of the results by the factors that they move: the left one in rows, the
 * right one in columns, both in batches.
 */
function partsOf({ results }: SumsOfProducts) {
  let output = 1;
  const placed = results.map((each): Placed => {
    const place = { ...each, output };
    output *= each.size;
    return place;
  });
  return {
    rows: placed.filter(({ left, right }) => left !== 0 && right === 0),
    columns: placed.filter(({ left, right }) => left === 0 && right !== 0),
    batches: placed.filter(({ left, right }) => left !== 0 && right !== 0),
  };
}

/**
 * Writes the address in an operand that an index of some dimensions has; with `isVector`, the
 * addresses of four indices.
 */
function addressOf(
  all: readonly (Dimension & { readonly output?: number })[],
  index: string,
  operand: "left" | "right" | "added" | "scale" | "output",
  isVector = false,
): string {
  let stride = 1;
  const parts = all.flatMap((each, i) => {
    const divided = stride === 1 ? index : `${index} / ${stride}u`;
    const digit = i === all.length - 1 ? divided : `${divided} % ${each.size}u`;
    stride *= each.size;
    const step = each[operand] ?? 0;
    return step === 0 ? [] : [`(${digit}) * ${wrapped(step)}`];
  });
  if (parts.length === 0) return isVector ? "vec4u()" : "0u";
  return `(${parts.join(" + ")})`;
}

/** Writes an integer as u32. Sums of addresses wrap. */
const wrapped = (x: number) => `${x >>> 0}u`;

/** Writes a number so that WGSL takes it for an f32. */
function float(x: number): string {
  const text = String(Math.fround(x));
  return /[.e]/.test(text) ? `${text}f` : `${text}.0f`;
}

const each = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join("\n");

/** Writes the components of a vector of four. */
const fours = (text: (i: number) => string) => [0, 1, 2, 3].map(text).join(", ");

function declarationOf({ format }: Operand, binding: number, name: string): string {
  return `@group(0) @binding(${binding}) var<storage, read> ${name}: array<${format === "f32" ? "f32" : "u32"}>;`;
}

/** Writes the load of a number at an address. */
function loadOf({ format, plus }: Operand, name: string, at: string): string {
  if (format === "f32") return `${name}[${at}]`;
  const bits = bitsOf(format);
  const word = `${name}[${at} / ${32 / bits}u]`;
  const place = `${at} % ${32 / bits}u`;
  if (format === "f16") return `unpack2x16float(${word})[${place}]`;
  if (format === "bf16") return `bitcast<f32>(select(${word} & 0xffff0000u, ${word} << 16u, ${place} == 0u))`;
  const signed = format.startsWith("i") ? `bitcast<i32>(${word})` : word;
  return `f32(extractBits(${signed}, ${bits}u * (${place}), ${bits}u)) + ${float(plus)}`;
}

function windowsOf({ windows, terms }: SumsOfProducts, result: string): string {
  const conditions = windows.map(({ unit, size, term, scale, low, high }) => {
    const stride = countOf(terms.slice(0, term));
    const digit = `i32(term / ${stride}u % ${terms[term]!.size}u)`;
    const position = `i32(${result} / ${unit}u % ${size}u) * ${scale} + ${digit}`;
    return `${position} >= ${low} && ${position} <= ${high}`;
  });
  return conditions.length === 0 ? "true" : conditions.join(" && ");
}

/** Returns the largest magnitude of an integer and its summand. */
const largest = ({ format, plus }: Operand) => 2 ** bitsOf(format) + Math.abs(plus);

/**
 * Writes the constants of the bound. Each rounding changes a number by at most 2^-24 of it. Numbers
 * below the least normal one may count as zero.
 */
function boundsOf(sums: SumsOfProducts, terms: number): string {
  const unit = 1.1 * 2 ** -24;
  const perLane = Math.ceil(terms / lanes) + lanes + 8;
  // Right results are sums of these magnitudes, so their weighted sums have the same bound.
  const share = unit * (sums.roundings + 3 + blockColumns + 2 * perLane);
  const least = ({ format }: Operand) => (format === "f16" ? 2 ** -14 : 2 ** -126) / share;
  // Integers count with the least scale.
  const tiny = (each: Operand) =>
    isPacked(each.format) ? (sums.scale ? largest(each) * least(sums.scale) : 0) : least(each);
  const scale = Math.max(1, Math.abs(sums.coefficient));
  const ofWords = sums.output.format === "f16" ? blockColumns * 2 ** -13 : 0;
  return `
const share = ${float(share)};
const tinyLeft = ${float(2 * tiny(sums.left))};
const tinyRight = ${float(8 * tiny(sums.right))};
${sums.output.format === "f16" ? `const shareOfResult = ${float(1.1 * 2 ** -11)};` : ""}
${sums.added ? `const shareOfAdded = ${float(share)};\nconst tinyAdded = ${float(8 * Math.max(1, Math.abs(sums.addedScale)) * tiny(sums.added))};` : ""}
const least = ${float(scale * terms * blockColumns * 2 ** -120 + ofWords)};
const most = ${float(share * 2 ** 124)};
const mostHalf = ${float(share * 2 ** 14)};`;
}
