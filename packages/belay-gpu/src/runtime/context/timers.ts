/**
 * The longest time that `setTimeout` and `setInterval` wait, in milliseconds. A longer one
 * overflows, and is over at once.
 */
export const longestWait = 2 ** 31 - 1;
