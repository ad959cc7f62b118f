/** The result of a kernel as a picture. Its pixels can be pointed at, and chosen by keys. */
import { element } from "../page/element.ts";
import { counted, wordAsNumber, wordAsText } from "../page/numbers.ts";
import type { Picture } from "./runnable.ts";

/** A picture on the page. */
export interface DrawnPicture {
  readonly place: HTMLElement;
  /** The chosen pixel. */
  readonly pixel: number;
  /** Draws words. Pixels that differ from `right` are ringed. */
  draw(picture: Picture, words: Uint32Array | null, right?: Uint32Array): void;
  /** Chooses a pixel. */
  choose(pixel: number): void;
}

/** The stops of the color scale, from dark violet to yellow. */
const scale = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;

/** Creates an empty picture. `chosen` is called when a pixel is clicked, or by the key Enter. */
export function drawnPicture(chosen: (pixel: number) => void): DrawnPicture {
  const canvas = element("canvas", { width: 64, height: 64 });
  const ring = element("i", { className: "ring" });
  const wrong = element("div", { className: "wrong" });
  const frame = element("div", { className: "frame", tabIndex: 0, role: "application" }, canvas, wrong, ring);
  frame.setAttribute("aria-label", "Result. Arrow keys choose a pixel, Enter strikes it.");
  const caption = element("figcaption", {});
  const place = element("figure", { className: "picture" }, frame, caption);
  let picture: Picture = { name: "", width: 64, height: 64, isFloat: true };
  let words: Uint32Array | null = null;
  let right: Uint32Array | undefined;
  let pixel = 0;

  const atPixel = (node: HTMLElement, at: number) => {
    node.style.left = `${(100 * (at % picture.width)) / picture.width}%`;
    node.style.top = `${(100 * Math.floor(at / picture.width)) / picture.height}%`;
    node.style.width = `${100 / picture.width}%`;
    node.style.height = `${100 / picture.height}%`;
  };
  const describe = () => {
    atPixel(ring, pixel);
    const [x, y] = [pixel % picture.width, Math.floor(pixel / picture.width)];
    const value = words ? ` = ${wordAsText(words[pixel] ?? 0, picture.isFloat)}` : "";
    const count = wrong.childElementCount;
    const differs =
      count > 0 ? `, ${counted(count, "wrong pixel")}${count === mostRings ? " or more" : ""}` : "";
    caption.textContent = `${picture.name}[${pixel}]${value} (x ${x}, y ${y})${differs}`;
  };
  const choose = (at: number) => {
    pixel = Math.min(picture.width * picture.height - 1, Math.max(0, at));
    describe();
  };
  const pixelAt = ({ clientX, clientY }: MouseEvent) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    const x = Math.min(
      picture.width - 1,
      Math.max(0, Math.floor(((clientX - left) / width) * picture.width)),
    );
    const y = Math.min(
      picture.height - 1,
      Math.max(0, Math.floor(((clientY - top) / height) * picture.height)),
    );
    return y * picture.width + x;
  };
  frame.addEventListener("click", (event) => {
    choose(pixelAt(event));
    chosen(pixel);
  });
  frame.addEventListener("keydown", (event) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -picture.width,
      ArrowDown: picture.width,
    };
    const step = steps[event.key];
    if (step !== undefined) choose(pixel + step);
    else if (event.key === "Enter" || event.key === " ") chosen(pixel);
    else return;
    event.preventDefault();
  });

  return {
    place,
    get pixel() {
      return pixel;
    },
    choose,
    draw(shown, drawn, compared) {
      [picture, words, right] = [shown, drawn, compared];
      paint(canvas, picture, words, right ?? words);
      wrong.replaceChildren(
        ...differences(words, right).map((at) => {
          const mark = element("i", {});
          atPixel(mark, at);
          return mark;
        }),
      );
      frame.classList.toggle("empty", words === null);
      choose(pixel);
    },
  };
}

const mostRings = 200;

function differences(words: Uint32Array | null, right: Uint32Array | undefined): number[] {
  if (!words || !right) return [];
  const found: number[] = [];
  for (let at = 0; at < words.length && found.length < mostRings; at++)
    if (words[at] !== right[at]) found.push(at);
  return found;
}

/** Paints words by their rank between the extremes of the right words. */
function paint(
  canvas: HTMLCanvasElement,
  { width, height, isFloat }: Picture,
  words: Uint32Array | null,
  right: Uint32Array | null,
): void {
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  if (!words || !right) {
    context.clearRect(0, 0, width, height);
    return;
  }
  let [low, high] = [Infinity, -Infinity];
  for (const bits of right.subarray(0, width * height)) {
    const value = wordAsNumber(bits, isFloat);
    if (!Number.isFinite(value)) continue;
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  const image = context.createImageData(width, height);
  for (let at = 0; at < width * height; at++) {
    const value = wordAsNumber(words[at] ?? 0, isFloat);
    const rank = Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
    const stop = Math.min(scale.length - 2, Math.floor(rank * (scale.length - 1)));
    const part = rank * (scale.length - 1) - stop;
    for (let channel = 0; channel < 3; channel++)
      image.data[4 * at + channel] = scale[stop]![channel]! * (1 - part) + scale[stop + 1]![channel]! * part;
    image.data[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
