/**
 * Finds the words that a fault stored, if replicas are compared by hashes. Compares memory after
 * the faulty execution with memory after the clean one.
 */

import type { BindingPoint } from "../../compiler/contract.ts";
import type { StoredDifference } from "../context/detectedFault.ts";
import { sourcePosition } from "../context/sourcePosition.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import type { StoredRange } from "../recording/dispatchUse.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { isTexture } from "../webgpu/resources.ts";
import type { Epoch } from "./epoch.ts";
import { formatWord } from "./readReport.ts";

/** The most bytes that are compared. They are kept twice, and read back. */
const mostBytes = 2 ** 27;

/** The words of each range at one moment of the queue. */
export type StoredWords = readonly Uint32Array[];

/**
 * Returns the ranges to which a kernel stores in these epochs. Undefined if not all of them can be
 * compared.
 */
export function placesOf(
  epochs: readonly Epoch[],
  kernel: ProtectedKernel,
): readonly StoredRange[] | undefined {
  const events = epochs.flatMap((epoch) => epoch.events.filter((event) => !epoch.rejected.has(event)));
  const stored: StoredRange[] = [];
  for (const event of events) {
    const places = "record" in event ? event.record.storedBy(kernel) : [];
    if (places === null) return undefined;
    stored.push(...places);
  }
  const distinct = new Map<unknown, Map<string, StoredRange>>();
  for (const each of stored) {
    const { place } = each;
    const resource = isTexture(place) ? place : place.buffer;
    const ranges = distinct.get(resource) ?? new Map<string, StoredRange>();
    ranges.set(isTexture(place) ? "" : `${place.offset} ${place.size}`, each);
    distinct.set(resource, ranges);
  }
  const places = [...distinct.values()].flatMap((ranges) => [...ranges.values()]);
  const bytes = places.map(({ place }) => (isTexture(place) ? textureBytes(place) : place.size));
  const isComparable =
    bytes.every((each) => each > 0) && bytes.reduce((sum, each) => sum + each, 0) <= mostBytes;
  return isComparable ? places : undefined;
}

/**
 * Copies the contents of ranges after all work submitted so far. Undefined if the device rejected
 * that.
 */
export async function readStored(
  device: GPUDevice,
  places: readonly StoredRange[],
): Promise<StoredWords | undefined> {
  const { made, failed } = makeSilently(device, () => {
    const encoder = device.createCommandEncoder({ label: "belay: read what was stored" });
    const copies = places.map(({ place }) => encodeRead(device, encoder, place));
    device.queue.submit([encoder.finish()]);
    return copies;
  });
  const words: Uint32Array[] = [];
  let isRead = (await failed) === null;
  for (const copy of made) {
    try {
      if (isRead) await copy.mapAsync(flags.mapRead);
      if (isRead) words.push(new Uint32Array(copy.getMappedRange()).slice());
    } catch {
      isRead = false;
    }
    copy.destroy();
  }
  return isRead ? words : undefined;
}

function encodeRead(device: GPUDevice, encoder: GPUCommandEncoder, place: StoredRange["place"]): GPUBuffer {
  const usage = flags.bufferMapRead | flags.bufferCopyDst;
  const size = isTexture(place) ? textureBytes(place) : place.size - (place.size % 4);
  const copy = device.createBuffer({ label: "belay: what was stored", size, usage });
  if (isTexture(place)) {
    const { width, height, depthOrArrayLayers } = place;
    const layout = { buffer: copy, bytesPerRow: rowBytes(place), rowsPerImage: height };
    encoder.copyTextureToBuffer({ texture: place }, layout, [width, height, depthOrArrayLayers]);
  } else {
    encoder.copyBufferToBuffer(place.buffer, place.offset, copy, 0, size);
  }
  return copy;
}

/** Returns the bytes of a texel, for formats that kernels can store to, such as `rgba8unorm`. */
function texelBytes({ format }: GPUTexture): number {
  const [, channels, bits] = /^([rgba]+)(\d+)/.exec(format) ?? [];
  return ((channels?.length ?? 0) * Number(bits ?? 0)) / 8;
}

/** Rows of a copy are multiples of 256 bytes. */
const rowBytes = (texture: GPUTexture) => Math.ceil((texture.width * texelBytes(texture)) / 256) * 256;

/**
 * Returns the bytes of a copy. Returns 0 for a texture that cannot be compared, as it has mipmaps
 * or packed texels.
 */
function textureBytes(texture: GPUTexture): number {
  if (texture.mipLevelCount > 1 || texelBytes(texture) % 4 !== 0) return 0;
  return rowBytes(texture) * texture.height * texture.depthOrArrayLayers;
}

/**
 * Returns the first difference between the results of a faulty and a clean execution of a kernel,
 * or `"nothing"`.
 */
export function compareStored(
  kernel: ProtectedKernel,
  places: readonly StoredRange[],
  [faulty, clean]: readonly [StoredWords, StoredWords],
): StoredDifference | "nothing" {
  let first: Omit<StoredDifference, "count"> | undefined;
  let count = 0;
  for (const [i, { of, place }] of places.entries()) {
    const right = clean[i]!;
    for (const [index, word] of faulty[i]!.entries()) {
      if (word === right[index]) continue;
      count++;
      first ??= { ...variableAt(kernel, of, [word, right[index]!]), wordOffset: wordOf(place, index) };
    }
  }
  return first ? { ...first, count } : "nothing";
}

function variableAt(
  kernel: ProtectedKernel,
  { group, binding }: BindingPoint,
  words: readonly [number, number],
) {
  const { entryPoints, checks } = kernel.protection;
  const summary = entryPoints.find(({ name }) => name === kernel.entryPoint);
  const bound = summary?.bindings.find((each) => each.group === group && each.binding === binding);
  const { name = `the binding ${group}.${binding}`, scalar } = bound ?? {};
  const format = (word: number) => formatWord(scalar ?? "hash", word);
  const stores = checks
    .filter(
      (check) => summary?.checks.includes(check.id) && check.name === name && check.kind !== "signature",
    )
    .map(({ span }) => sourcePosition(kernel.source, span.start));
  return { variable: name, stores, values: [format(words[0]), format(words[1])] as const };
}

/** Returns the index of a word without the padding of texture rows. */
function wordOf(place: StoredRange["place"], index: number): number {
  if (!isTexture(place)) return index;
  const [padded, row] = [rowBytes(place) / 4, (place.width * texelBytes(place)) / 4];
  return Math.floor(index / padded) * row + (index % padded);
}
