/** A kernel beside its protected form, its result, and faults injected into it. */
import type { ProtectOptions } from "belay-gpu";
import { adapterHere, newDevice } from "../page/adapter.ts";
import { button, choice, element } from "../page/element.ts";
import { counted, duration, wordAsText } from "../page/numbers.ts";
import type { ShownView } from "../page/shownView.ts";
import { packText, readState, unpackText, writeState } from "../page/state.ts";
import { verdictLine } from "../page/verdict.ts";
import { correspond } from "./correspondence.ts";
import { examples } from "./examples.ts";
import { Machine } from "./machine.ts";
import { drawnPicture } from "./picture.ts";
import { type RecordedKernel, Recording } from "./recorded.ts";
import type { CleanRun, KernelCost, KernelProtection, KernelResults, StruckRun } from "./results.ts";
import { invocationAt, type Runnable, readRunnable } from "./runnable.ts";
import { sourcePanes } from "./sourcePanes.ts";
import { strikeControls } from "./strikeControls.ts";

const options = {
  redundancy: [
    ["auto", "automatic"],
    ["intra+lds", "intra+lds"],
    ["intra-lds", "intra-lds"],
    ["inter", "inter"],
    ["none", "off"],
  ],
  check: [
    ["store", "before each store"],
    ["signature", "once, by a hash"],
  ],
  memory: [
    ["none", "none"],
    ["secded128", "secded128"],
    ["secded32", "secded32"],
    ["detect", "detect"],
    ["checksum", "checksum"],
  ],
  onFault: [
    ["recover", "run again"],
    ["throw", "refuse"],
    ["report", "only report"],
  ],
} as const satisfies {
  readonly [Name in keyof KernelProtection]: readonly (readonly [KernelProtection[Name] & string, string])[];
};

const labels = {
  redundancy: "Redundancy",
  check: "Compare",
  memory: "Memory code",
  onFault: "After a fault",
};

function protectionFrom(state: Readonly<Record<string, string | undefined>>): KernelProtection {
  const chosen = Object.entries(options).map(([name, values]) => {
    const given = values.find(([value]) => value === state[name]) ?? values[0];
    return [name, given[0]];
  });
  return Object.fromEntries(chosen) as unknown as KernelProtection;
}

/** Shows the view. */
export async function show(place: HTMLElement): Promise<ShownView> {
  const state = readState();
  const own = state.source === undefined ? undefined : await unpackText(state.source);
  const adapter = await adapterHere();
  let source = own ?? (examples.find(({ name }) => name === state.example) ?? examples[0]).source;
  let protection = protectionFrom(state);
  let runnable: Runnable | undefined;
  let clean: CleanRun | undefined;
  let recorded: RecordedKernel | undefined;
  let results: KernelResults | undefined;
  let device: Pick<GPUDevice, "features" | "limits"> | undefined;
  let isClosed = false;

  if ("missing" in adapter) {
    recorded = (await import("../recorded/kernel.json")).default as unknown as RecordedKernel;
    results = new Recording(recorded);
  } else results = new Machine();

  const panes = sourcePanes(source, (edited) => {
    source = edited;
    picker.value = "own";
    scheduleProtect();
    void packText(edited).then((packed) => writeState({ example: undefined, source: packed }));
  });
  const picker = element(
    "select",
    {
      on: {
        change: () => {
          const example = examples.find(({ name }) => name === picker.value);
          if (!example) return;
          source = example.source;
          panes.setSource(source);
          writeState({ example: example.name, source: undefined });
          protectNow();
          void run();
        },
      },
    },
    ...examples.map(({ name, title }) => element("option", { value: name }, title)),
    element("option", { value: "own" }, "your own text"),
  );
  picker.value = own === undefined ? (examples.find((each) => each.source === source)?.name ?? "own") : "own";

  const controls = Object.entries(options).map(([name, values]) =>
    choice(
      labels[name as keyof KernelProtection],
      values,
      protection[name as keyof KernelProtection],
      (value) => {
        protection = { ...protection, [name]: value };
        writeState({ [name]: value });
        clean = undefined;
        protectNow();
        void run();
      },
    ),
  );

  const picture = drawnPicture((pixel) => {
    writeState({ pixel: String(pixel) });
    void strike();
  });
  const strikes = strikeControls(state, ({ bit, replica, permanent }) =>
    writeState({ bit: String(bit), replica: String(replica), permanent: permanent ? "true" : undefined }),
  );
  const { line: verdict, tell } = verdictLine();
  const log = element("ol", { className: "log" });
  const cost = element("p", { className: "cost", aria: { live: "polite" } }, notMeasured);
  const runButton = button("Run", () => void run(), { className: "main" });
  const strikeButton = button("Strike", () => void strike(), { className: "main strike" });
  const costButton = button("Measure", () => void measure());
  const buttons = [runButton, strikeButton, costButton];

  let scheduled: ReturnType<typeof setTimeout> | undefined;
  function scheduleProtect(): void {
    clearTimeout(scheduled);
    scheduled = setTimeout(protectNow, 120);
  }
  function protectNow(): void {
    clearTimeout(scheduled);
    const read = readRunnable(source);
    runnable = read.runnable;
    clean = undefined;
    const { redundancy, check, memory } = protection;
    const about: ProtectOptions = {
      redundancy,
      check,
      ...(memory !== "none" && { memory }),
      ...aboutDevice(device),
    } as ProtectOptions;
    const made = correspond(source, about);
    const isBroken = made.diagnostics.some(({ severity }) => severity === "error");
    panes.show(made, isBroken ? made.diagnostics : [...read.problems, ...made.diagnostics]);
    panes.markFault(undefined);
    if (recorded && !isRecorded(recorded, source, protection)) runnable = undefined;
    for (const each of buttons) each.disabled = runnable === undefined;
    if (recorded) costButton.disabled = true;
    log.replaceChildren();
    cost.textContent = notMeasured;
    picture.draw(runnable?.picture ?? { name: "no result", width: 64, height: 64, isFloat: true }, null);
    if (!runnable)
      tell(isBroken ? "The kernel has an error." : "The playground cannot run this kernel.", "open");
  }

  /** Runs one task at a time. The latest waits for the one that runs. */
  let turn = Promise.resolve();
  function inTurn(task: (runnable: Runnable, results: KernelResults) => Promise<void>): Promise<void> {
    turn = turn.then(async () => {
      if (!runnable || !results || isClosed) return;
      place.setAttribute("aria-busy", "true");
      try {
        await task(runnable, results);
      } catch (error) {
        tell(error instanceof Error ? error.message : String(error), "bad");
      } finally {
        place.removeAttribute("aria-busy");
      }
    });
    return turn;
  }

  const run = () =>
    inTurn(async (runnable, results) => {
      tell("Compiling and running …");
      clean = await results.run(runnable, protection);
      strikes.offer(runnable.source, clean.sites);
      picture.draw(runnable.picture, clean.words);
      panes.markFault(undefined);
      log.replaceChildren();
      tell(
        protection.redundancy === "none"
          ? "The result, unverified: protection is off. Click a pixel to strike its invocation."
          : "The result, verified. Click a pixel to strike its invocation.",
        protection.redundancy === "none" ? "open" : "ok",
      );
    });

  const strike = () =>
    inTurn(async (runnable, results) => {
      clean ??= await results.run(runnable, protection);
      strikes.offer(runnable.source, clean.sites);
      const { site, bit, permanent } = strikes.choices;
      // A kernel without protection has one execution of each invocation.
      const replica = protection.redundancy === "none" ? 0 : strikes.choices.replica;
      const pixel = recorded ? recorded.fault.pixel : picture.pixel;
      const invocation = invocationAt(runnable, pixel);
      if (site === undefined || !invocation) return tell("There is no invocation with this index.", "open");
      picture.choose(pixel);
      tell("Striking …");
      const struck = await results.strike(runnable, protection, { site, bit, replica, permanent, pixel });
      picture.draw(runnable.picture, struck.words, clean.words);
      panes.markFault(struck.heard.findLast(({ line }) => line !== undefined)?.line);
      log.replaceChildren(...logOf(runnable, struck));
      tell(...verdictOn(struck, clean.words, protection));
    });

  const measure = () =>
    inTurn(async (runnable, results) => {
      cost.textContent = "Measuring …";
      const measured = await results.measure(runnable, protection);
      cost.textContent = measured
        ? describeCost(measured, "isSoftware" in adapter && adapter.isSoftware)
        : notMeasured;
    });

  const notice = recorded
    ? element(
        "p",
        { className: "notice" },
        `${"missing" in adapter ? adapter.missing : ""} This page shows a run recorded on ${recorded.adapter} (${recorded.date}). The compiler runs here.`,
      )
    : "";

  place.replaceChildren(
    element("h1", {}, "Break a GPU computation on purpose"),
    element(
      "p",
      { className: "lead" },
      "Belay runs each invocation of a kernel twice and compares what leaves it. Strike one value, and see what becomes of it.",
    ),
    notice,
    element(
      "div",
      { className: "controls" },
      element("label", { className: "choice" }, element("span", {}, "Kernel"), picker),
      ...controls,
    ),
    panes.place,
    element(
      "div",
      { className: "stage" },
      picture.place,
      element(
        "section",
        { className: "panel" },
        element("div", { className: "buttons" }, runButton, strikeButton),
        verdict,
        strikes.place,
        log,
      ),
    ),
    element(
      "section",
      { className: "panel" },
      element("header", {}, element("h2", {}, "What it costs here"), costButton),
      cost,
    ),
    help(),
  );
  if (state.pixel !== undefined) picture.choose(Number(state.pixel) || 0);
  protectNow();
  if (!recorded) {
    const made = await newDevice();
    device = { features: new Set(made.features), limits: made.limits };
    made.destroy();
    protectNow();
  }
  picture.choose(Number(state.pixel ?? recorded?.fault.pixel ?? 2079) || 0);
  void run();
  return {
    close() {
      isClosed = true;
      clearTimeout(scheduled);
      results?.close();
    },
  };
}

/** Returns true if a recording has the runs of a source under a protection, or without any. */
function isRecorded(
  { example, protection: known }: RecordedKernel,
  source: string,
  asked: KernelProtection,
): boolean {
  const isExample = examples.some((each) => each.name === example && each.source === source);
  return (
    isExample &&
    Object.entries(asked).every(
      ([name, value]) => value === known[name as keyof KernelProtection] || value === "none",
    )
  );
}

function aboutDevice(
  device: Pick<GPUDevice, "features" | "limits"> | undefined,
): Pick<ProtectOptions, "features" | "limits"> {
  if (!device) return {};
  const {
    maxComputeInvocationsPerWorkgroup,
    maxComputeWorkgroupSizeX,
    maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage,
    maxBindGroups,
  } = device.limits;
  return {
    features: [...device.features],
    limits: {
      maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX,
      maxComputeWorkgroupStorageSize,
      maxStorageBuffersPerShaderStage,
      maxBindGroups,
    },
  };
}

function logOf({ picture }: Runnable, { struck, heard }: StruckRun): HTMLElement[] {
  const first = struck
    ? `one bit flipped: ${wordAsText(struck.before, picture.isFloat)} became ${wordAsText(struck.after, picture.isFloat)}`
    : "the invocation does not execute this value";
  return [{ type: "strike", message: first }, ...heard].map(({ type, message }) =>
    element("li", { className: type }, element("b", {}, type), ` ${message}`),
  );
}

function verdictOn(
  { words, struck, heard }: StruckRun,
  right: Uint32Array,
  { redundancy }: KernelProtection,
): [string, "ok" | "bad" | "open"] {
  if (!struck) return ["Nothing was struck: the invocation does not execute this value.", "open"];
  if (words === null) return ["Caught. The result was refused: the program reads nothing wrong.", "ok"];
  const wrong = words.reduce((count, word, at) => count + Number(word !== right[at]), 0);
  const faults = heard.filter(({ type }) => type === "fault").length;
  if (faults > 0 && wrong === 0) return ["Caught and recovered. The program reads the right result.", "ok"];
  if (faults > 0) return [`Caught and reported, as asked: ${counted(wrong, "word")} wrong.`, "open"];
  if (wrong === 0) return ["The fault changed nothing that the program reads.", "open"];
  const why = redundancy === "none" ? "Nobody noticed: protection is off." : "It was not noticed.";
  return [`${counted(wrong, "word")} of the result wrong. ${why}`, "bad"];
}

const notMeasured = "Not measured yet.";

function describeCost(
  { plain, protected: hardened, rounds, dispatches }: KernelCost,
  isSoftware: boolean,
): string {
  const ratio = (hardened / plain).toFixed(2);
  const note = isSoftware ? " A software adapter: its times say nothing about a GPU." : "";
  return `${ratio} times the plain kernel: ${duration(plain)} plain, ${duration(hardened)} protected, from the call to the result. Medians of ${rounds} alternations with ${dispatches} dispatches each.${note}`;
}

function help(): HTMLElement {
  const rows = [
    ["//! dispatch 8 8", "the workgroups to dispatch"],
    ["//! show b 64 64", "the buffer to draw, with its width and height"],
    ["//! fill a waves", "the contents of a buffer: waves, noise, ramp, zero, or numbers"],
    ["//! size a 4096", "the elements of an array without a size"],
  ] as const;
  return element(
    "details",
    { className: "help" },
    element("summary", {}, "Your own kernel"),
    element(
      "p",
      {},
      "Write over the text above. Its comments say how to run it; the address of the page keeps it.",
    ),
    element(
      "dl",
      {},
      ...rows.flatMap(([code, text]) => [
        element("dt", {}, element("code", {}, code)),
        element("dd", {}, text),
      ]),
    ),
  );
}
