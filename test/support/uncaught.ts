/** Runs work, and returns what was thrown meanwhile where nobody caught it. */
export async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
  const thrown: unknown[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => thrown.push(error));
  try {
    await work();
    // What a listener throws is thrown again in a turn of its own.
    await new Promise(setImmediate);
    return thrown;
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
}
