/** The bits of a buffer as cells, one row for each word. */
import { element } from "../page/element.ts";
import type { BitFlip } from "./memoryResults.ts";

/** The grid on the page. */
export interface BitGrid {
  readonly place: HTMLElement;
  /** The number of bits that are flipped. */
  readonly flipped: number;
  /** Draws intact words, in blocks that share check words. */
  draw(words: readonly number[], granule: number): void;
  /** Flips a bit, which stays marked. */
  flip(flip: BitFlip): void;
  /** Draws the words that the program read. Cells that came right are marked for a moment. */
  settle(words: readonly number[]): void;
  /** Marks the blocks with flipped bits as refused. */
  refuse(): void;
}

/** Creates a grid. `clicked` is called with the bit of a clicked cell. */
export function bitGrid(clicked: (flip: BitFlip) => void): BitGrid {
  const body = element("div", { className: "bit-grid", role: "grid", ariaLabel: "Bits of the buffer" });
  const place = element("section", { className: "bit-pane" }, body);
  let intact: readonly number[] = [];
  let now: number[] = [];
  let granule = 1;
  let focused: BitFlip = { word: 0, bit: 31 };

  const cellAt = ({ word, bit }: BitFlip) =>
    body.querySelector<HTMLElement>(`[data-word="${word}"][data-bit="${bit}"]`);
  const isFlipped = ({ word, bit }: BitFlip) => (((intact[word]! ^ now[word]!) >>> bit) & 1) === 1;
  const drawCell = (flip: BitFlip) => {
    const cell = cellAt(flip)!;
    const value = (now[flip.word]! >>> flip.bit) & 1;
    cell.classList.toggle("one", value === 1);
    cell.classList.toggle("flipped", isFlipped(flip));
    cell.classList.remove("corrected");
    cell.setAttribute(
      "aria-label",
      `word ${flip.word}, bit ${flip.bit}: ${value}${isFlipped(flip) ? ", flipped" : ""}`,
    );
  };
  const all = () =>
    now.flatMap((_, word) => Array.from({ length: 32 }, (_, place) => ({ word, bit: 31 - place })));
  const focus = (flip: BitFlip) => {
    const from = cellAt(focused);
    if (from) from.tabIndex = -1;
    focused = flip;
    const cell = cellAt(flip)!;
    cell.tabIndex = 0;
    cell.focus();
  };
  const flipOf = (target: EventTarget | null): BitFlip | undefined => {
    const cell = (target as HTMLElement).closest<HTMLElement>("[data-bit]");
    return cell ? { word: Number(cell.dataset.word), bit: Number(cell.dataset.bit) } : undefined;
  };

  body.addEventListener("click", ({ target }) => {
    const flip = flipOf(target);
    if (!flip) return;
    focus(flip);
    clicked(flip);
  });
  body.addEventListener("keydown", (event) => {
    const { word, bit } = focused;
    const moves: Readonly<Record<string, BitFlip>> = {
      ArrowLeft: { word, bit: Math.min(31, bit + 1) },
      ArrowRight: { word, bit: Math.max(0, bit - 1) },
      ArrowUp: { word: Math.max(0, word - 1), bit },
      ArrowDown: { word: Math.min(now.length - 1, word + 1), bit },
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    focus(move);
  });

  return {
    place,
    get flipped() {
      return all().filter(isFlipped).length;
    },
    draw(words, shared) {
      [intact, now, granule] = [words, [...words], shared];
      const rows = words.map((_, word) => {
        const cells = Array.from({ length: 32 }, (_, place) =>
          element("button", {
            type: "button",
            tabIndex: -1,
            data: { word: String(word), bit: String(31 - place) },
            role: "gridcell",
          }),
        );
        const isLast = word % shared === shared - 1;
        return element(
          "div",
          { className: `bit-row${isLast ? " last" : ""}`, role: "row" },
          element("span", {}, String(word)),
          ...cells,
        );
      });
      body.replaceChildren(...rows);
      for (const flip of all()) drawCell(flip);
      cellAt(focused)!.tabIndex = 0;
    },
    flip(flip) {
      now[flip.word] = (now[flip.word]! ^ ((2 ** flip.bit) | 0)) >>> 0;
      drawCell(flip);
    },
    settle(words) {
      const before = all().filter(isFlipped);
      now = [...words];
      for (const flip of all()) drawCell(flip);
      for (const flip of before) cellAt(flip)!.classList.toggle("corrected", !isFlipped(flip));
    },
    refuse() {
      const blocks = new Set(
        all()
          .filter(isFlipped)
          .map(({ word }) => Math.floor(word / granule)),
      );
      for (const [word, row] of [...body.children].entries())
        row.classList.toggle("refused", blocks.has(Math.floor(word / granule)));
    },
  };
}
