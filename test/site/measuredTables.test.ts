/** Tables of measurements as the site draws them. Without a script, they are plain tables. */
import { parseHTML } from "linkedom";
import { expect, it } from "vitest";
import { drawMeasuredTables, scaleOf } from "../../site/.vitepress/theme/measuredTables.ts";

/** Returns the first table of a page with some rows of two columns, in VitePress's markup. */
function drawnTable(...rows: readonly (readonly [name: string, measured: string])[]) {
  const body = rows.map(([name, measured]) => `<tr><td>${name}</td><td>${measured}</td></tr>`).join("");
  const { document } = parseHTML(
    `<div class="vp-doc"><table><thead><tr><th>program</th><th>plain</th></tr></thead><tbody>${body}</tbody></table></div>`,
  );
  drawMeasuredTables(document);
  const cells = () => [...document.querySelectorAll<HTMLElement>("tbody td:nth-child(2)")];
  return { document, cells };
}

it("draws bars to one scale, sorts by a header, and gives the order back", () => {
  const { document, cells } = drawnTable(
    ["add", "2.0 ms"],
    ["sum", "8 ms"],
    ["copy", "–"],
    ["exp", "<b>4 ms</b>"],
    ["pad", "1,000 ms"],
  );
  const texts = () => cells().map(({ textContent }) => textContent);
  const before = texts();
  expect(cells().map(({ style }) => style.getPropertyValue("--share") ?? "")).toEqual([
    "25.0%",
    "100.0%",
    "",
    "50.0%",
    "100.0%",
  ]);
  expect(cells().map(({ classList }) => classList.contains("beyond"))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
  const button = document.querySelector<HTMLElement>("th button")!;
  button.click();
  expect(texts()).toEqual(["1,000 ms", "8 ms", "4 ms", "2.0 ms", "–"]);
  expect(document.querySelector("th[aria-sort]")!.getAttribute("aria-sort")).toBe("descending");
  button.click();
  expect(texts()).toEqual(["2.0 ms", "4 ms", "8 ms", "1,000 ms", "–"]);
  button.click();
  expect(texts()).toEqual(before);
});

it("draws numbers that words follow, and none that a number follows", () => {
  const { cells } = drawnTable(["add", "1.5 adjacent, store"], ["sum", "3 half-subgroup"], ["exp", "2"]);
  expect(cells().map(({ style }) => style.getPropertyValue("--share"))).toEqual(["50.0%", "100.0%", "66.7%"]);
  const { document } = drawnTable(["add", "1 of 9"], ["sum", "0 of 7"], ["exp", "3 of 5"]);
  expect(document.querySelector(".bar")).toBe(null);
});

it("leaves tables of words, of few numbers and of several units alone", () => {
  for (const measured of [
    ["a", "b", "c"],
    ["1", "2", "many"],
    ["1 ms", "2 s", "3 %"],
  ]) {
    const { document } = drawnTable(...measured.map((each) => ["add", each] as const));
    expect(document.querySelector(".measured, .bar, button")).toBe(null);
  }
});

it("scales bars without outliers", () => {
  expect(scaleOf([1, 2, 3, 4, 1000])).toBe(4);
  expect(scaleOf([1, 2, 3])).toBe(3);
});
