/** A sequential loop, the kernels that it becomes, and its rounds on the GPU. */
import { highlightLine } from "../kernel/highlight.ts";
import { adapterHere } from "../page/adapter.ts";
import { button, choice, element } from "../page/element.ts";
import { counted } from "../page/numbers.ts";
import type { ShownView } from "../page/shownView.ts";
import { readState, writeState } from "../page/state.ts";
import { verdictLine } from "../page/verdict.ts";
import { loopExamples } from "./loopExamples.ts";
import { executeLoop, type ObservedLoop, type RecordedLoops } from "./loopResults.ts";
import type { Round } from "./roundTrace.ts";

const iterations = 256;
const stepMs = 900;

/** Shows the view. */
export async function show(place: HTMLElement): Promise<ShownView> {
  const adapter = await adapterHere();
  const recorded =
    "missing" in adapter
      ? ((await import("../recorded/loops.json")).default as unknown as RecordedLoops)
      : undefined;
  let example = loopExamples.find(({ name }) => name === readState().loop) ?? loopExamples[0];
  let executed: ObservedLoop | undefined;
  let round = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isClosed = false;

  const source = element("pre", { className: "code", tabIndex: 0, aria: { label: "Source of the loop" } });
  const kernels = element("div", { className: "kernels" });
  const cells = Array.from({ length: iterations }, (_, n) => element("i", { title: `iteration ${n}` }));
  const grid = element("div", { className: "iterations", role: "img" }, ...cells);
  const { line: verdict, tell } = verdictLine();
  const slider = element("input", {
    type: "range",
    min: "0",
    value: "0",
    aria: { label: "Round" },
    on: { input: () => goTo(Number(slider.value)) },
  });
  const playButton = button("Play", () => (timer === undefined ? play() : pause()), { className: "main" });
  const caption = element("p", { className: "remark", aria: { live: "polite" } });

  const draw = () => {
    if (!executed) return;
    const { rounds } = executed;
    const committedIn = new Map<number, number>();
    for (const [number, { executed: done }] of rounds.slice(0, round).entries())
      for (const iteration of done) committedIn.set(iteration, number + 1);
    const now: Round | undefined = rounds[round - 1];
    const examined = new Set(now?.examined);
    const isDone = new Set(now?.executed);
    for (const [iteration, cell] of cells.entries()) {
      const number = committedIn.get(iteration);
      const kind = isDone.has(iteration)
        ? "now"
        : examined.has(iteration)
          ? "conflict"
          : number
            ? "done"
            : "";
      cell.className = kind;
      cell.textContent = number ? String(number) : "";
    }
    slider.max = String(rounds.length);
    slider.value = String(round);
    const left = now ? now.examined.length - now.executed.length : 0;
    caption.textContent = now
      ? `Round ${round} of ${rounds.length}, ${now.plan}: ${counted(now.examined.length, "iteration")} examined, ${now.executed.length} executed, ${left === 0 ? "no conflict" : `${left} left to a later round`}.`
      : `${iterations} iterations wait. Rounds: ${rounds.length}.`;
    grid.setAttribute("aria-label", caption.textContent);
  };
  const goTo = (number: number) => {
    round = Math.min(executed?.rounds.length ?? 0, Math.max(0, number));
    draw();
  };
  const pause = () => {
    clearInterval(timer);
    timer = undefined;
    playButton.textContent = "Play";
  };
  const play = () => {
    if (!executed) return;
    if (round >= executed.rounds.length) goTo(0);
    playButton.textContent = "Pause";
    timer = setInterval(() => {
      goTo(round + 1);
      if (round >= executed!.rounds.length) pause();
    }, stepMs);
    goTo(round + 1);
  };

  const stepBy = (count: number) => {
    pause();
    goTo(round + count);
  };

  const drawCode = (text: string) =>
    text
      .split("\n")
      .map((line, n) =>
        element("span", { className: "line", data: { line: String(n + 1) } }, ...highlightLine(line), "\n"),
      );

  const execute = async () => {
    pause();
    executed = undefined;
    tell("Running the loop on the GPU …");
    source.replaceChildren(...drawCode(example.source));
    try {
      const found = recorded ? recorded.loops[example.name]! : await executeLoop(example);
      if (isClosed) return;
      executed = found;
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), "bad");
      return;
    }
    const { rounds, kernels: made, isSequential, plans } = executed;
    const again = rounds.reduce(
      (sum, { examined, executed: done }) => sum + examined.length - done.length,
      0,
    );
    if (isSequential)
      tell(
        `${iterations} iterations in ${counted(rounds.length, "round")} (${plans.join(", then ")}), ${again === 0 ? "none examined twice" : `${again} times an iteration had to wait`}. The result is the sequential one, bit for bit.`,
        "ok",
      );
    else tell("The result differs from the sequential one.", "bad");
    kernels.replaceChildren(
      ...made.map(({ name, code }) =>
        element(
          "details",
          {},
          element("summary", {}, element("code", {}, name), ` ${counted(code.split("\n").length, "line")}`),
          element("pre", { className: "code", tabIndex: 0 }, ...drawCode(code)),
        ),
      ),
    );
    round = 0;
    draw();
    play();
  };

  const notice = recorded
    ? element(
        "p",
        { className: "notice" },
        `${"missing" in adapter ? adapter.missing : ""} This page shows rounds recorded on ${recorded.adapter} (${recorded.date}).`,
      )
    : "";
  place.replaceChildren(
    element("h1", {}, "Run a sequential loop in parallel"),
    element(
      "p",
      { className: "lead" },
      "The GPU examines a window of iterations at once. A check finds those that depend on others of the window, and they wait for a later round.",
    ),
    notice,
    element(
      "div",
      { className: "controls" },
      choice(
        "Loop",
        loopExamples.map(({ name, title }) => [name, title] as const),
        example.name,
        (name) => {
          example = loopExamples.find((each) => each.name === name)!;
          writeState({ loop: name });
          void execute();
        },
      ),
    ),
    verdict,
    element(
      "div",
      { className: "loop-stage" },
      element(
        "section",
        { className: "panel" },
        grid,
        element(
          "ul",
          { className: "legend" },
          element("li", { className: "now" }, "executed now"),
          element("li", { className: "conflict" }, "depends on another: waits"),
          element("li", { className: "done" }, "done, with its round"),
        ),
        element(
          "div",
          { className: "buttons" },
          playButton,
          button("◂", () => stepBy(-1), { title: "Previous round" }),
          button("▸", () => stepBy(1), { title: "Next round" }),
          slider,
        ),
        caption,
      ),
      element("section", { className: "pane" }, element("header", {}, element("h2", {}, "The loop")), source),
    ),
    element(
      "section",
      { className: "pane" },
      element("header", {}, element("h2", {}, "Its kernels")),
      kernels,
    ),
  );
  void execute();
  return {
    close() {
      isClosed = true;
      pause();
    },
  };
}
