/**
 * Returns the message of a thrown value without its stack. A program may throw any value, even one
 * that has no text.
 */
export function messageOf(thrown: unknown): string {
  try {
    // A `GPUError` is not an `Error` but has a message, too.
    const { message } = Object(thrown) as { message?: unknown };
    return typeof message === "string" && message !== "" ? message : String(thrown);
  } catch {
    return "what was thrown cannot be shown";
  }
}
