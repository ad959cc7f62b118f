/**
 * A map over another one that stays as it is: what is set here is seen only here. Values are never
 * undefined.
 */
export class Layer<K, V> {
  readonly #base: Layer<K, V> | undefined;
  readonly #own = new Map<K, V>();

  constructor(base?: Layer<K, V>) {
    this.#base = base;
  }

  get(key: K): V | undefined {
    return this.#own.get(key) ?? this.#base?.get(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }
}
