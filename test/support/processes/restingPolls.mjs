/**
 * Makes processes rest while they wait for a device. Dawn asks for results in a loop of
 * `setImmediate`, which takes the cores that a software adapter computes on. Every eighth question
 * waits for a millisecond here, which halves the processor's time of many tests.
 */
const immediately = globalThis.setImmediate;
let questions = 0;

/** Returns true for a function that is not JavaScript, such as the one that asks Dawn. */
const isNative = (callback) => /\[native code\]/.test(Function.prototype.toString.call(callback));

globalThis.setImmediate = Object.assign((callback, ...args) => {
  if (typeof callback !== "function" || !isNative(callback) || ++questions % 8 !== 0)
    return immediately(callback, ...args);
  return setTimeout(callback, 1, ...args);
}, immediately);
