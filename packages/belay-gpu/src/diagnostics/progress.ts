/** The progress of long work. */
export interface Progress {
  /** The number of finished steps. */
  readonly done: number;
  /** The number of all steps, as far as they are known. */
  readonly total: number;
  /** The step that begins, in words. */
  readonly doing: string;
}

/** The options of all long work. */
export interface LongWork {
  /** The signal that aborts the work. The work rejects with its reason, and keeps no device. */
  readonly signal?: AbortSignal | undefined;
  /** The listener to call before each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}
