/** The controls of a strike: the value, the bit and the replica. */
import type { FaultSite } from "belay-gpu";
import { choice, element } from "../page/element.ts";
import { lineFinder } from "./correspondence.ts";

/** The choices of a strike. */
export interface StrikeChoices {
  readonly site: number | undefined;
  readonly bit: number;
  readonly replica: 0 | 1;
  readonly permanent: boolean;
}

/** The controls on the page. */
export interface StrikeControls {
  readonly place: HTMLElement;
  readonly choices: StrikeChoices;
  /** Offers the values of a kernel. Keeps the choice if the kernel still has it. */
  offer(source: string, sites: readonly FaultSite[]): void;
}

/** Creates the controls with choices from the address. `changed` is called after each change. */
export function strikeControls(
  given: Readonly<Record<string, string | undefined>>,
  changed: (choices: StrikeChoices) => void,
): StrikeControls {
  let choices: StrikeChoices = {
    site: undefined,
    bit: Math.min(31, Math.max(0, Number(given.bit ?? 22) || 0)),
    replica: given.replica === "0" ? 0 : 1,
    permanent: given.permanent === "true",
  };
  const change = (some: Partial<StrikeChoices>) => {
    choices = { ...choices, ...some };
    drawBits();
    changed(choices);
  };
  const sites = element("select", { on: { change: () => change({ site: Number(sites.value) }) } });
  const bits = element("div", { className: "bits", role: "radiogroup", ariaLabel: "Bit to flip" });
  const cells = Array.from({ length: 32 }, (_, place) => {
    const bit = 31 - place;
    const cell = element("button", {
      type: "button",
      role: "radio",
      title: `bit ${bit}`,
      on: { click: () => change({ bit }) },
    });
    cell.setAttribute("aria-label", `bit ${bit}`);
    return cell;
  });
  bits.append(...cells);
  bits.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowLeft" ? 1 : event.key === "ArrowRight" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    change({ bit: (choices.bit + step + 32) % 32 });
    cells[31 - choices.bit]!.focus();
  });
  const chosenBit = element("output", {});
  function drawBits(): void {
    for (const [place, cell] of cells.entries()) {
      const isChosen = 31 - place === choices.bit;
      cell.setAttribute("aria-checked", String(isChosen));
      cell.tabIndex = isChosen ? 0 : -1;
    }
    chosenBit.textContent = String(choices.bit);
  }
  drawBits();
  const place = element(
    "div",
    { className: "controls" },
    element("label", { className: "choice wide" }, element("span", {}, "Value"), sites),
    element("div", { className: "choice wide" }, element("span", {}, "Bit ", chosenBit), bits),
    choice(
      "Replica",
      [
        ["0", "first"],
        ["1", "second"],
      ],
      String(choices.replica),
      (value) => change({ replica: value === "0" ? 0 : 1 }),
    ),
    choice(
      "Fault",
      [
        ["false", "once"],
        ["true", "each time"],
      ],
      String(choices.permanent),
      (value) => change({ permanent: value === "true" }),
    ),
  );
  return {
    place,
    get choices() {
      return choices;
    },
    offer(source, all) {
      const lineOf = lineFinder(source);
      const options = all.map(({ id, kind, span }) => {
        const text = source.slice(span.start, span.end).replace(/\s+/g, " ");
        const short = text.length > 34 ? `${text.slice(0, 33)}…` : text;
        return element("option", { value: String(id) }, `line ${lineOf(span.start) + 1}, ${kind}: ${short}`);
      });
      sites.replaceChildren(...options);
      const kept = all.find(({ id }) => id === choices.site) ?? usualSite(all);
      choices = { ...choices, site: kept?.id };
      if (kept) sites.value = String(kept.id);
    },
  };
}

/** Returns the value that a strike hits at first: the last one that the kernel computes. */
export function usualSite(sites: readonly FaultSite[]): FaultSite | undefined {
  return sites.filter(({ kind }) => kind === "value").at(-1) ?? sites[0];
}
