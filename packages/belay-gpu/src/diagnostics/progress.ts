/** How far long work has come. */
export interface Progress {
  /** Steps that are done. */
  readonly done: number;
  /** All steps, as far as they are known by now. */
  readonly total: number;
  /** The step that begins, in words. */
  readonly doing: string;
}

/** The options of all long work. */
export interface LongWork {
  /** Ends the work: it rejects with the signal's reason, and keeps no device. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}
