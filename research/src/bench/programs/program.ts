/** A program as somebody uses it: it calls a device and waits for a result. */
export interface UsedProgram {
  readonly name: string;
  /** The library of which the program is made. */
  readonly source: string;
  /** Prepares the program. The caller destroys the device. */
  prepare(device: GPUDevice): Promise<PreparedProgram>;
}

export interface PreparedProgram {
  /** Runs the program once. Resolves to some of its results when the program may use them. */
  run(): Promise<ArrayLike<number>>;
}

/** The number of operations or dispatches between two reads, as in a network. */
export const dispatchesPerRun = 20;
