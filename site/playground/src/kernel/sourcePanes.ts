/** A source with an editor, and its protected form beside it. */
import { element } from "../page/element.ts";
import { counted } from "../page/numbers.ts";
import { type Correspondence, lineFinder } from "./correspondence.ts";
import { highlightLine } from "./highlight.ts";
import type { SourceProblem } from "./runnable.ts";

/** The two panes. */
export interface SourcePanes {
  readonly place: HTMLElement;
  /** Shows another source in the editor. */
  setSource(source: string): void;
  /** Shows the protected form of the source that the editor has. */
  show(correspondence: Correspondence, problems: readonly SourceProblem[]): void;
  /** Marks the line of the source that a fault was found in, counted from 1, or none. */
  markFault(line: number | undefined): void;
}

/** Creates the panes. `edited` is called with the source after each change. */
export function sourcePanes(source: string, edited: (source: string) => void): SourcePanes {
  const editor = element("textarea", {
    className: "code",
    spellcheck: false,
    autocapitalize: "off",
    wrap: "off",
    value: source,
    aria: { label: "Source of the kernel" },
  });
  const backdrop = element("pre", { className: "code", ariaHidden: "true" });
  const sheet = element("div", { className: "sheet" }, backdrop, editor);
  const output = element("pre", { className: "code", tabIndex: 0, aria: { label: "Protected kernel" } });
  const remark = element("p", { className: "remark", aria: { live: "polite" } });
  const problemList = element("ul", { className: "problems", id: "problems" });
  let shown: Correspondence = { lines: [], diagnostics: [], checks: [], entryPoints: [] };
  let problems: readonly SourceProblem[] = [];
  let faultLine: number | undefined;

  const drawSource = () => {
    const lineOf = lineFinder(editor.value);
    const broken = new Map(problems.map(({ span, severity }) => [lineOf(span.start), severity]));
    const stores = new Set(shown.checks.map(({ span }) => lineOf(span.start)));
    const lines = editor.value.split("\n").map((text, line) => {
      const classes = [
        "line",
        broken.get(line) ?? "",
        stores.has(line) ? "checked" : "",
        line === faultLine ? "fault" : "",
      ];
      return element(
        "span",
        { className: classes.filter(Boolean).join(" "), data: { line: String(line + 1) } },
        ...highlightLine(text),
        "\n",
      );
    });
    backdrop.replaceChildren(...lines);
    editor.style.height = `${backdrop.scrollHeight}px`;
    editor.style.width = `${backdrop.scrollWidth}px`;
  };

  const drawProblems = () => {
    const lineOf = lineFinder(editor.value);
    const items = problems.map(({ severity, code, message, span, help }) => {
      const line = lineOf(span.start) + 1;
      const column = span.start - editor.value.lastIndexOf("\n", span.start - 1);
      const go = () => {
        editor.focus();
        editor.setSelectionRange(span.start, Math.max(span.end, span.start));
      };
      const where = element(
        "button",
        { type: "button", className: "where", on: { click: go } },
        `line ${line}, column ${column}`,
      );
      const text = `${message}${help ? `. Help: ${help}` : ""}`;
      return element("li", { className: severity }, where, ` ${code ?? "playground"}: ${text}`);
    });
    problemList.replaceChildren(...items);
  };

  /** Highlights a line of the source, and all lines that come from it. */
  const point = (sourceLines: readonly number[], from: "source" | "output") => {
    for (const line of backdrop.children)
      line.classList.toggle("pointed", sourceLines.includes(Number((line as HTMLElement).dataset.line) - 1));
    const rows = [...output.children];
    const related = shown.lines.map((line) => line.from.some((each) => sourceLines.includes(each)));
    for (const [place, row] of rows.entries()) row.classList.toggle("pointed", related[place] ?? false);
    const target = from === "source" ? rows[related.indexOf(true)] : backdrop.children[sourceLines[0] ?? -1];
    const scroller = from === "source" ? output : sheet;
    if (target instanceof HTMLElement && !isVisible(target, scroller))
      scroller.scrollTop = target.offsetTop - scroller.clientHeight / 3;
    remark.textContent = remarkOn(sourceLines, related.filter(Boolean).length);
  };

  const remarkOn = (sourceLines: readonly number[], count: number): string => {
    const [line] = sourceLines;
    if (line === undefined) return hint;
    const lineOf = lineFinder(editor.value);
    const check = shown.checks.find(({ span }) => lineOf(span.start) === line);
    const becomes = `Line ${line + 1} becomes ${counted(count, "line")}.`;
    if (!check) return becomes;
    if (check.kind === "signature")
      return `${becomes} Before it ends, both replicas compare the hashes of all that they store.`;
    return check.scalar === "hash"
      ? `${becomes} Both replicas add this store of ${check.name} to their hashes.`
      : `${becomes} Both replicas compare address and value of this store of ${check.name}.`;
  };

  const lineAt = (event: MouseEvent) => {
    const { top } = backdrop.getBoundingClientRect();
    const height = backdrop.firstElementChild?.getBoundingClientRect().height ?? 20;
    return Math.floor(
      (event.clientY - top - Number.parseFloat(getComputedStyle(backdrop).paddingTop)) / height,
    );
  };

  editor.addEventListener("input", () => {
    drawSource();
    edited(editor.value);
  });
  editor.addEventListener("mousemove", (event) => point([lineAt(event)], "source"));
  for (const type of ["keyup", "click"])
    editor.addEventListener(type, () => point([lineFinder(editor.value)(editor.selectionStart)], "source"));
  editor.addEventListener("keydown", (event) => {
    // The key Escape leaves the editor, in which the tabulator indents.
    if (event.key === "Escape") output.focus();
    if (event.key !== "Tab" || event.shiftKey) return;
    event.preventDefault();
    editor.setRangeText("  ", editor.selectionStart, editor.selectionEnd, "end");
    editor.dispatchEvent(new Event("input"));
  });
  output.addEventListener("mousemove", ({ target }) => {
    const row = (target as HTMLElement).closest<HTMLElement>(".line");
    if (row) point(shown.lines[Number(row.dataset.line) - 1]?.from ?? [], "output");
  });

  const pane = (title: string, note: HTMLElement, body: HTMLElement) =>
    element("section", { className: "pane" }, element("header", {}, element("h2", {}, title), note), body);
  const sourceNote = element("p", {});
  const outputNote = element("p", {});
  const place = element(
    "div",
    { className: "panes" },
    pane("Your kernel", sourceNote, sheet),
    pane("Protected", outputNote, output),
    problemList,
    remark,
  );
  remark.textContent = hint;
  drawSource();
  return {
    place,
    setSource(text) {
      editor.value = text;
      faultLine = undefined;
      drawSource();
    },
    show(correspondence, found) {
      shown = correspondence;
      problems = found;
      drawSource();
      drawProblems();
      sourceNote.textContent = counted(editor.value.trimEnd().split("\n").length, "line");
      outputNote.textContent = outputSummary(correspondence);
      const rows = correspondence.lines.map(({ text, origin }, line) =>
        element(
          "span",
          { className: `line ${origin}`, data: { line: String(line + 1) } },
          ...highlightLine(text),
          "\n",
        ),
      );
      output.replaceChildren(...rows);
    },
    markFault(line) {
      faultLine = line === undefined ? undefined : line - 1;
      drawSource();
    },
  };
}

const hint = "Point at a line to see what becomes of it.";

function outputSummary({ lines, entryPoints }: Correspondence): string {
  const flavors = [...new Set(entryPoints.map(({ redundancy }) => redundancy))].join(", ");
  return `${counted(lines.length, "line")}${flavors ? `, ${flavors}` : ""}`;
}

function isVisible(target: HTMLElement, scroller: HTMLElement): boolean {
  const top = target.offsetTop - scroller.scrollTop;
  return top >= 0 && top + target.offsetHeight <= scroller.clientHeight;
}
