/**
 * A barrier at which threads wait for each other. All of them use the same two words, zero at
 * first.
 */
export class Barrier {
  readonly #words: Int32Array;
  readonly #threads: number;

  constructor(words: Int32Array, threads: number) {
    this.#words = words;
    this.#threads = threads;
  }

  wait(): void {
    const turn = Atomics.load(this.#words, 1);
    if (Atomics.add(this.#words, 0, 1) + 1 === this.#threads) {
      Atomics.store(this.#words, 0, 0);
      Atomics.add(this.#words, 1, 1);
      Atomics.notify(this.#words, 1);
    } else {
      while (Atomics.load(this.#words, 1) === turn) Atomics.wait(this.#words, 1, turn);
    }
  }
}
