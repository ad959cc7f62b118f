/**
 * Random kernels with barriers. Their control flow is uniform in places. Not all of them are valid.
 */

/** Returns the kernel of a seed. */
export function barrierKernel(seed: number): string {
  return new Generator(seed).kernel();
}

const prelude = `
@group(0) @binding(0) var<uniform> limit: vec4u;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> n: atomic<u32>;
var<workgroup> tile: array<u32, 8>;
fn f(x: u32) -> u32 { if (x > 3u) { return x - 1u; } return x * 2u; }
fn g(x: u32) -> u32 { var y = x; for (var i = 0u; i < x % 4u; i++) { y += b[i]; } return y; }
fn sync() { for (var i = 0u; i < limit.y % 3u; i++) { workgroupBarrier(); } }`;

class Generator {
  #state: number;
  #count = 0;
  /** The names in scope of variables that are meant to be uniform, and of other variables. */
  #uniform: readonly string[] = [];
  #others: readonly string[] = [];

  constructor(seed: number) {
    this.#state = seed;
  }

  kernel(): string {
    return `${prelude}
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
        ${this.#statements(3, false, true)} ${this.#statements(3, false, true)}
      }`;
  }

  #below(n: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return (this.#state >>> 8) % n;
  }

  #pick(...texts: readonly string[]): string {
    return texts[this.#below(texts.length)]!;
  }

  #operand(isUniform: boolean): string {
    const others = isUniform ? [] : ["l", "b[l]", "tile[l]", "a[l]", ...this.#others];
    return this.#pick("limit.x", "w.x", "a[1]", ...this.#uniform, ...this.#uniform, ...others, ...others);
  }

  #value(isUniform: boolean): string {
    const x = () => this.#operand(isUniform);
    return this.#pick(
      x(),
      `${x()} + ${x()}`,
      `f(${x()})`,
      `select(${x()}, 3u, ${x()} > 4u)`,
      isUniform ? x() : `g(${x()})`,
    );
  }

  #condition(isUniform: boolean): string {
    const x = () => this.#value(isUniform);
    return this.#pick(`${x()} > ${x()}`, `${x()} < 5u && ${x()} != 2u`);
  }

  /**
   * Returns random statements. `inLoop` is true if a loop can be left here. `together` is true if
   * all invocations are meant to get here.
   */
  #statements(depth: number, inLoop: boolean, together: boolean): string {
    const [uniform, others] = [this.#uniform, this.#others];
    const count = 1 + this.#below(4);
    const text = Array.from({ length: count }, () => this.#statement(depth, inLoop, together)).join("\n");
    [this.#uniform, this.#others] = [uniform, others];
    return text;
  }

  #statement(depth: number, inLoop: boolean, together: boolean): string {
    const isUniform = this.#below(2) === 0;
    const name = `v${this.#count++}`;
    const x = () => this.#value(isUniform);
    const inner = (canLeave = true) => this.#statements(depth - 1, canLeave, together && isUniform);
    switch (this.#below(depth > 0 ? 12 : 6)) {
      case 0: {
        const text = `var ${name} = ${x()};`;
        if (isUniform) this.#uniform = [...this.#uniform, name];
        else this.#others = [...this.#others, name];
        return text;
      }
      case 1:
        return together && this.#uniform.length > 0
          ? `${this.#pick(...this.#uniform)} ${this.#pick("=", "+=")} ${this.#value(true)};`
          : `tile[l] = ${x()};`;
      case 2:
        return this.#others.length > 0 ? `${this.#pick(...this.#others)} ^= ${x()};` : `b[l] += ${x()};`;
      case 3:
        return together
          ? this.#pick(
              "workgroupBarrier();",
              "sync();",
              `let ${name} = workgroupUniformLoad(&tile[${this.#operand(true)} % 8u]); b[0] = ${name};`,
            )
          : `atomicAdd(&n, ${x()});`;
      case 4:
        return inLoop
          ? `if (${this.#condition(isUniform)}) { ${this.#pick("break", "continue")}; }`
          : `b[${x()}] = ${x()};`;
      case 5:
        return this.#below(4) === 0 ? `if (${this.#condition(isUniform)}) { return; }` : "tile[l]++;";
      case 6:
      case 7:
        return `if (${this.#condition(isUniform)}) { ${inner(inLoop)} } else { ${inner(inLoop)} }`;
      case 8:
        return `for (var ${name} = ${x()}; ${name} < ${this.#operand(isUniform)}; ${name}++) { ${inner()} }`;
      case 9:
        return `{ var ${name} = ${x()}; while (${name} > 0u) { ${name} /= 2u; ${inner()} } }`;
      case 10:
        // The loop counts, as a loop that waits for another invocation stays unprotected
        // (BELAY217).
        return `{ var ${name} = ${x()}; loop { ${inner()} continuing { ${name}++; break if (${this.#condition(isUniform)}) | (${name} > 9u); } } }`;
      default:
        return `switch ${x()} { case 0u: { ${inner(false)} } default: { ${inner(false)} } }`;
    }
  }
}
