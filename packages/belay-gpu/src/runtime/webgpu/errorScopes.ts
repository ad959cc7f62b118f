import { makeSilently } from "./nativeObjects.ts";

/** An error scope that the program has open. */
interface Scope {
  readonly filter: GPUErrorFilter;
  /** The errors of the closed parts of the scope, oldest first. Each watched call ends a part. */
  readonly parts: Promise<GPUError | null>[];
}

/** Resolves to whether a scope caught no error. Calls `report` with its error. */
function isAccepted(popped: Promise<GPUError | null>, report?: (error: GPUError) => void): Promise<boolean> {
  return popped.then(
    (error) => {
      if (error) report?.(error);
      return error === null;
    },
    () => false,
  );
}

/**
 * The error scopes of the program. Belay watches calls with scopes of its own. It passes each error
 * on to the program's scope that would have caught it, or else to the device's `uncapturederror`.
 */
export class ErrorScopes {
  readonly #device: GPUDevice;
  readonly #open: Scope[] = [];
  /** Resolves when the device has got the errors of all earlier calls of `#cut`. */
  #reported: Promise<unknown> = Promise.resolve();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Resolves when the program has heard of all errors so far that none of its scopes caught. */
  get reported(): Promise<unknown> {
    return this.#reported;
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
   * Makes a call whose only errors are validation errors. Resolves to true if the device accepted
   * it. A lost device accepts nothing.
   */
  watch(call: () => void): Promise<boolean> {
    if (this.#open.length > 0) return isAccepted(this.#cut(["validation"], call).popped[0]!);
    this.#device.pushErrorScope("validation");
    let accepted: Promise<boolean>;
    try {
      call();
    } finally {
      accepted = isAccepted(this.#device.popErrorScope(), (error) => this.#report(error));
    }
    return accepted;
  }

  /**
   * Creates a resource that has more usages than the program declared. If the device rejects it,
   * the program gets the error of the declared descriptor.
   */
  make<T>(made: () => T, declared: () => T): T {
    const restate = async (error: GPUError | null) =>
      error instanceof GPUValidationError
        ? ((await makeSilently(this.#device, declared).failed) ?? error)
        : error;
    return this.#cut(["out-of-memory", "validation"], made, restate).result;
  }

  /**
   * Makes a call whose only errors are validation errors. The program gets them restated.
   * `accepted` resolves to true if there is none.
   */
  restated<T>(
    call: () => T,
    restate: (message: string) => string | Promise<string>,
  ): { readonly result: T; readonly accepted: Promise<boolean> } {
    const inOwnWords = async (error: GPUError | null) =>
      error instanceof GPUValidationError ? new GPUValidationError(await restate(error.message)) : error;
    const { result, popped } = this.#cut(["validation"], call, inOwnWords);
    return { result, accepted: isAccepted(popped[0]!) };
  }

  /** Reports an error that becomes known later, as if a call at this moment had caused it. */
  reportLater(error: Promise<GPUError | null>): void {
    this.#cut(
      ["validation"],
      () => undefined,
      () => error,
    );
  }

  /**
   * Makes a call in scopes of Belay's own. Passes on the errors that they catch, as `restate`
   * returns them.
   */
  #cut<T>(
    filters: readonly GPUErrorFilter[],
    call: () => T,
    restate = async (error: GPUError | null) => error,
  ): { readonly result: T; readonly popped: readonly Promise<GPUError | null>[] } {
    // A scope keeps its first error only. To keep the order of errors, the program's scopes are
    // closed and opened again around the call.
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
        else this.#reported = Promise.all([error, this.#reported]).then(([each]) => this.#dispatch(each));
      }
      for (const { filter } of this.#open) this.#device.pushErrorScope(filter);
    }
  }

  #popSilently(): Promise<GPUError | null> {
    return this.#device.popErrorScope().catch(() => null);
  }

  /** Reports an error after those of earlier calls that are still being restated. */
  #report(error: GPUError): void {
    void this.#reported.then(() => this.#dispatch(error));
  }

  #dispatch(error: GPUError | null): void {
    if (!error) return;
    const event = new GPUUncapturedErrorEvent("uncapturederror", { error, cancelable: true });
    if (this.#device.dispatchEvent(event)) console.warn(error.message);
  }
}
