/** The kernels that copy and check, beside kernels that copy. */
import { type ComparedScheme, comparedSchemes } from "../../ecc/index.ts";

/** The number of invocations in a workgroup. */
export const workgroup = 256;
/**
 * The number of granules that an invocation encodes in registers, one after the other; below, the
 * most invocations.
 */
const repetitions = 64;
const mostInvocations = 2 ** 22;

export interface Case {
  readonly name: string;
  readonly scheme: ComparedScheme;
  /** The words that an invocation copies. */
  readonly width: 1 | 2 | 4;
  readonly invocations: number;
  readonly kernel: string;
  readonly plain: string;
  /** The words that the kernel encodes and the plain one does not, if memory takes no part. */
  readonly encodedWords?: number;
}

const typeOf = (width: number) => (width === 1 ? "u32" : `vec${width}<u32>`);
const partOf = (width: number, k: number) => (width === 1 ? "" : `.${"xyzw"[k]}`);

/**
 * Returns a kernel that loads and stores `width` words in each of `count` invocations, whose number
 * is `i`.
 */
function kernel(width: number, count: number, body: string, library = ""): string {
  const groups = Math.min(count / workgroup, 2 ** 15);
  return `${/subgroup/.test(body) ? "enable subgroups;" : ""}
@group(0) @binding(0) var<storage, read> loaded: array<${typeOf(width)}>;
@group(0) @binding(1) var<storage, read_write> stored: array<${typeOf(width)}>;
@group(0) @binding(2) var<storage, read> loadedChecks: array<u32>;
@group(0) @binding(3) var<storage, read_write> storedChecks: array<u32>;
@group(0) @binding(4) var<storage, read_write> found: array<atomic<u32>, 3>;
${library}
@compute @workgroup_size(${workgroup}) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * ${groups * workgroup}u;
  ${body}
  // All bindings stay in use.
  if (i == 0xffffffffu) { storedChecks[0] = loadedChecks[0]; stored[0] = loaded[0]; atomicAdd(&found[0], 1u); }
}`;
}

const lanesOf = (scheme: ComparedScheme, width: number) => comparedSchemes[scheme].granuleBytes / 4 / width;

const copying = (words: number, width: number) => kernel(width, words / width, "stored[i] = loaded[i];");

/** Returns a case in which each invocation copies a granule. */
function copyOfGranules(words: number, scheme: ComparedScheme, width: 1 | 2 | 4): Case {
  const body = `let data = loaded[i];
  let result = code_correct(data, code_syndrome(data, loadedChecks[i]));
  if (result.status != 0u) { atomicAdd(&found[result.status], 1u); }
  stored[i] = result.data;
  storedChecks[i] = code_encode(result.data);`;
  return {
    name: `${scheme}, ${typeOf(width)}`,
    scheme,
    width,
    invocations: words / width,
    kernel: kernel(width, words / width, body, comparedSchemes[scheme].wgsl("code_")),
    plain: copying(words, width),
  };
}

/** Returns a case that moves check words and computes nothing. */
function copyOfChecks(words: number, width: 1 | 2 | 4): Case {
  const body = `stored[i] = loaded[i];
  storedChecks[i] = loadedChecks[i];`;
  return {
    name: `check words alone, ${typeOf(width)}`,
    width,
    invocations: words / width,
    scheme: ({ 1: "secded32", 2: "secded64", 4: "secded128" } as const)[width],
    kernel: kernel(width, words / width, body),
    plain: copying(words, width),
  };
}

/**
 * Returns a case in which neighbors in a subgroup copy a granule together. Each of them adds the
 * contribution of its words.
 */
function copyTogether(words: number, scheme: ComparedScheme, width: 1 | 2 | 4): Case {
  const lanes = lanesOf(scheme, width);
  const share = Array.from(
    { length: width },
    (_, k) => `code_contribution(position + ${k}u, data${partOf(width, k)})`,
  ).join(" ^ ");
  const steps = Array.from({ length: Math.log2(lanes) }, (_, step) => 1 << step);
  const sum = steps.map((step) => `sum ^= subgroupShuffleXor(sum, ${step}u);`).join(" ");
  const body = `let position = ${width}u * (i % ${lanes}u);
  let data = loaded[i];
  var sum = ${share};
  ${sum}
  if (sum != loadedChecks[i / ${lanes}u]) { atomicAdd(&found[2], 1u); }
  stored[i] = data;
  if (position == 0u) { storedChecks[i / ${lanes}u] = sum; }`;
  return {
    name: `${scheme}, ${typeOf(width)} in ${lanes} lanes`,
    scheme,
    width,
    invocations: words / width,
    kernel: kernel(width, words / width, body, comparedSchemes[scheme].wgsl("code_")),
    plain: copying(words, width),
  };
}

function encodeAlone(words: number, scheme: ComparedScheme, width: 1 | 2 | 4): Case {
  const invocations = Math.min(mostInvocations, words);
  const body = (call: string) => `var data = ${typeOf(width)}(i);
  var check = 0u;
  for (var k = 0u; k < ${repetitions}u; k++) { check = ${call}; data = 3u * data + check; }
  if (check == 0x12345u) { storedChecks[0] = check; }`;
  return {
    name: `${scheme} in registers`,
    scheme,
    width,
    invocations,
    encodedWords: invocations * repetitions * width,
    kernel: kernel(width, invocations, body("code_encode(data)"), comparedSchemes[scheme].wgsl("code_")),
    plain: kernel(width, invocations, body("data.x".slice(0, width === 1 ? 4 : 6))),
  };
}

const small = (Object.keys(comparedSchemes) as ComparedScheme[]).flatMap((name) => {
  const { granuleBytes } = comparedSchemes[name];
  return granuleBytes <= 16 ? [[name, (granuleBytes / 4) as 1 | 2 | 4] as const] : [];
});
const inLanes = [
  ["secded128", 1],
  ["secded128", 2],
  ["secded256", 4],
  ["secded1024", 1],
  ["secded1024", 4],
] as const;

/**
 * Returns the cases for copies of `words` words. Cases in which lanes work together need subgroups
 * that hold a granule.
 */
export function casesFor(words: number, subgroupSize: number): Case[] {
  const together = inLanes.filter(([name, width]) => lanesOf(name, width) <= subgroupSize);
  return [
    ...([1, 2, 4] as const).map((width) => copyOfChecks(words, width)),
    ...small.map(([name, width]) => copyOfGranules(words, name, width)),
    ...together.map(([name, width]) => copyTogether(words, name, width)),
    ...small.map(([name, width]) => encodeAlone(words, name, width)),
  ];
}
