/** Animated PNG, as the third edition of the PNG specification defines it. */
import { crc32 } from "node:zlib";

/** A picture of an animation: a PNG file, and the seconds for which it is shown. */
export interface Frame {
  readonly png: Buffer;
  readonly seconds: number;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Joins pictures of one size and one color type into an animation that repeats for ever. */
export function animate(frames: readonly Frame[]): Buffer {
  const pictures = frames.map(({ png, seconds }) => ({ chunks: chunksOf(png), seconds }));
  const header = pictures[0]!.chunks.find(({ type }) => type === "IHDR")!.data;
  let sequence = 0;
  const bodies = pictures.flatMap(({ chunks, seconds }, frame) => {
    if (!chunks.find(({ type }) => type === "IHDR")!.data.equals(header)) {
      throw new Error(`picture ${frame} has another size or color type than the first`);
    }
    const data = chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data);
    const control = Buffer.concat([
      words(sequence++),
      header.subarray(0, 8),
      words(0, 0),
      // The time is a fraction of a second; the next picture replaces this one.
      Buffer.from([(10 * seconds) >> 8, (10 * seconds) & 255, 0, 10, 0, 0]),
    ]);
    const parts = data.map((part) =>
      frame === 0 ? chunk("IDAT", part) : chunk("fdAT", Buffer.concat([words(sequence++), part])),
    );
    return [chunk("fcTL", control), ...parts];
  });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("acTL", words(frames.length, 0)),
    ...bodies,
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A part of a PNG file. */
interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

/** Returns the chunks of a PNG file. */
export function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    chunks.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  return Buffer.concat([words(data.length), body, words(crc32(body))]);
}

/** Returns numbers as words of 32 bits, the highest byte first. */
function words(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) bytes.writeUInt32BE(number, 4 * i);
  return bytes;
}
