import type { LaunchedChromium } from "./chromium.ts";
import { takePicture } from "./picture.ts";

/**
 * Opens a report's page `width` pixels wide and returns what does not fit: a page or a table that
 * is wider. Texts of figures do not fit if they are cut off, overlap, or have no size.
 * With `BELAY_PICTURES` set to a folder, it leaves a picture there.
 */
export async function misfitsOf(
  { newPage }: LaunchedChromium,
  html: string,
  name: string,
  width: number,
): Promise<string[]> {
  const page = await newPage({ viewport: { width, height: 900 } });
  await page.setContent(html);
  await takePicture(page, `${name}-${width}`);
  const misfits = await page.evaluate(() => {
    const scrolling = [...document.querySelectorAll(".scroll")];
    const wide = [document.documentElement, ...scrolling].flatMap(({ tagName, scrollWidth, clientWidth }) =>
      scrollWidth > clientWidth ? [`${tagName} is ${scrollWidth} wide, not ${clientWidth}`] : [],
    );
    // The box of a text is higher than its letters, by up to two pixels at each end.
    const slack = 2;
    // Each figure is drawn for wide and for narrow screens, and one of both is visible.
    const drawings = [...document.querySelectorAll("figure svg")].filter((each) => each.checkVisibility());
    const figures = drawings.flatMap((figure) => {
      const frame = figure.getBoundingClientRect();
      const texts = [...figure.querySelectorAll("text")].map((text) => ({
        text: text.textContent,
        box: text.getBoundingClientRect(),
      }));
      const cut = texts.filter(
        ({ box }) =>
          box.left < frame.left ||
          box.right > frame.right ||
          box.top + slack < frame.top ||
          box.bottom - slack > frame.bottom,
      );
      const overlapping = texts.flatMap((one, i) =>
        texts
          .slice(i + 1)
          .filter(
            ({ box }) =>
              box.left < one.box.right &&
              one.box.left < box.right &&
              box.top + slack < one.box.bottom - slack &&
              one.box.top + slack < box.bottom - slack,
          )
          .map(({ text }) => `${one.text} overlaps ${text}`),
      );
      // A browser without a font draws no text, which then fits everywhere.
      const unseen = texts.filter(({ box }) => box.width === 0);
      return [
        ...unseen.map(({ text }) => `${text} has no size`),
        ...cut.map(({ text }) => `${text} is cut off`),
        ...overlapping,
      ];
    });
    return [
      ...(document.querySelector(".scroll table") === null ? ["there is no table"] : []),
      ...wide,
      ...figures,
    ];
  });
  await page.close();
  return misfits;
}
