/** An event inside the runtime, with the functions that it calls. */
export class Signal<Happened = void> {
  readonly #listeners: ((happened: Happened) => void)[] = [];

  subscribe(listener: (happened: Happened) => void): void {
    this.#listeners.push(listener);
  }

  emit(happened: Happened): void {
    for (const listener of this.#listeners) listener(happened);
  }
}
