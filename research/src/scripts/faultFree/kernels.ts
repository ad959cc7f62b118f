/**
 * Random kernels without races. No schedule of invocations changes their results, and no rounding
 * either if their floats are whole.
 */
import { randomBelow, randomFloats, randomWords } from "../../workloads/random.ts";

export interface RandomKernel {
  readonly code: string;
  readonly workgroups: number;
  /** The bytes of each buffer, by binding of group 0; the last one is a uniform buffer. */
  readonly sizes: readonly number[];
}

const sizes = [
  ["1", 1],
  ["7", 7],
  ["32", 32],
  ["64", 64],
  ["8, 8", 64],
  ["5, 3", 15],
  ["4, 2, 4", 32],
  ["128", 128],
] as const;

/**
 * The operations on cells of atomics. Each cell has one operation, so that the order does not
 * matter.
 */
const atomics = [
  "atomicAdd",
  "atomicAdd",
  "atomicOr",
  "atomicAnd",
  "atomicMax",
  "atomicMin",
  "atomicXor",
  "atomicSub",
];

/** The floats of a kernel: whole numbers that no operation rounds, or numbers that each rounds. */
export type Floats = "whole" | "rounded";

/** Returns the kernel of a seed. */
export function randomKernel(seed: number, floats: Floats = "whole"): RandomKernel {
  return new Writer(seed, floats).kernel();
}

/** Returns the contents of a kernel's buffers before its dispatch, by binding. */
export function inputsOf(
  { sizes, workgroups }: RandomKernel,
  seed: number,
  floats: Floats = "whole",
): (Uint32Array<ArrayBuffer> | Float32Array<ArrayBuffer>)[] {
  const toNumber =
    floats === "whole" ? (value: number) => Math.trunc(8 * value) : (value: number) => 8 * value;
  return sizes.map((size, binding) => {
    if (binding === sizes.length - 1) return Uint32Array.of(seed, sizes[0]! / 4, workgroups, 7);
    return binding === 1 ? randomFloats(size / 4, seed).map(toNumber) : randomWords(size / 4, seed + binding);
  });
}

class Writer {
  readonly #seed: number;
  readonly #kind: Floats;
  #drawn = 0;
  #names = 0;
  /** The names of integers in scope; below, the variables among them. */
  #values: string[] = [];
  #variables: string[] = [];
  #floats: string[] = [];

  constructor(seed: number, floats: Floats) {
    this.#seed = seed;
    this.#kind = floats;
  }

  kernel(): RandomKernel {
    const [size, invocations] = this.#one(sizes);
    const workgroups = 1 + this.#below(5);
    const count = invocations * workgroups;
    const hasTail = this.#chance(30);
    const phases = hasTail ? 0 : this.#below(3);
    const [statements, helpers] = [[] as string[], [] as string[]];
    for (let k = this.#below(3); k > 0; k--) helpers.push(this.#helper(helpers.length));
    this.#helpers = helpers.length;
    this.#values = ["i", "l", "w.x", "g.x", "size.x"];
    for (let k = 0; k <= phases; k++) {
      for (let more = 2 + this.#below(5); more > 0; more--) statements.push(this.#statement(3));
      if (k < phases) statements.push(this.#phase(invocations));
    }
    const code = `struct Part { at: vec3u, flag: u32, rows: array<vec2u, 3> }
@group(0) @binding(0) var<storage, read> a: array<u32, ${count}>;
@group(0) @binding(1) var<storage, read> f: array<f32, ${count}>;
@group(0) @binding(2) var<storage, read_write> o: array<u32, ${2 * count}>;
@group(0) @binding(3) var<storage, read_write> p: array<u32, ${count}>;
@group(0) @binding(4) var<storage, read_write> v: array<vec4u, ${count}>;
@group(0) @binding(5) var<storage, read_write> s: array<Part, ${count}>;
@group(0) @binding(6) var<storage, read_write> n: array<atomic<u32>, 8>;
@group(0) @binding(7) var<storage, read_write> h: array<f32, ${count}>;
@group(0) @binding(8) var<uniform> size: vec4u;
var<workgroup> tile: array<u32, ${invocations}>;
var<workgroup> parts: array<vec3u, ${invocations}>;
var<workgroup> bins: array<atomic<u32>, 8>;
var<private> calls: u32;
var<private> state: array<u32, 3> = array(3u, 5u, 7u);
${helpers.join("\n")}
@compute @workgroup_size(${size})
fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u, @builtin(global_invocation_id) g: vec3u) {
let i = w.x * ${invocations}u + l;
${hasTail ? `if (i >= ${this.#below(count + 1)}u) { return; }` : ""}
${statements.join("\n")}
o[i] += ${[...this.#values.slice(-4), ...helpers.map((_, k) => `helper${k}(i, l)`)].join(" + ")};
}`;
    const bytes = [4, 4, 8, 4, 16, 48].map((each) => each * count);
    return { code, workgroups, sizes: [...bytes, 32, 4 * count, 16] };
  }

  #helpers = 0;

  #helper(number: number): string {
    this.#helpers = number;
    this.#values = ["x", "y"];
    this.#variables = [];
    const body = this.#scoped(() => {
      const statements = Array.from({ length: 1 + this.#below(3) }, () => this.#local(1));
      return `${statements.join(" ")} ${this.#chance(40) ? `if (${this.#condition()}) { return ${this.#integer(1)}; }` : ""} calls++; return ${this.#integer(2)};`;
    });
    return `fn helper${number}(x: u32, y: u32) -> u32 { ${body} }`;
  }

  /** Returns code that lets neighbors exchange values through workgroup memory. */
  #phase(invocations: number): string {
    const at = `(l + ${this.#below(invocations)}u) % ${invocations}u`;
    const [got, part, sum] = [this.#name("t"), this.#name("t"), this.#name("t")];
    const text = `tile[l] = ${this.#integer(2)};
parts[l] = vec3u(${this.#integer(1)}, tile[l], l);
atomicAdd(&bins[${this.#integer(1)} % 8u], ${this.#integer(1)});
workgroupBarrier();
let ${got} = tile[${at}];
let ${part} = parts[${at}];
let ${sum} = atomicLoad(&bins[l % 8u]);
workgroupBarrier();`;
    this.#values.push(got, `${part}.y`, sum);
    return text;
  }

  #statement(depth: number): string {
    if (this.#chance(35)) return this.#local(depth);
    switch (this.#below(8)) {
      case 0:
        return `o[i${this.#chance(50) ? " + size.y" : ""}] ${this.#assignment()} ${this.#integer(2)};`;
      case 1:
        return `p[i] ${this.#assignment()} ${this.#integer(2)};`;
      case 2:
        return this.#chance(50)
          ? `v[i] ${this.#assignment()} vec4u(${this.#integer(1)}, ${this.#integer(1)}, i, ${this.#integer(1)});`
          : `v[i].${this.#one(["x", "y", "z", "w"])} = ${this.#integer(2)};`;
      case 3:
        return this.#one([
          `s[i].at = vec3u(${this.#integer(1)}, l, ${this.#integer(1)});`,
          `s[i].rows[${this.#below(3)}] = vec2u(${this.#integer(1)});`,
          `s[i].flag ${this.#assignment()} ${this.#integer(2)};`,
          `s[i] = Part(vec3u(${this.#integer(1)}), l, array(vec2u(i), vec2u(${this.#integer(1)}), vec2u()));`,
        ]);
      case 4: {
        const cell = this.#below(8);
        return `${atomics[cell]}(&n[${cell}], ${this.#integer(1)});`;
      }
      case 5:
        return `h[i] = ${this.#float(2)};`;
      case 6: {
        if (depth === 0) return `o[i] ^= ${this.#integer(1)};`;
        const otherwise = this.#chance(50) ? ` else { ${this.#block(depth - 1)} }` : "";
        return `if (${this.#condition()}) { ${this.#block(depth - 1)} }${otherwise}`;
      }
      default:
        return depth === 0 ? `state[1] += ${this.#integer(1)};` : this.#loop(depth - 1);
    }
  }

  #loop(depth: number): string {
    const k = this.#name("k");
    return this.#scoped(() => {
      this.#values.push(k);
      const body = this.#block(depth);
      const bound = this.#chance(50) ? `${1 + this.#below(4)}u` : `(${this.#integer(1)} & 3u)`;
      const end = this.#chance(30)
        ? `if (${this.#condition()}) { ${this.#one(["break", "continue"])}; }`
        : "";
      const limit = this.#name("m");
      switch (this.#below(3)) {
        case 0:
          return `for (var ${k}${this.#one([" = 0u", ": u32"])}; ${k} < ${bound.replace(k, "1u")}; ${k}++) { ${end} ${body} }`;
        case 1:
          return `let ${limit} = ${bound.replaceAll(k, "2u")}; var ${k} = 0u; while (${k} < ${limit}) { ${k}++; ${end} ${body} }`;
        default:
          return `var ${k} = 0u; loop { ${end} ${body} continuing { ${k}++; break if ${k} > ${1 + this.#below(3)}u; } }`;
      }
    });
  }

  #block(depth: number): string {
    return this.#scoped(() =>
      Array.from({ length: 1 + this.#below(3) }, () => this.#statement(depth)).join(" "),
    );
  }

  /** Returns a statement on locals alone. */
  #local(depth: number): string {
    const name = this.#name("x");
    const target = this.#variables.length > 0 ? this.#one(this.#variables) : undefined;
    switch (this.#below(7)) {
      case 0: {
        const text = `let ${name} = ${this.#integer(2)};`;
        this.#values.push(name);
        return text;
      }
      case 1: {
        const text = this.#chance(50)
          ? `var ${name}: u32; ${name} += ${this.#integer(1)};`
          : `var ${name} = ${this.#integer(2)};`;
        this.#values.push(name);
        this.#variables.push(name);
        return text;
      }
      case 2: {
        const text = `var ${name}: array<u32, 4>; ${name}[${this.#integer(1)} % 4u] ${this.#assignment()} ${this.#integer(2)};`;
        this.#values.push(`${name}[1]`, `${name}[3]`);
        this.#variables.push(`${name}[2]`);
        return text;
      }
      case 3: {
        const text = `var ${name}: mat2x3f; ${name}[1].y += ${this.#float(1)}; let ${name}_f = ${name}[1].y;`;
        this.#floats.push(`${name}_f`);
        return text;
      }
      case 4:
        return target
          ? `${target} ${this.#assignment()} ${this.#integer(2)};`
          : `calls += ${this.#integer(1)};`;
      case 5: {
        if (depth === 0 || !target) return `state[${this.#below(3)}] ^= ${this.#integer(2)};`;
        const cases = [0, 1, 2].map(
          (k) => `case ${k}: { ${target} ${this.#assignment()} ${this.#integer(1)}; }`,
        );
        return `switch (${this.#integer(1)} & 3u) { ${cases.join(" ")} default: { ${target}++; } }`;
      }
      default:
        return target ? `if (${this.#condition()}) { ${target} = ${this.#integer(2)}; }` : `state[0]++;`;
    }
  }

  #integer(depth: number): string {
    if (depth === 0) return this.#chance(70) ? this.#one(this.#values) : `${this.#below(100)}u`;
    const [left, right] = [() => this.#integer(depth - 1), () => this.#integer(depth - 1)];
    switch (this.#below(9)) {
      case 0:
        return `a[${left()} % size.y]`;
      case 1:
        return `min(${left()}, ${right()})`;
      case 2:
        return `select(${left()}, ${right()}, ${this.#condition()})`;
      case 3:
        return `(${left()} >> (${right()} & 7u))`;
      case 4:
        return this.#helpers > 0
          ? `helper${this.#below(this.#helpers)}(${left()}, ${right()})`
          : `(calls + ${left()})`;
      case 5:
        return `u32(abs(i32(${left()} & 1023u) - 512i))`;
      case 6:
        return `(state[${left()} % 3u] ^ ${right()})`;
      default:
        return `(${left()} ${this.#one(["+", "-", "*", "^", "&", "|"])} ${right()})`;
    }
  }

  /** Returns an expression over floats. No operation rounds whole ones, which stay small. */
  #float(depth: number): string {
    if (depth === 0) {
      if (this.#floats.length > 0 && this.#chance(30)) return `clamp(${this.#one(this.#floats)}, -8.0, 8.0)`;
      return this.#chance(60) ? `f[${this.#integer(1)} % size.y]` : `f32(${this.#one(this.#values)} & 7u)`;
    }
    const [left, right] = [this.#float(depth - 1), this.#float(depth - 1)];
    return this.#one([
      `(${left} + ${right})`,
      `(${left} - ${right})`,
      `(${left} * ${right})`,
      `max(${left}, ${right})`,
      ...(this.#kind === "whole"
        ? []
        : [
            `(${left} / (2.5 + abs(${right})))`,
            `fma(${left}, ${right}, 0.3)`,
            `sqrt(abs(${left}))`,
            `sin(clamp(${left}, -3.0, 3.0))`,
            `exp2(min(${left}, 4.0))`,
            `log2(1.5 + abs(${left}))`,
            `mix(${left}, ${right}, 0.25)`,
            `dot(vec3f(${left}, 0.5, ${right}), vec3f(0.7, ${right}, -1.1))`,
            `length(vec2f(${left}, ${right}))`,
            `select(${left}, ${right}, ${left} < ${right})`,
          ]),
    ]);
  }

  #condition(): string {
    const compared = `${this.#integer(1)} ${this.#one(["<", ">", "==", "!="])} ${this.#integer(1)}`;
    return this.#one([
      compared,
      `${this.#integer(1)} % 2u == 0u`,
      `(${compared}) && ${this.#integer(0)} > 3u`,
    ]);
  }

  #assignment = (): string => this.#one(["=", "+=", "-=", "^=", "*=", "|="]);

  #scoped(write: () => string): string {
    const before = [this.#values, this.#variables, this.#floats];
    [this.#values, this.#variables, this.#floats] = before.map((each) => [...each]) as [
      string[],
      string[],
      string[],
    ];
    const text = write();
    [this.#values, this.#variables, this.#floats] = before as [string[], string[], string[]];
    return text;
  }

  #name = (base: string): string => `${base}${++this.#names}`;
  #below = (limit: number): number => randomBelow(limit, this.#seed, this.#drawn++);
  #chance = (percent: number): boolean => this.#below(100) < percent;
  #one = <T>(all: readonly T[]): T => all[this.#below(all.length)]!;
}
