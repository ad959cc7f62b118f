import type { HostCode, Verification } from "../../ecc/scheme.ts";

/** Returns the number of check words of bytes. The bytes need not fill the last granule. */
export function checkWordsOf({ granuleBytes, checkWords }: HostCode, bytes: Uint8Array): number {
  return Math.max(1, Math.ceil(bytes.length / granuleBytes)) * checkWords;
}

/** Writes the check words of bytes and returns them. The last granule is padded with zeros. */
export function encodeBytes<Checks extends Uint32Array>(
  scheme: HostCode,
  bytes: Uint8Array,
  checks: Checks,
): Checks {
  const { whole, rest, count } = granulesOf(scheme, bytes);
  scheme.encode(whole, checks.subarray(0, count * scheme.checkWords));
  if (rest) scheme.encode(rest, checks.subarray(count, count + 1));
  return checks;
}

/**
 * Corrects bytes and check words in place where the code can. Returns the granules that it cannot
 * correct.
 */
export function verifyBytes(scheme: HostCode, bytes: Uint8Array, checks: Uint32Array): Verification {
  const { whole, rest, count } = granulesOf(scheme, bytes);
  const found = scheme.verify(whole, checks.subarray(0, count * scheme.checkWords));
  // Bytes that did not begin at a multiple of four were copied.
  if (whole.buffer !== bytes.buffer && found.corrected > 0) bytes.set(bytesOf(whole));
  if (!rest) return found;
  const atEnd = scheme.verify(rest, checks.subarray(count));
  const missing = bytes.length - whole.byteLength;
  if (atEnd.corrected > 0) bytes.set(bytesOf(rest).subarray(0, missing), whole.byteLength);
  return {
    corrected: found.corrected + atEnd.corrected,
    uncorrectable: [...found.uncorrectable, ...atEnd.uncorrectable.map((granule) => count + granule)],
  };
}

/**
 * Returns the words of all whole granules, and of a last granule padded with zeros. The former
 * share memory with the bytes if these begin at a multiple of four.
 */
function granulesOf(scheme: HostCode, bytes: Uint8Array) {
  // A checksum is the same for any number of zeros at the end.
  const granuleBytes = Number.isFinite(scheme.granuleBytes) ? scheme.granuleBytes : bytes.length;
  const size = bytes.length - (bytes.length % granuleBytes);
  const { buffer, byteOffset } = byteOffsetIsWord(bytes) ? bytes : bytes.slice(0, size);
  const whole = new Uint32Array(buffer, byteOffset, size / 4);
  const count = size / granuleBytes;
  if (size === bytes.length) return { whole, count };
  const rest = new Uint32Array(granuleBytes / 4);
  bytesOf(rest).set(bytes.subarray(size));
  return { whole, rest, count };
}

function byteOffsetIsWord({ byteOffset }: Uint8Array): boolean {
  return byteOffset % 4 === 0;
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
