/** A buffer as a grid of bits, which can be flipped, and what the next use of it reads. */
import { correspond } from "../kernel/correspondence.ts";
import { highlightLine } from "../kernel/highlight.ts";
import { adapterHere } from "../page/adapter.ts";
import { button, choice, element } from "../page/element.ts";
import { counted } from "../page/numbers.ts";
import type { ShownView } from "../page/shownView.ts";
import { readState, writeState } from "../page/state.ts";
import { verdictLine } from "../page/verdict.ts";
import { bitGrid } from "./bitGrid.ts";
import { MemoryMachine } from "./memoryMachine.ts";
import { type BufferCode, contents, type MemoryResults } from "./memoryResults.ts";
import { MemoryRecording, type RecordedMemory } from "./recordedMemory.ts";
import kernel from "./use.wgsl?raw";

/** The codes to choose from, with the number of words that share check words. */
const codes: Readonly<Record<string, { readonly title: string; readonly granule: number }>> = {
  secded128: { title: "secded128: corrects one bit in 128", granule: 4 },
  secded32: { title: "secded32: corrects one bit in 32", granule: 1 },
  detect: { title: "detect: detects two bits in 128", granule: 4 },
  checksum: { title: "checksum: detects one word of a buffer", granule: 16 },
  none: { title: "none", granule: 16 },
};

/** Shows the view. */
export async function show(place: HTMLElement): Promise<ShownView> {
  const adapter = await adapterHere();
  let recorded: RecordedMemory | undefined;
  let results: MemoryResults;
  if ("missing" in adapter) {
    recorded = (await import("../recorded/memory.json")).default as unknown as RecordedMemory;
    results = new MemoryRecording(recorded);
  } else results = new MemoryMachine();

  const asked = readState().memory ?? "secded128";
  let code = (recorded?.code ?? (codes[asked] ? asked : "secded128")) as BufferCode;
  const { line: verdict, tell } = verdictLine();
  const log = element("ol", { className: "log" });
  const grid = bitGrid((flip) =>
    inTurn(async () => {
      const flipped = results.flip(flip);
      grid.flip(flipped);
      tell(`${counted(grid.flipped, "bit")} flipped at rest. The program does not know yet.`, "open");
    }),
  );
  let turn = Promise.resolve();
  const inTurn = (task: () => Promise<void>) => {
    turn = turn.then(task).catch((error: Error) => tell(error.message, "bad"));
    return turn;
  };
  const write = () =>
    inTurn(async () => {
      tell("Writing the buffer …");
      await results.write(code, contents);
      grid.draw(contents, codes[code]!.granule);
      log.replaceChildren();
      drawKernel();
      tell("The buffer is intact. Click a bit to flip it.");
    });
  const use = () =>
    inTurn(async () => {
      tell("Running a kernel that loads the buffer …");
      const { words, heard } = await results.use();
      log.replaceChildren(
        ...heard.map(({ type, message }) =>
          element("li", { className: type }, element("b", {}, type), ` ${message}`),
        ),
      );
      const wrong = words?.filter((word, at) => word !== contents[at]).length ?? 0;
      const flipped = grid.flipped;
      if (words) grid.settle(words);
      else grid.refuse();
      if (words === null) tell("Detected, and more than the code corrects. The read was refused.", "ok");
      else if (wrong > 0) tell(`The program read ${counted(wrong, "wrong word")}. Nobody noticed.`, "bad");
      else if (flipped > 0 && heard.length > 0)
        tell("Found and corrected. The program read the right words.", "ok");
      else if (flipped > 0) tell("The program read the right words.", "ok");
      else tell("Nothing was flipped, and the program read the right words.", "ok");
    });
  const output = element("pre", {
    className: "code",
    tabIndex: 0,
    aria: { label: "The kernel, with its checks" },
  });
  const drawKernel = () => {
    const { lines } = correspond(kernel, { redundancy: "none", ...(code !== "none" && { memory: code }) });
    output.replaceChildren(
      ...lines.map(({ text, origin }, line) =>
        element(
          "span",
          { className: `line ${origin}`, data: { line: String(line + 1) } },
          ...highlightLine(text),
          "\n",
        ),
      ),
    );
  };

  const picker = choice(
    "Code",
    Object.entries(codes).map(([name, { title }]) => [name, title] as const),
    code,
    (value) => {
      code = value as BufferCode;
      writeState({ memory: value });
      void write();
    },
  );
  const notice = recorded
    ? element(
        "p",
        { className: "notice" },
        `${"missing" in adapter ? adapter.missing : ""} This page shows flips recorded on ${recorded.adapter} (${recorded.date}).`,
      )
    : "";
  if (recorded) picker.querySelector("select")!.disabled = true;
  place.replaceChildren(
    element("h1", {}, "Flip bits in a buffer"),
    element(
      "p",
      { className: "lead" },
      "A row is a word of 32 bits. Words in one block share check words. The next kernel that loads the buffer finds flipped bits.",
    ),
    notice,
    element(
      "div",
      { className: "controls" },
      picker,
      element(
        "div",
        { className: "buttons" },
        button("Use the buffer", () => void use(), { className: "main" }),
        button("Write it again", () => void write()),
      ),
    ),
    verdict,
    element(
      "div",
      { className: "panes" },
      grid.place,
      element(
        "section",
        { className: "pane" },
        element("header", {}, element("h2", {}, "The kernel, with its checks")),
        output,
      ),
    ),
    log,
  );
  grid.draw(contents, codes[code]!.granule);
  await write();
  return { close: () => results.close() };
}
