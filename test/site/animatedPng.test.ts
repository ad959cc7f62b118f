/** Animated pictures, which a browser shows as any other picture. */
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { animate, chunksOf } from "../../site/playground/animatedPng.ts";

/** Returns a picture of 1 by 1 pixels in shades of gray, in two chunks of data. */
function picture(shade: number, width = 1): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const data = deflateSync(Buffer.from([0, ...Array(width).fill(shade)]));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", Buffer.from([0, 0, 0, width, 0, 0, 0, 1, 8, 0, 0, 0, 0])),
    chunk("IDAT", data.subarray(0, 5)),
    chunk("IDAT", data.subarray(5)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

it("holds all pictures with their times, numbered throughout", () => {
  const chunks = chunksOf(
    animate([
      { png: picture(10), seconds: 2 },
      { png: picture(200), seconds: 30 },
    ]),
  );
  expect(chunks.map(({ type }) => type)).toEqual([
    "IHDR",
    "acTL",
    "fcTL",
    "IDAT",
    "IDAT",
    "fcTL",
    "fdAT",
    "fdAT",
    "IEND",
  ]);
  const numbered = chunks.filter(({ type }) => type === "fcTL" || type === "fdAT");
  expect(numbered.map(({ data }) => data.readUInt32BE(0))).toEqual([0, 1, 2, 3]);
  const times = chunks
    .filter(({ type }) => type === "fcTL")
    .map(({ data }) => data.readUInt16BE(20) / data.readUInt16BE(22));
  expect(times).toEqual([2, 30]);
  const second = chunks.filter(({ type }) => type === "fdAT").map(({ data }) => data.subarray(4));
  expect([...inflateSync(Buffer.concat(second))]).toEqual([0, 200]);
});

it("is refused for pictures of several sizes", () => {
  const frames = [picture(1), picture(1, 2)].map((png) => ({ png, seconds: 1 }));
  expect(() => animate(frames)).toThrow("picture 1 has another size or color type than the first");
});
