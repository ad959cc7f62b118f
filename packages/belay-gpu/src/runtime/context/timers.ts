/**
 * The longest time that `setTimeout` and `setInterval` wait, in milliseconds. A longer time
 * overflows and ends at once.
 */
export const longestWait = 2 ** 31 - 1;
