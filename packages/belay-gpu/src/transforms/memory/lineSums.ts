/**
 * Sums over the lanes that share lines.
 *
 * Lanes with one piece each of several lines compute as many sums at once. In each step a lane
 * gives away half of its parts and adds the parts that it receives for the other half. In the end
 * it has one sum. Eight lines in eight lanes take seven exchanges, not 24.
 */
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { ArenaAccess, CheckWords } from "./checkWords.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/** The functions that sum over lanes. Each method returns the name of a declaration. */
export class LineSums {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #checkWords: CheckWords;

  constructor(names: Names, library: GeneratedDeclarations, checkWords: CheckWords) {
    this.#names = names;
    this.#library = library;
    this.#checkWords = checkWords;
  }

  /** Returns the variable of the lane's number in its subgroup, which entry points set first. */
  lane(): string {
    return this.#library.make(
      this.#names.the("lane"),
      (name) => quote().declarations`var<private> ${name}: u32;`,
    );
  }

  /**
   * Returns `fn(piece: u32) -> bool`. It is true if all lanes that share a line of `pieces` pieces
   * are active and have its pieces in order.
   */
  inOrder(pieces: number): string {
    const lane = this.lane();
    const all = pieces === 32 ? "0xffffffffu" : `${2 ** pieces - 1}u`;
    return this.#library.make(
      this.#names.the(`in_order_of_${pieces}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> bool {
        let rank = ${lane} % ${pieces}u;
        let first = ${lane} - rank;
        let ballot = subgroupBallot(true);
        // A component that is chosen by number would be looked up in memory.
        let half = select(ballot.xz, ballot.yw, (first & 32u) != 0u);
        let lanes = (select(half.x, half.y, (first & 64u) != 0u) >> (first % 32u)) & ${all};
        let is_next = piece % ${pieces}u == rank && subgroupShuffle(piece, first) + rank == piece;
        return subgroupAll(lanes == ${all} && is_next);
      }`,
    );
  }

  /**
   * Returns `fn(parts: array<u32, N>, numbers: array<u32, N>) -> bool`. It is true if a line of the
   * subgroup is wrong. One lane computes the syndrome of a line; the wrong piece may be another
   * lane's.
   */
  isWrong(pieces: number, count: number, arena: ArenaAccess): string {
    const check = this.#checkWords.load(arena, `${this.#own(count)}(numbers)`);
    return this.#library.make(
      this.#names.the(`is_wrong_${count}_of_${pieces}_${arena}`),
      (name) => quote().declarations`fn ${name}(${parameters(count)}) -> bool {
        return subgroupAny(${this.#sum(pieces, count)}(parts) != ${check});
      }`,
    );
  }

  /**
   * Returns `fn(parts: array<u32, N>, numbers: array<u32, N>)`, which stores the check words of the
   * lines with these parts.
   */
  keep(pieces: number, count: number, arena: ArenaAccess): string {
    return this.#library.make(
      this.#names.the(`keep_${count}_of_${pieces}`),
      (name) => quote().declarations`fn ${name}(${parameters(count)}) {
        let check = ${this.#sum(pieces, count)}(parts);
        let number = ${this.#own(count)}(numbers);
        if (${this.lane()} % ${pieces}u < ${count}u) { ${this.#checkWords.store(arena, "number", "check")} }
      }`,
    );
  }

  /**
   * Returns `fn(parts: array<u32, N>) -> u32`: the sum over all lanes of the part that belongs to
   * the lane.
   */
  #sum(pieces: number, count: number): string {
    const statements: string[] = [];
    let parts = Array.from({ length: count }, (_, i) => `parts[${i}]`);
    for (let step = count / 2; step >= 1; step /= 2) {
      statements.push(`let is_upper_${step} = (${this.lane()} & ${step}u) != 0u;`);
      parts = parts.slice(0, step).map((lower, i) => {
        const [kept, given] = [
          [lower, parts[i + step]],
          [parts[i + step], lower],
        ].map(([no, yes]) => `select(${no}, ${yes}, is_upper_${step})`);
        statements.push(`let part_${step}_${i} = ${kept} ^ subgroupShuffleXor(${given}, ${step}u);`);
        return `part_${step}_${i}`;
      });
    }
    statements.push(`var sum = ${parts[0]};`);
    for (let step = count; step < pieces; step *= 2)
      statements.push(`sum ^= subgroupShuffleXor(sum, ${step}u);`);
    return this.#library.make(
      this.#names.the(`sum_${count}_of_${pieces}`),
      (name) =>
        quote()
          .declarations`fn ${name}(parts: array<u32, ${count}>) -> u32 { ${statements.join(" ")} return sum; }`,
    );
  }

  /** Returns `fn(numbers: array<u32, N>) -> u32`: the number that belongs to the lane. */
  #own(count: number): string {
    let chosen = Array.from({ length: count }, (_, i) => `numbers[${i}]`);
    for (let step = count / 2; step >= 1; step /= 2)
      chosen = chosen
        .slice(0, step)
        .map((lower, i) => `select(${lower}, ${chosen[i + step]}, (${this.lane()} & ${step}u) != 0u)`);
    return this.#library.make(
      this.#names.the(`own_of_${count}`),
      (name) =>
        quote().declarations`fn ${name}(numbers: array<u32, ${count}>) -> u32 { return ${chosen[0]!}; }`,
    );
  }
}

const parameters = (count: number) => `parts: array<u32, ${count}>, numbers: array<u32, ${count}>`;
