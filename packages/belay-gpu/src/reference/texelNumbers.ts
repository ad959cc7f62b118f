/**
 * Converts between the stored bits of texels and the numbers of kernels.
 *
 * Source: WGSL specification, "Texel Formats".
 */
import { halfFromBits, halfToBits } from "../wgsl/constants/float16.ts";
import type { FloatRange } from "./buffers.ts";
import { f32Format } from "./floatFormat.ts";
import type { TexelChannel } from "./texelFormats.ts";

/** Returns the bits of a channel of the texel at an offset. */
export function loadBits(bytes: DataView, at: number, { shift, bits }: TexelChannel): number {
  if (bits === 8) return bytes.getUint8(at + shift / 8);
  if (bits === 16) return bytes.getUint16(at + shift / 8, true);
  if (bits === 32) return bytes.getUint32(at + shift / 8, true);
  return (bytes.getUint32(at, true) >>> shift) & (2 ** bits - 1);
}

/** Replaces the bits of a channel. */
export function storeBits(bytes: DataView, at: number, { shift, bits }: TexelChannel, value: number): void {
  if (bits === 8) bytes.setUint8(at + shift / 8, value);
  else if (bits === 16) bytes.setUint16(at + shift / 8, value, true);
  else if (bits === 32) bytes.setUint32(at + shift / 8, value, true);
  else {
    const mask = (2 ** bits - 1) << shift;
    bytes.setUint32(at, (bytes.getUint32(at, true) & ~mask) | ((value << shift) & mask), true);
  }
}

/** The largest stored integer of a normalized channel, which stands for one. */
const scaleOf = ({ kind, bits }: TexelChannel): number => 2 ** (kind === "snorm" ? bits - 1 : bits) - 1;

/** Returns the number that the stored bits of a channel stand for. */
export function numberOf(channel: TexelChannel, stored: number, bytes: DataView, at: number): number {
  const { kind, bits } = channel;
  const signed = (stored << (32 - bits)) >> (32 - bits);
  switch (kind) {
    case "unorm":
      return stored / scaleOf(channel);
    case "snorm":
      return Math.max(signed / scaleOf(channel), -1);
    case "uint":
      return stored >>> 0;
    case "sint":
      return signed;
    case "srgb":
      return fromCurve(stored / scaleOf(channel));
    case "shared":
      return stored * 2 ** ((bytes.getUint32(at, true) >>> 27) - 24);
    case "float":
      if (bits === 32) return f32Format.fromBits(stored);
      return halfFromBits(bits === 16 ? stored : stored << (15 - bits));
  }
}

/** Returns the bits that stand for a number, which the channel has. */
export function bitsOf(channel: TexelChannel, x: number): number {
  const { kind, bits } = channel;
  if (kind === "unorm" || kind === "snorm") return Math.round(x * scaleOf(channel)) & (2 ** bits - 1);
  if (kind !== "float") return x;
  if (bits === 32) return f32Format.toBits(x);
  return halfToBits(x) >> (bits === 16 ? 0 : 15 - bits);
}

/** Returns what a kernel may load for a number of a channel. */
export function loadedRange({ kind, bits }: TexelChannel, x: number): FloatRange {
  switch (kind) {
    case "unorm":
    case "snorm": {
      // The conversion is a division, except where its result is whole.
      const error = Number.isInteger(x) ? 0 : 2.5 * f32Format.ulp(x);
      return { low: Math.fround(x - error), high: Math.fround(x + error) };
    }
    case "srgb": {
      // Direct3D, "sRGB conversion", allows half a unit of the stored integer.
      const stored = toCurve(x);
      const at = (offset: number) => fromCurve(Math.min(Math.max(stored + offset / 255, 0), 1));
      return { low: Math.fround(at(-0.5)), high: Math.fround(at(0.5)) };
    }
    case "float": {
      if (!Number.isFinite(x)) return { low: Number.NaN, high: Number.NaN };
      const isSubnormal = Math.abs(x) < (bits === 32 ? 2 ** -126 : 2 ** -14);
      return isSubnormal ? { low: Math.min(x, 0), high: Math.max(x, 0) } : { low: x, high: x };
    }
    default:
      return { low: x, high: x };
  }
}

/**
 * Returns the numbers of a channel as which an implementation may store a number; the nearest one
 * if it does not choose.
 */
export function storedRange(channel: TexelChannel, low: number, high: number, chooses: boolean): FloatRange {
  const { kind, bits } = channel;
  const clamped = (x: number, least: number, most: number) => Math.min(Math.max(x, least), most);
  if (kind === "uint") {
    const x = Math.min(low, 2 ** bits - 1);
    return { low: x, high: x };
  }
  if (kind === "sint") {
    const x = clamped(low, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1);
    return { low: x, high: x };
  }
  const scale = scaleOf(channel);
  if (kind === "unorm" || kind === "snorm") {
    const scaled = (x: number) => clamped(x, kind === "unorm" ? 0 : -1, 1) * scale;
    if (!chooses) {
      const x = (Math.round(scaled(low) || 0) + 0) / scale;
      return { low: x, high: x };
    }
    // Direct3D, "float to UNORM", allows 0.6 units of the stored integer.
    const [from, to] = [Math.ceil(scaled(low) - 0.6) + 0, Math.floor(scaled(high) + 0.6)];
    return { low: from / scale, high: to / scale };
  }
  if (bits === 32) return { low, high };
  return {
    low: rounded(bits, low, chooses ? Math.floor : Math.round),
    high: rounded(bits, high, chooses ? Math.ceil : Math.round),
  };
}

/** Rounds a number to a small float: 16 bits, or a positive one with 11 or 10 bits. */
function rounded(bits: number, x: number, round: (x: number) => number): number {
  const magnitude = bits === 16 ? x : Math.max(x, 0);
  const fraction = bits === 16 ? 10 : bits - 5;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(magnitude))), -14);
  const unit = 2 ** (Math.max(exponent, -14) - fraction);
  const result = round(magnitude / unit) * unit;
  return Math.abs(result) < 2 ** 16 ? result : Number.NaN;
}

/** Converts between the stored and the linear value of a color. Source: IEC 61966-2-1. */
function fromCurve(x: number): number {
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
}
function toCurve(x: number): number {
  return x <= 0.0031308 ? x * 12.92 : 1.055 * x ** (1 / 2.4) - 0.055;
}
