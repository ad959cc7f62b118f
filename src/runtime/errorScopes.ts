/** An error scope that the program has open. */
interface Scope {
  readonly filter: GPUErrorFilter;
  /** The errors of the parts that it was cut into, oldest first, without the part that is open now. */
  readonly parts: Promise<GPUError | null>[];
}

/**
 * The program's error scopes. Belay learns from a scope of its own whether the device accepts a call, and hands the error
 * on to the scope of the program's that would have caught it, or else to the device's `uncapturederror`.
 */
export class ErrorScopes {
  readonly #device: GPUDevice;
  readonly #open: Scope[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  push(filter: GPUErrorFilter): undefined {
    this.#device.pushErrorScope(filter);
    this.#open.push({ filter, parts: [] });
  }

  async pop(): Promise<GPUError | null> {
    const last = this.#device.popErrorScope();
    const parts = this.#open.pop()?.parts ?? [];
    const [error, ...earlier] = await Promise.all([last, ...parts]);
    return earlier.find(Boolean) ?? error;
  }

  /**
   * Makes a call whose only errors are validation errors. Returns whether the device has accepted it, which is known later;
   * a lost device accepts nothing.
   */
  watch(call: () => void): Promise<boolean> {
    // A scope keeps its first error only: to learn what came first, the program's scopes are cut at the call.
    for (const { parts } of this.#open.toReversed()) parts.push(this.#popSilently());
    this.#device.pushErrorScope("validation");
    let popped: Promise<GPUError | null>;
    try {
      call();
    } finally {
      popped = this.#device.popErrorScope();
      const error = popped.catch(() => null);
      const scope = this.#open.findLast(({ filter }) => filter === "validation");
      if (scope) scope.parts.push(error);
      else void error.then((each) => each && this.#report(each));
      for (const { filter } of this.#open) this.#device.pushErrorScope(filter);
    }
    return popped.then(
      (error) => error === null,
      () => false,
    );
  }

  #popSilently(): Promise<GPUError | null> {
    return this.#device.popErrorScope().catch(() => null);
  }

  #report(error: GPUError): void {
    const event = new GPUUncapturedErrorEvent("uncapturederror", { error, cancelable: true });
    if (this.#device.dispatchEvent(event)) console.warn(error.message);
  }
}
