/** The verdict on the device of this machine, kernel by kernel. */
import type { KernelCase } from "belay-gpu/qualify";
import { adapterHere } from "../page/adapter.ts";
import { button, choice, element } from "../page/element.ts";
import { counted, duration } from "../page/numbers.ts";
import type { ShownView } from "../page/shownView.ts";
import { readState, writeState } from "../page/state.ts";
import { verdictLine } from "../page/verdict.ts";
import { type DeviceTrial, type RecordedTrials, tryDevice } from "./deviceTrial.ts";
import { type Driver, drivers } from "./drivers.ts";

const outcomes: Readonly<Record<KernelCase["outcome"], readonly [text: string, kind: string]>> = {
  agrees: ["agrees", "ok"],
  differs: ["differs", "bad"],
  failed: ["failed", "bad"],
  undecided: ["undecided", "open"],
  "not-checked": ["not checked", "open"],
};

/** Shows the view. */
export async function show(place: HTMLElement): Promise<ShownView> {
  const adapter = await adapterHere();
  const recorded =
    "missing" in adapter
      ? ((await import("../recorded/device.json")).default as unknown as RecordedTrials)
      : undefined;
  let driver = drivers.find(({ name }) => name === readState().driver) ?? drivers[0];
  let running: AbortController | undefined;

  const { line: verdict, tell } = verdictLine();
  const advice = element("p", { className: "remark" });
  const kernels = element("ol", { className: "cases", ariaLabel: "Tried kernels" });
  const conclude = ({ verdict: found, without, cases, milliseconds }: DeviceTrial) => {
    kernels.replaceChildren(...[...cases].sort(wrongFirst).map(row));
    const count = (outcome: string) => cases.filter((each) => each.outcome === outcome).length;
    const summary = `${count("agrees")} of ${counted(cases.length, "kernel")} agree with the specification`;
    if (found === "usable") tell(`Usable: ${summary}.`, "ok");
    else if (found === "usable-without") tell(`Usable without ${without.join(", ")}: ${summary}.`, "open");
    else tell(`Not usable: ${summary}.`, "bad");
    advice.textContent = `${adviceOn[found]} The trial took ${duration(milliseconds)}.`;
  };
  const tryIt = async () => {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    kernels.replaceChildren();
    advice.textContent = "";
    place.setAttribute("aria-busy", "true");
    tell("Compiling the kernels …");
    let done = 0;
    try {
      const trial =
        recorded?.trials[driver.name] ??
        (await tryDevice(driver, mine.signal, (kernel, total) => {
          tell(`Tried ${++done} of ${total} kernels …`);
          kernels.append(row(kernel));
        }));
      if (!mine.signal.aborted) conclude(trial);
    } catch (error) {
      if (!mine.signal.aborted) tell((error as Error).message, "bad");
    } finally {
      if (running === mine) place.removeAttribute("aria-busy");
    }
  };

  const picker = choice(
    "Driver",
    drivers.map(({ name, title }) => [name, title] as const),
    driver.name,
    (value) => {
      driver = drivers.find(({ name }) => name === value) as Driver;
      writeState({ driver: value });
      void tryIt();
    },
  );
  place.replaceChildren(
    element("h1", {}, "Qualify this device"),
    element(
      "p",
      { className: "lead" },
      "Replicas agree on the mistakes of a driver. So each kernel also runs on the CPU, by the WGSL specification, and all words are compared. Four kernels are those of this playground.",
    ),
    recorded
      ? element(
          "p",
          { className: "notice" },
          `${"missing" in adapter ? adapter.missing : ""} This page shows trials recorded on ${recorded.adapter} (${recorded.date}).`,
        )
      : "",
    element(
      "div",
      { className: "controls" },
      picker,
      element(
        "div",
        { className: "buttons" },
        button("Try it again", () => void tryIt(), { className: "main" }),
      ),
    ),
    verdict,
    advice,
    kernels,
  );
  void tryIt();
  return { close: () => running?.abort() };
}

const adviceOn: Readonly<Record<DeviceTrial["verdict"], string>> = {
  usable: "A program can use the device.",
  "usable-without": "A program can use the device for kernels that do not need what is named.",
  "not-usable": "A program takes another adapter, or computes on the CPU.",
};

/** Orders kernels that count against the device before the others. */
function wrongFirst(a: KernelCase, b: KernelCase): number {
  const isWrong = ({ outcome }: KernelCase) => Number(outcomes[outcome][1] === "bad");
  return isWrong(b) - isWrong(a);
}

function row({ name, outcome, words, needs, reason, wrong }: KernelCase): HTMLLIElement {
  const [text, kind] = outcomes[outcome];
  const others = wrong && wrong.wrong > 1 ? `, and ${counted(wrong.wrong - 1, "more word")} wrong` : "";
  const told = outcome === "agrees" ? `${words.toLocaleString("en-US")} words` : `${reason}${others}`;
  return element(
    "li",
    { className: outcome },
    element("b", { className: kind }, text),
    element("span", {}, name, needs.length > 0 ? element("small", {}, ` needs ${needs.join(", ")}`) : ""),
    element("span", { className: "told" }, told),
  );
}
