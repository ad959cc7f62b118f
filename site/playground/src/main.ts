/** The playground: one view at a time, chosen by the address. */
import { adapterHere, describeAdapter } from "./page/adapter.ts";
import type { ShownView } from "./page/shownView.ts";
import { readState, stateChanged, type View } from "./page/state.ts";

const views: Readonly<Record<View, () => Promise<{ show(place: HTMLElement): Promise<ShownView> }>>> = {
  kernel: () => import("./kernel/kernelView.ts"),
  memory: () => import("./memory/memoryView.ts"),
  loop: () => import("./loop/loopView.ts"),
  device: () => import("./device/deviceView.ts"),
};

const place = document.querySelector<HTMLElement>("#view")!;
const tabs = [...document.querySelectorAll<HTMLElement>("[role=tab]")];
let shown: ShownView | undefined;
let name: View | undefined;
let turn = Promise.resolve();

async function showView(): Promise<void> {
  const { view } = readState();
  if (view === name) return;
  name = view;
  shown?.close();
  for (const tab of tabs) {
    const isChosen = tab.id === `tab-${view}`;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) place.setAttribute("aria-labelledby", tab.id);
  }
  const { show } = await views[view]();
  shown = await show(place);
}

const showInTurn = () => {
  turn = turn.then(showView);
};

for (const [place, tab] of tabs.entries())
  tab.addEventListener("keydown", ({ key }) => {
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(place + step + tabs.length) % tabs.length]!;
    if (step === 0) return;
    next.focus();
    next.click();
  });
addEventListener("hashchange", showInTurn);
stateChanged.addEventListener("view", showInTurn);
showInTurn();
document.querySelector("#adapter")!.textContent = describeAdapter(await adapterHere());
