/**
 * A map on top of another one, which never changes. Entries that are set here are visible only
 * here. Values are never undefined.
 */
export class LayeredMap<K, V> {
  readonly #base: LayeredMap<K, V> | undefined;
  readonly #own = new Map<K, V>();

  constructor(base?: LayeredMap<K, V>) {
    this.#base = base;
  }

  get(key: K): V | undefined {
    return this.#own.get(key) ?? this.#base?.get(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }
}
