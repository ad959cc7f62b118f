/** Runs work, and returns the errors that were thrown meanwhile and not caught. */
export async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
  const thrown: unknown[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => thrown.push(error));
  try {
    await work();
    // An error of a listener is thrown again in a later turn.
    await new Promise(setImmediate);
    return thrown;
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
}
