import { makeSilently } from "./nativeObjects.ts";

/** An error scope that the program has open. */
interface Scope {
  readonly filter: GPUErrorFilter;
  /**
   * The errors of the parts that it was cut into, oldest first, without the part that is open now.
   */
  readonly parts: Promise<GPUError | null>[];
}

/**
 * The program's error scopes. Belay learns from a scope of its own whether the device accepts a
 * call, and hands the error on to the scope of the program's that would have caught it, or else to
 * the device's `uncapturederror`.
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
   * Makes a call whose only errors are validation errors. Returns whether the device has accepted
   * it, which is known later; a lost device accepts nothing.
   */
  watch(call: () => void): Promise<boolean> {
    return this.#cut(["validation"], call).popped[0]!.then(
      (error) => error === null,
      () => false,
    );
  }

  /**
   * Makes a resource that has more than the program declared. Where the device refuses it, the
   * program is told why the device refuses what was declared.
   */
  make<T>(made: () => T, declared: () => T): T {
    const restate = async (error: GPUError | null) =>
      error instanceof GPUValidationError
        ? ((await makeSilently(this.#device, declared).failed) ?? error)
        : error;
    return this.#cut(["out-of-memory", "validation"], made, restate).result;
  }

  /**
   * Makes a call in scopes of Belay's own, and hands on what they catch as a function restates it.
   */
  #cut<T>(
    filters: readonly GPUErrorFilter[],
    call: () => T,
    restate = async (error: GPUError | null) => error,
  ): { readonly result: T; readonly popped: readonly Promise<GPUError | null>[] } {
    // A scope keeps its first error only: to learn what came first, the program's scopes are cut at
    // the call.
    for (const { parts } of this.#open.toReversed()) parts.push(this.#popSilently());
    for (const filter of filters) this.#device.pushErrorScope(filter);
    const popped: Promise<GPUError | null>[] = [];
    try {
      return { result: call(), popped };
    } finally {
      for (const filter of filters.toReversed()) {
        const own = this.#device.popErrorScope();
        popped.push(own);
        const error = own.then(restate).catch(() => null);
        const scope = this.#open.findLast((each) => each.filter === filter);
        if (scope) scope.parts.push(error);
        else void error.then((each) => each && this.#report(each));
      }
      for (const { filter } of this.#open) this.#device.pushErrorScope(filter);
    }
  }

  #popSilently(): Promise<GPUError | null> {
    return this.#device.popErrorScope().catch(() => null);
  }

  #report(error: GPUError): void {
    const event = new GPUUncapturedErrorEvent("uncapturederror", { error, cancelable: true });
    if (this.#device.dispatchEvent(event)) console.warn(error.message);
  }
}
