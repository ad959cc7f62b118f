/** What a thrown value says, without its stack. GPU errors are no `Error`s, but have a message. */
export function messageOf(thrown: unknown): string {
  return (thrown as { message?: string } | undefined)?.message ?? String(thrown);
}
