import { scanLoop } from "../../loops/analysis/scanLoop.ts";
import type { LoopData } from "../../loops/javascript/sequential.ts";
import { hasMarks, markedElements } from "../../loops/kernels/marks.ts";
import type { Loop, NumberType } from "../../loops/tree/ir.ts";
import { bitsOf, numberOf } from "../rounds/scalarBits.ts";
import { overlap } from "../transfer/deviceCopies.ts";
import { isPlainTypedArray, typedArrays } from "../transfer/typedArrays.ts";
import type { SpeculateCall } from "./call.ts";

/** The most buffers that an engine's kernel needs besides the loop's arrays. */
const ownBuffers = 4;

/**
 * Returns the reason why the device cannot execute the loop on this data as the CPU does. Returns
 * null if it can.
 */
export function whyNot(
  { loop, inputs, carried, first, step, count }: SpeculateCall,
  hosts: Readonly<Record<string, LoopData>>,
  limits: GPUSupportedLimits,
): string | null {
  return (
    whyNotArrays(loop, hosts) ??
    whyNotLimits(loop, hosts, limits) ??
    whyNotNumbers([...loop.inputs, ...loop.carried], { ...inputs, ...carried }) ??
    whyNotIndex(loop, first, step, count)
  );
}

function whyNotArrays(loop: Loop, hosts: Readonly<Record<string, LoopData>>): string | null {
  for (const [place, { name, element, role }] of loop.arrays.entries()) {
    const host = hosts[name];
    if (!isPlainTypedArray(host) || host[Symbol.toStringTag] !== typedArrays[element])
      return `${name} is not of the type ${typedArrays[element]}`;
    if (Object.prototype.toString.call(host.buffer) === "[object SharedArrayBuffer]")
      return `other threads may change ${name}`;
    for (const other of loop.arrays.slice(0, place)) {
      const isRead = role === "read" && other.role === "read";
      if (!isRead && overlap(host, hosts[other.name]!)) return `${other.name} and ${name} share memory`;
    }
  }
  return null;
}

function whyNotLimits(
  loop: Loop,
  hosts: Readonly<Record<string, LoopData>>,
  limits: GPUSupportedLimits,
): string | null {
  const mostBytes = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  for (const { name } of loop.arrays) {
    if (hosts[name]!.byteLength > mostBytes) return `${name} is too large for a buffer of the device`;
  }
  const lengths = loop.arrays.map(({ name, element }) => {
    const { length } = hosts[name]!;
    return [name, element === "f64" ? 2 * length : length] as const;
  });
  if (hasMarks(loop) && 4 * markedElements(loop, Object.fromEntries(lengths)) > mostBytes)
    return "there are too many elements to be marked in a buffer of the device";
  const buffers = (scanLoop(loop)?.main ?? loop).arrays.length + ownBuffers;
  if (buffers > limits.maxStorageBuffersPerShaderStage)
    return `the loop needs ${buffers} buffers, and a kernel of the device has ${limits.maxStorageBuffersPerShaderStage}`;
  return null;
}

/** Returns the reason why the types of numbers do not hold their values; null if they do. */
export function whyNotNumbers(
  numbers: Loop["inputs"],
  values: Readonly<Record<string, number>>,
): string | null {
  // The CPU sets a variable to undefined for a missing element.
  const isOf = (type: NumberType, value: number | undefined) =>
    value !== undefined && (type === "f32" || numberOf(type, bitsOf(type, value)) === value);
  const wrong = numbers.find(({ name, type }) => !isOf(type, values[name]!));
  return wrong ? `${wrong.name} is not of the type ${wrong.type}` : null;
}

function whyNotIndex({ index }: Loop, first: number, step: number, count: number): string | null {
  if (count === 0) return "there are no iterations";
  if (!Number.isInteger(step) || Math.abs(step) >= 2 ** 31 || !Number.isSafeInteger(count) || count < 0)
    return "the iterations cannot be counted";
  const [least, most] = index.type === "i32" ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
  const fits = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  const last = first + (count - 1) * step;
  return fits(first) && fits(last) ? null : `${index.name} is not always of the type ${index.type}`;
}
