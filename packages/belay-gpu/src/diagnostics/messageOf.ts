/**
 * Returns what a thrown value says, without its stack. Anything can be thrown, also what cannot be
 * shown.
 */
export function messageOf(thrown: unknown): string {
  try {
    // GPU errors are no `Error`s, but have a message.
    const { message } = Object(thrown) as { message?: unknown };
    return typeof message === "string" && message !== "" ? message : String(thrown);
  } catch {
    return "what was thrown cannot be shown";
  }
}
