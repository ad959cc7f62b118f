/** Something that happens inside the runtime, and the functions that are called then. */
export class Signal<Happened = void> {
  readonly #listeners: ((happened: Happened) => void)[] = [];

  subscribe(listener: (happened: Happened) => void): void {
    this.#listeners.push(listener);
  }

  emit(happened: Happened): void {
    for (const listener of this.#listeners) listener(happened);
  }
}
