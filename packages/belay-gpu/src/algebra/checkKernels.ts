/**
 * Writes the kernels that check sums of products. With random weights `w`, the results `C` of the
 * factors `A` and `B` have `C w = A (B w)`. The right side costs a fraction of the product, as one
 * weighted sum stands for a block of columns.
 *
 * Source: R. Freivalds, "Probabilistic machines can use less running time", 1977. Bounds of
 * rounding errors: N. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1.
 */
import { reportWords as kernelReportWords } from "../compiler/contract.ts";
import type { Activation } from "./activations.ts";
import type { Operand } from "./operand.ts";
import type { Dimension, SumsOfProducts } from "./sums.ts";
import { bitsOf, type Format, textOf as float, isPacked } from "./symbols.ts";

/** The columns that one weighted sum stands for. More cost less, and hide larger errors. */
const blockColumns = 64;
/** The most blocks, and the rows, that a workgroup compares. */
const mostBlocks = 8;
const comparedRows = 4;
/** The invocations of such a workgroup, which share its terms. */
const compareLanes = 128;
/** The lanes whose parts of a sum one lane adds up, and the number of these sums. */
const partLanes = 16;
const parts = compareLanes / partLanes;
/** The rows of a matrix whose columns a workgroup combines, and its invocations. */
const combinedRows = 32;
const combineLanes = 256;
/** The invocations of a workgroup that adds up hashes. */
const digestLanes = 64;
/** The parts of a combination that are added up last. */
const lastParts = 8;
/** The terms of a word of packed numbers whose parts are added up at once. */
const termsAtOnce = 2;

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
  /** True if the results are added to what their places had before. */
  readonly isInPlace: boolean;
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

/** Returns true if a dispatch adds sums to the numbers in its output. */
const isInPlace = ({ added, output: { of } }: SumsOfProducts): boolean =>
  added?.of.group === of.group && added.of.binding === of.binding;

/** Returns the reason why a check of sums makes no sense, if there is one. */
export function obstacleToCheck({ results, precision, roundings }: SumsOfProducts): string | undefined {
  if (results.some(({ left, right, size }) => left === 0 && right === 0 && size > 1))
    return "several results have the same factors";
  if (precision === "f16") return "it adds up in f16";
  if (roundings > 2 ** 18) return "its sums are too long for a useful bound";
  return undefined;
}

/** The options of the kernels of a check. */
export interface CheckOptions {
  /**
   * True if the first comparison skips a kernel, by a word of the kernel's report, once all sums
   * agree.
   */
  readonly decides?: boolean;
  /** The function of the sums that a second buffer has, if there is one. */
  readonly activation?: Activation | undefined;
}

/**
 * Returns the kernels that check sums of products, in whose output's binding are so many bytes.
 */
export function checkKernels(
  given: SumsOfProducts,
  outputBytes: number,
  { decides = false, activation }: CheckOptions = {},
): CheckKernels {
  const sums = inCheaperOrder(given);
  const { rows, columns, batches } = partsOf(sums);
  const terms = countOf(sums.terms);
  const [rowCount, columnCount, batchCount] = [rows, columns, batches].map(countOf) as [
    number,
    number,
    number,
  ];
  const blocks = Math.ceil(columnCount / blockColumns);
  const groupBlocks = blocks === 1 ? 1 : Math.min(mostBlocks, 2 * Math.ceil(blocks / 2));
  const blockGroups = Math.ceil(blocks / groupBlocks);
  const rowGroups = Math.ceil(rowCount / comparedRows);
  const workgroups = blockGroups * rowGroups * batchCount;
  /** The blocks whose combined terms are neighbors in memory. */
  const width = blocks > 1 ? 2 : 1;
  const spans = Math.ceil(blocks / width);
  const inPlace = isInPlace(sums);
  const combined = batchCount * spans * width * terms;
  const old = inPlace ? batchCount * blocks * rowCount : 0;
  const words = Math.ceil(outputBytes / 4);
  const { output, first: firstResult, count } = sums;
  const added = inPlace ? undefined : sums.added;
  const perWord = output.format === "f16" ? 2 : 1;
  const others = buffersOf(activation, sums);
  const { scale } = sums;
  /** Writes the address of the right factor of a term and a column, or that of its scale. */
  const addressAt = (operand: "right" | "scale", term: string, column: string) =>
    `${wrapped(sums.start[operand])} + ${addressOf(batches, "batch", operand)} + ${addressOf(sums.terms, term, operand)} + ${addressOf(columns, column, operand)}`;
  /** Writes the factor before it that is its scale. */
  const scaleOf = (term: string, column: string) =>
    scale?.scaled === "right" ? `scaleAt(${addressAt("scale", term, column)}) * ` : "";
  const rightAt = (term: string, column: string) =>
    `${scaleOf(term, column)}rightAt(${addressAt("right", term, column)})`;
  const scalesLeft = scale?.scaled === "left";
  /** Writes the load of a result, which a kernel in place loads before it stores a sum there. */
  const oldAt = (row: string, column: string) =>
    `${float(sums.addedScale)} * resultAt(${firstResult}u + ${addressOf(batches, "batch", "output")} + ${addressOf(rows, row, "output")} + ${addressOf(columns, column, "output")})`;
  const groupsOf = (count: number) => Math.ceil(count / combinedRows) * blocks * batchCount;
  const isRightAcross = nearest(columns, "right") < nearest(sums.terms, "right");
  const run = isRightAcross ? 1 : termsOfWord(sums);
  const rightGroups = groupsOf(terms / run);
  const isOldAcross = inPlace && nearest(columns, "output") < nearest(rows, "output");
  /** Writes the combination of a matrix, whose numbers have a load and a share of the bound. */
  const combination = (
    [name, count, isAcross, tiny]: readonly [name: string, count: string, isAcross: boolean, tiny: string],
    load: (row: string, column: string) => string,
    store: string,
  ) => {
    const weighted = (row: string, column: string) =>
      `weighted(${load(row, `min(${column}, columns - 1u)`)}, ${column}, ${tiny})`;
    return `fn ${name}(group: u32, lane: u32) {
  let slices = (${count} + ${combinedRows - 1}u) / ${combinedRows}u;
  let place = group % (slices * blocks);
  let batch = group / (slices * blocks);
  // Neighboring workgroups have numbers that are close in memory.
  let first = ${isAcross ? "place / blocks" : "place % slices"} * ${combinedRows}u;
  let block = ${isAcross ? "place % blocks" : "place / slices"};
${
  // Neighboring lanes load numbers that are close in memory.
  isAcross
    ? `  for (var i = lane / 32u; i < ${combinedRows}u; i += ${combineLanes / 32}u) {
    let row = min(first + i, ${count} - 1u);
    let left = block * ${blockColumns}u + lane % 32u;
    let right = left + 32u;
    tile[i][lane % 32u] = ${weighted("row", "left")} + ${weighted("row", "right")};
  }
  workgroupBarrier();
  var sum = vec2f();
  for (var i = lane % ${lastParts}u; i < 32u; i += ${lastParts}u) { sum += tile[lane / ${lastParts}u][i]; }
  parts[lane % ${lastParts}u][lane / ${lastParts}u] = sum;`
    : `  let own = min(first + lane % ${combinedRows}u, ${count} - 1u);
  var sum = vec2f();
  for (var i = 0u; i < ${blockColumns / lastParts}u; i++) {
    let column = block * ${blockColumns}u + lane / ${combinedRows}u + i * ${lastParts}u;
    sum += ${weighted("own", "column")};
  }
  parts[lane / ${combinedRows}u][lane % ${combinedRows}u] = sum;`
}
  workgroupBarrier();
  let row = first + lane;
  if (lane >= ${combinedRows}u || row >= ${count}) { return; }
  let both = ${sumOf(lastParts, (i) => `parts[${i}][lane]`)};
  ${store}
}`;
  };
  /** Writes the store of the combination of a term. */
  const storeRight = (term: string) =>
    `combined[((batch * ${spans}u + block / ${width}u) * terms + ${term}) * ${width}u + block % ${width}u] = vec2f(${float(sums.coefficient)}, ${float(Math.abs(sums.coefficient))} * share) * both;`;
  /** Combines the right factor word by word. A lane has the neighboring terms in one word. */
  const combinationOfWords = `fn combineRight(group: u32, lane: u32) {
  let slices = (terms / ${run}u + ${combinedRows - 1}u) / ${combinedRows}u;
  let first = group % slices * ${combinedRows}u;
  let block = group / slices % blocks;
  let batch = group / slices / blocks;
  let term = min(first + lane % ${combinedRows}u, terms / ${run}u - 1u) * ${run}u;
${each(run, (k) => `  var sum${k} = vec2f();`)}
  var tiny = 0.0;
  for (var i = 0u; i < ${blockColumns / lastParts}u; i++) {
    let own = block * ${blockColumns}u + lane / ${combinedRows}u + i * ${lastParts}u;
    let column = min(own, columns - 1u);
    let factor = select(0.0, ${scaleOf("term", "column")}weight(column), own < columns);
    let factors = vec2f(factor, abs(factor));
    let word = right[(${addressAt("right", "term", "column")}) / ${run}u];
${each(
  run,
  (k) => `    let number${k} = ${numberIn(sums.right, "word", `${k}u`)};
    sum${k} += factors * vec2f(number${k}, abs(number${k}));`,
)}
    tiny += select(0.0, tinyRight, own < columns);
  }
${each(
  run / termsAtOnce,
  (
    at,
  ) => `${each(termsAtOnce, (k) => `  parts[lane / ${combinedRows}u][${termsAtOnce}u * (lane % ${combinedRows}u) + ${k}u] = sum${termsAtOnce * at + k} + vec2f(0.0, tiny);`)}
  workgroupBarrier();
  if (lane < ${combinedRows * termsAtOnce}u) {
    let term = (first + lane / ${termsAtOnce}u) * ${run}u + ${termsAtOnce * at}u + lane % ${termsAtOnce}u;
    let both = ${sumOf(lastParts, (i) => `parts[${i}][lane]`)};
    if (term < terms) { ${storeRight("term")} }
  }
  workgroupBarrier();`,
)}
}`;
  const combine = `
${isRightAcross || isOldAcross ? `var<workgroup> tile: array<array<vec2f, 33>, ${combinedRows}>;` : ""}
var<workgroup> parts: array<array<vec2f, ${combinedRows * (run > 1 ? termsAtOnce : 1)}>, ${lastParts}>;

/** Returns a number and its magnitude. */
fn magnified(x: f32, tiny: f32) -> vec2f { return vec2f(x, abs(x) + tiny); }

/** Returns a number with the weight of its column, and its magnitude. */
fn weighted(number: f32, column: u32, tiny: f32) -> vec2f {
  return select(vec2f(), magnified(weight(column) * number, tiny), column < columns);
}

/** Combines a block of the right factor's columns for ${combinedRows * run} terms. */
${run > 1 ? combinationOfWords : combination(["combineRight", "terms", isRightAcross, "tinyRight"], rightAt, storeRight("row"))}
${
  inPlace
    ? `/** Combines a block of the columns that ${combinedRows} rows of results have before a dispatch. */
${combination(["combineOld", "rows", isOldAcross, "tinyAdded"], oldAt, `combined[${combined}u + (batch * blocks + block) * rows + row] = vec2f(1.0, shareOfAdded) * both;`)}`
    : ""
}

/** Combines columns: their weighted sums, and their shares of the bound. */
@compute @workgroup_size(${combineLanes})
fn combine(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = linear(id, groups);
  if (group < ${rightGroups}u) {
    combineRight(group, lane);
  }${
    inPlace
      ? ` else if (group < ${rightGroups + groupsOf(rowCount)}u) {
    combineOld(group - ${rightGroups}u, lane);
  }`
      : ""
  }
}`;
  const source = `${activation && usesHalves(activation) ? "enable f16;" : ""}
${declarationOf(sums.left, 0, "left")}
${declarationOf(sums.right, 1, "right")}
${declarationOf(output, 2, "results")}
${added ? declarationOf(added, 3, "added") : ""}
@group(0) @binding(4) var<storage, read_write> combined: array<vec2f>;
@group(0) @binding(4) var<storage, read> combinedBlocks: array<${width === 2 ? "vec4f" : "vec2f"}>;
@group(0) @binding(5) var<storage, read_write> report: array<atomic<u32>>;
/** The seed of the weights, and the first word of the report. */
struct Draw { seed: u32, own: u32 }
@group(0) @binding(6) var<uniform> draw: Draw;
${decides ? "@group(0) @binding(7) var<storage, read_write> skipped: array<u32>;" : ""}
${scale ? declarationOf(scale, 8, "scales") : ""}
${activation ? "@group(0) @binding(9) var<storage, read> functions: array<u32>;" : ""}
${others.map((each, i) => declarationOf(each, firstOther + i, `other${i}`)).join("\n")}

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
${
  activation
    ? activatedResults(activation, sums)
    : `fn resultAt(at: u32) -> f32 { return ${loadOf(output, "results", "at")}; }`
}
${added ? `fn addedAt(at: u32) -> f32 { return ${float(sums.addedScale)} * ${loadOf(added, "added", "at")}; }` : ""}

fn isFinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

${combine}

var<workgroup> partial: array<array<vec4f, ${compareLanes}>, 2>;
var<workgroup> reduced: array<array<array<vec4f, ${parts}>, 2>, ${groupBlocks}>;
/** The numbers of sums of this workgroup, and its largest bound. */
var<workgroup> agreed: atomic<u32>;
var<workgroup> undecided: atomic<u32>;
var<workgroup> mismatches: atomic<u32>;
var<workgroup> largest: atomic<u32>;
${decides ? "var<workgroup> isOver: u32;" : ""}

/** Compares both sides for some rows and some blocks. */
@compute @workgroup_size(${compareLanes})
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
  let firstRow = group / ${blockGroups}u % ${rowGroups}u * ${comparedRows}u;
  let batch = group / ${blockGroups * rowGroups}u;
  let row = min(firstRow + vec4u(0u, 1u, 2u, 3u), vec4u(rows - 1u));
  let base = ${wrapped(sums.start.left)} + ${addressOf(batches, "batch", "left")} + ${addressOf(rows, "row", "left", true)};
${scalesLeft ? `  let scaleBase = ${wrapped(sums.start.scale)} + ${addressOf(batches, "batch", "scale")} + ${addressOf(rows, "row", "scale", true)};` : ""}
  let result = ${addressOf(batches, "batch", "output")} + ${addressOf(rows, "row", "output", true)};
${added ? `  let addedBase = ${wrapped(sums.start.added)} + ${addressOf(batches, "batch", "added")} + ${addressOf(rows, "row", "added", true)};` : ""}
${each(
  groupBlocks,
  (g) => `  var difference${g} = vec4f();
  var bound${g} = vec4f();`,
)}
  for (var place = lane; place < ${blockColumns}u; place += ${compareLanes}u) {
${each(
  groupBlocks,
  (g) => `    {
      let own = (firstBlock + ${g}u) * ${blockColumns}u + place;
      let column = min(own, columns - 1u);
      let factor = weight(column);
      let outputAt = ${firstResult}u + ${addressOf(columns, "column", "output")};
      let y = select(vec4f(), factor * vec4f(${fours((r) => `resultAt(outputAt + result[${r}])`)}), own < columns);
      difference${g} -= y;
${output.format === "f16" ? `      bound${g} += select(vec4f(), abs(y) * shareOfResult, vec4<bool>(${fours((r) => `isFinite(y[${r}])`)}));` : ""}
${
  added
    ? `      let addedAtColumn = ${addressOf(columns, "column", "added")};
      let z = factor * vec4f(${fours((r) => `addedAt(addedBase[${r}] + addedAtColumn)`)});
      difference${g} += select(vec4f(), z, own < columns);
      bound${g} += select(vec4f(), (abs(z) + tinyAdded) * shareOfAdded, own < columns);`
    : ""
}
    }`,
)}
  }
${each(
  groupBlocks / width,
  (p) => `  let span${p} = (batch * ${spans}u + min(firstBlock / ${width}u + ${p}u, ${spans - 1}u)) * terms;`,
)}
  for (var term = lane; term < terms; term += ${compareLanes}u) {
    let at = ${addressOf(sums.terms, "term", "left")};
${scalesLeft ? `    let scaleAtTerm = ${addressOf(sums.terms, "term", "scale")};` : ""}
    let x = vec4f(${fours((r) => `select(0.0, leftAt(base[${r}] + at)${scalesLeft ? ` * scaleAt(scaleBase[${r}] + scaleAtTerm)` : ""}, ${windowsOf(sums, `result[${r}]`)})`)});
    let magnitude = abs(x) + tinyLeft;
${each(
  groupBlocks / width,
  (p) => `    let both${p} = combinedBlocks[span${p} + term];
${each(
  width,
  (i) => `    difference${p * width + i} += x * both${p}.${"xz"[i]};
    bound${p * width + i} += magnitude * both${p}.${"yw"[i]};`,
)}`,
)}
  }
  let part = lane % ${parts}u;
  let kind = lane / ${parts}u;
${each(
  groupBlocks,
  (g) => `  partial[0][lane] = difference${g};
  partial[1][lane] = bound${g};
  workgroupBarrier();
  if (kind < 2u) {
    reduced[${g}][kind][part] = ${sumOf(partLanes, (i) => `partial[kind][part + ${i * parts}u]`)};
  }
  workgroupBarrier();`,
)}
  let block = firstBlock + lane;
  if (lane < ${groupBlocks}u && block < blocks) {
    let difference = ${sumOf(parts, (i) => `reduced[lane][0][${i}]`)};
    let bound = ${sumOf(parts, (i) => `reduced[lane][1][${i}]`)};
    for (var i = 0u; i < ${comparedRows}u; i++) {
      let row = firstRow + i;
      if (row >= rows) { break; }
${
  inPlace
    ? `      let old = ${combined}u + (batch * blocks + block) * rows + row;
      let before = ${width === 1 ? "combinedBlocks[old]" : "select(combinedBlocks[old / 2u].xy, combinedBlocks[old / 2u].zw, old % 2u == 1u)"};
      judge(difference[i] + before.x, least + bound[i] + before.y, result[i], block);`
    : "      judge(difference[i], least + bound[i], result[i], block);"
}
    }
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
  let expected = min(rows - firstRow, ${comparedRows}u) * min(blocks - firstBlock, ${groupBlocks}u);
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
@compute @workgroup_size(${digestLanes})
fn digest(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
  let n = linear(id, groups) * ${digestLanes}u + lane;
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
    combine: gridOf(rightGroups + (inPlace ? groupsOf(rowCount) : 0)),
    compare: gridOf(workgroups),
    combinedBytes: 16 * Math.ceil((combined + old) / 2),
    compared: rowCount * blocks * batchCount,
    outside: words * perWord - count,
    digest: gridOf(Math.ceil(words / digestLanes)),
    isMirrored: sums !== given,
    isInPlace: inPlace,
    work: workOfCheck(sums),
  };
}

/** The binding of the first buffer with numbers beside sums. */
export const firstOther = 10;

/** Returns the names of the buffers that a check of sums loads. */
const namesOf = ({ left, right, added, scale }: SumsOfProducts): Map<string, string> =>
  new Map([
    [keyOf(left), "left"],
    [keyOf(right), "right"],
    ...(added ? [[keyOf(added), "added"] as const] : []),
    ...(scale ? [[keyOf(scale), "scales"] as const] : []),
  ]);

/** Returns the further buffers that an activation loads, each once. */
export function buffersOf(activation: Activation | undefined, sums: SumsOfProducts): Operand[] {
  const names = namesOf(sums);
  const others = (activation?.others ?? []).filter((each) => !names.has(keyOf(each)));
  return [...new Map(others.map((each) => [keyOf(each), each])).values()];
}

const keyOf = ({ of: { group, binding }, format }: Operand) => `${group} ${binding} ${elementOf(format)}`;

/** Returns true if a function computes in f16. */
const usesHalves = ({ format, text }: Activation): boolean => format === "f16" || text.includes("f16(");

/** Writes the load of a sum, with a look at its function. */
function activatedResults(activation: Activation, sums: SumsOfProducts): string {
  const { text, format, others, addresses } = activation;
  const names = namesOf(sums);
  for (const [i, each] of buffersOf(activation, sums).entries()) names.set(keyOf(each), `other${i}`);
  const parameters = others.map((_, i) => `, y${i}: f32`).join("");
  const loads = others.map((each, i) => {
    const digits = addresses.digits.map(({ size, steps }) => ({ size, step: steps[i]! }));
    const at = `${wrapped(addresses.start[i]!)} + ${sumOfDigits(digits, "i")}`;
    return `, ${loadOf(each, names.get(keyOf(each))!, `(${at})`)}`;
  });
  const isHalf = format === "f16";
  const value = `activated(x${loads.join("")})`;
  return `fn activated(x: f32${parameters}) -> ${format} { ${text} }
/** Returns a sum; a number that no bound reaches if its function is not the stored one. */
fn resultAt(at: u32) -> f32 {
  let i = at - ${sums.first}u;
  let x = results[at];
  let word = bitcast<u32>(${isHalf ? `vec2<f16>(${value}, 0.0h)` : value});
  let stored = ${isHalf ? "(functions[at / 2u] >> (16u * (at % 2u))) & 0xffffu" : "functions[at]"};
  return select(0x1.fffffep+127f, x, word == stored || (isNan(word) && isNan(stored)));
}
fn isNan(word: u32) -> bool { return ${isHalf ? "(word & 0x7fffu) > 0x7c00u" : "(word & 0x7fffffffu) > 0x7f800000u"}; }`;
}

/** Returns the workgroups of a grid with at least so many. */
function gridOf(workgroups: number): readonly [number, number] {
  const y = Math.ceil(workgroups / mostWorkgroups);
  return [Math.ceil(workgroups / y), y];
}

/** Returns the sums with their factors in the order in which the check costs less. */
function inCheaperOrder(sums: SumsOfProducts): SumsOfProducts {
  if (sums.windows.length > 0) return sums;
  const other = mirrored(sums);
  return costOf(other) < costOf(sums) ? other : sums;
}

/**
 * The multiplications that take as long as a store of a sum and a load of its function, and those
 * that take as long as the load of a number beside it.
 */
const activationWork = 64;
const otherWork = 32;

/**
 * Returns the multiplications of the check of sums, as a fraction of their own. The memory traffic
 * for an activation counts as multiplications too.
 */
export function workOfCheck(given: SumsOfProducts, activation?: Activation): number {
  const sums = inCheaperOrder(given);
  const ofResult = activation ? activationWork + otherWork * activation.others.length : 0;
  const own = multiplicationsOf(sums) + ofResult * sums.count;
  return own / (sums.count * countOf(sums.terms));
}

/** The multiplications that take as long as a load which is far from those of neighboring lanes. */
const distantLoad = 40;

/** Returns the cost of a check with this order of factors, in multiplications. */
function costOf(sums: SumsOfProducts): number {
  const { columns } = partsOf(sums);
  const blockGroups = Math.ceil(countOf(columns) / blockColumns / mostBlocks);
  const leftLoads = (sums.count / countOf(columns)) * countOf(sums.terms) * blockGroups;
  const distant =
    (nearest(sums.terms, "left") > 1 ? leftLoads : 0) + (nearest(columns, "output") > 1 ? sums.count : 0);
  return multiplicationsOf(sums) + distantLoad * distant;
}

/** Returns the multiplications of a check with this order of factors. */
function multiplicationsOf(sums: SumsOfProducts): number {
  const { rows, columns, batches } = partsOf(sums);
  const [m, n, b] = [rows, columns, batches].map(countOf) as [number, number, number];
  const terms = countOf(sums.terms);
  return b * (terms * n + 2 * m * terms * Math.ceil(n / blockColumns) + m * n);
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

/**
 * Returns the number of terms whose right factors are the numbers of a word, with one scale for all
 * of them; 1 if words have other numbers too.
 */
function termsOfWord({ right, scale, start, results, terms }: SumsOfProducts): number {
  const run = 32 / bitsOf(right.format);
  const [first, ...others] = terms;
  const hasWords =
    first?.right === 1 && first.size % run === 0 && (scale?.scaled !== "right" || first.scale === 0);
  const isAligned = [start, ...results, ...others].every((each) => each.right % run === 0);
  return hasWords && isAligned ? run : 1;
}

/** Returns the least step in an operand of the dimensions that move it. */
const nearest = (
  all: readonly Placed[] | readonly Dimension[],
  operand: "left" | "right" | "output",
): number => Math.min(...all.flatMap((each) => Math.abs((each as Placed)[operand]) || []));

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
  const digits = all.map((each) => ({ size: each.size, step: each[operand] ?? 0 }));
  return sumOfDigits(digits, index, isVector);
}

/** Writes the sum of an index's digits, each times a step. */
function sumOfDigits(
  all: readonly { readonly size: number; readonly step: number }[],
  index: string,
  isVector = false,
): string {
  let stride = 1;
  const parts = all.flatMap(({ size, step }, i) => {
    const divided = stride === 1 ? index : `${index} / ${stride}u`;
    const digit = i === all.length - 1 ? divided : `${divided} % ${size}u`;
    stride *= size;
    return step === 0 ? [] : [`(${digit}) * ${wrapped(step)}`];
  });
  if (parts.length === 0) return isVector ? "vec4u()" : "0u";
  return `(${parts.join(" + ")})`;
}

/** Writes an integer as u32. Sums of addresses wrap. */
const wrapped = (x: number) => `${x >>> 0}u`;

const each = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join("\n");

/** Writes the sum of some numbers in pairs, so that few of them wait for each other. */
function sumOf(count: number, text: (i: number) => string): string {
  if (count === 1) return text(0);
  const half = count / 2;
  return `(${sumOf(half, text)} + ${sumOf(half, (i) => text(half + i))})`;
}

/** Writes the components of a vector of four. */
const fours = (text: (i: number) => string) => [0, 1, 2, 3].map(text).join(", ");

function declarationOf({ format }: Operand, binding: number, name: string): string {
  return `@group(0) @binding(${binding}) var<storage, read> ${name}: array<${elementOf(format)}>;`;
}

/** Returns the type by which a buffer of numbers is loaded. */
const elementOf = (format: Format): string => (format === "f32" ? "f32" : "u32");

/** Writes the load of a number at an address. */
function loadOf(operand: Operand, name: string, at: string): string {
  if (operand.format === "f32") return `${name}[${at}]`;
  const count = 32 / bitsOf(operand.format);
  return numberIn(operand, `${name}[${at} / ${count}u]`, `${at} % ${count}u`);
}

/** Writes the number at a place in a word of packed numbers. */
function numberIn({ format, plus }: Operand, word: string, place: string): string {
  const bits = bitsOf(format);
  if (format === "f16") return `unpack2x16float(${word})[${place}]`;
  if (format === "bf16") return `bitcast<f32>(select(${word} & 0xffff0000u, ${word} << 16u, ${place} == 0u))`;
  const signed = format.startsWith("i") ? `bitcast<i32>(${word})` : word;
  return `(f32(extractBits(${signed}, ${bits}u * (${place}), ${bits}u)) + ${float(plus)})`;
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
  // The additions of one number: in a lane, of lanes, and of an old result.
  const ofLane = Math.ceil(terms / compareLanes) + (2 * blockColumns) / compareLanes;
  const additions = ofLane + Math.log2(compareLanes) + 1;
  const combining = 2 + blockColumns / lastParts + Math.log2(lastParts);
  // Right results are sums of these magnitudes, so their weighted sums have the same bound.
  const share = unit * (sums.roundings + 4 + combining + 2 * (additions + 1));
  const { scaling } = sums;
  const least = ({ format }: Operand) => (format === "f16" ? 2 ** -14 : 2 ** -126 * scaling) / share;
  // Integers count with the least scale.
  const tiny = (each: Operand) =>
    isPacked(each.format) ? (sums.scale ? largest(each) * least(sums.scale) : 0) : least(each);
  const ofWords = sums.output.format === "f16" ? blockColumns * 2 ** -13 : 0;
  return `
const share = ${float(share)};
const tinyLeft = ${float(2 * tiny(sums.left))};
const tinyRight = ${float(8 * tiny(sums.right))};
${sums.output.format === "f16" ? `const shareOfResult = ${float(1.1 * 2 ** -11)};` : ""}
${sums.added ? `const shareOfAdded = ${float(share)};\nconst tinyAdded = ${float(8 * Math.max(1, Math.abs(sums.addedScale)) * tiny(sums.added))};` : ""}
const least = ${float(scaling * terms * blockColumns * 2 ** -120 + ofWords)};
const most = ${float((share * 2 ** 124) / scaling)};
const mostHalf = ${float(share * 2 ** 14)};`;
}
