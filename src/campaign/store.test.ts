import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { campaignConfigurations } from "./configurations.ts";
import { refuseOther } from "./fingerprint.ts";
import type { ControlRecord, Header, Settings } from "./records.ts";
import { readStore, Store, storePath } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const directory = () => join(folder, String(made++));

const settings: Settings = {
  programs: [{ name: "sum", digest: "1" }],
  configurations: campaignConfigurations({ flavors: ["inter"], checks: ["store"], pairing: "adjacent" }),
  structures: ["ALU"],
  models: ["single-bit"],
  ...{ margin: 0.01, bound: 0.01, minimum: 1, confidence: 0.95, seed: 1 },
};
const header: Header = { kind: "header", version: 1, settings, shard: { index: 0, count: 1 } };
const record = (runs: number): ControlRecord => ({
  ...{ kind: "control", program: "sum", configuration: "none", runs, detections: 0, different: 0 },
});

function filled(at: string, records = 3): string {
  using store = Store.create(at, header);
  for (let i = 0; i < records; i++) store.append(record(i));
  return storePath(at);
}
const runsIn = (at: string) => readStore(at).records.map((each) => (each as ControlRecord).runs);
const codeOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code}: ${message}`;
  }
  return "nothing";
};

describe("a store", () => {
  it("gives back what was put in", () => {
    const at = directory();
    filled(at);
    expect(readStore(at)).toMatchObject({ header, records: [record(0), record(1), record(2)] });
  });

  it.each(['["0', '["00000000",{"kind":"control"}]', '["00000000",{}]\n', "\n"])(
    "leaves out a last line such as %j, and goes on behind the one before",
    (rest) => {
      const at = directory();
      appendFileSync(filled(at), rest);
      expect(runsIn(at)).toEqual([0, 1, 2]);
      {
        using store = Store.resume(at, readStore(at));
        store.append(record(3));
      }
      expect(runsIn(at)).toEqual([0, 1, 2, 3]);
    },
  );

  it("is read up to the last whole line wherever it ends", () => {
    const at = directory();
    const whole = readFileSync(filled(at));
    const first = whole.indexOf("\n") + 1;
    for (let bytes = first; bytes < whole.length; bytes += 7) {
      writeFileSync(storePath(at), whole.subarray(0, bytes));
      const lines = whole.subarray(first, bytes).toString().split("\n").length - 1;
      expect(runsIn(at)).toEqual([0, 1, 2].slice(0, lines));
    }
  });

  it.each([
    ["a bit that flipped", (text: string) => text.replace('"runs":1', '"runs":5'), "line 3"],
    [
      "a line that is missing its end",
      (text: string) => text.replace(/,"different":0\}\]\n/, "\n"),
      "line 2",
    ],
    ["another header", (text: string) => text.replace('"seed":1', '"seed":2'), "line 1"],
    ["no header", (text: string) => text.slice(text.indexOf("\n") + 1), "line 1"],
    ["nothing", () => "", "line 1"],
  ])("with %s is refused, with the line", (_, damage, line) => {
    const at = directory();
    const path = filled(at);
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    expect(codeOf(() => readStore(at))).toMatch(new RegExp(`^BELAY606: .*${line}$`));
  });

  it("is not begun where there is one, nor read where there is none, nor written by two processes", () => {
    const at = directory();
    expect(codeOf(() => readStore(at))).toMatch(/^BELAY608: .* holds no campaign/);
    const path = filled(at);
    expect(codeOf(() => Store.create(at, header))).toMatch(/^BELAY608: .* holds a campaign already/);
    writeFileSync(`${path}.lock`, "1");
    expect(codeOf(() => Store.resume(at, readStore(at)))).toBe(`BELAY608: process 1 is writing ${path}`);
    writeFileSync(`${path}.lock`, "999999999");
    Store.resume(at, readStore(at))[Symbol.dispose]();
  });

  it.runIf(process.platform === "linux")("says when the disk is full", () => {
    const at = directory();
    const path = filled(at);
    const stored = readStore(at);
    rmSync(path);
    symlinkSync("/dev/full", path);
    using store = Store.resume(at, { ...stored, bytes: 0 });
    expect(codeOf(() => store.append(record(3)))).toMatch(/^BELAY610: .*no space is left on the disk$/);
  });

  it.runIf(process.platform === "linux")(
    "keeps all that was whole when a line finds room for its half",
    () => {
      const at = directory();
      const script = `
      import { Store } from ${JSON.stringify(join(import.meta.dirname, "store.ts"))};
      const store = Store.create(${JSON.stringify(at)}, ${JSON.stringify(header)});
      let runs = 0;
      try { for (;;) store.append({ ...${JSON.stringify(record(0))}, runs: runs++ }); }
      catch (error) { console.log(runs - 1, error.message); }`;
      const file = join(folder, "fill.ts");
      writeFileSync(file, script);
      // Blocks of a kilobyte (bash) that a file may have.
      const command = `ulimit -f 2; exec ${process.execPath} --import jiti/register ${file}`;
      const env = { ...process.env, JITI_FS_CACHE: "false" };
      const { stdout, stderr } = spawnSync("bash", ["-c", command], {
        cwd: import.meta.dirname,
        env,
        encoding: "utf8",
      });
      expect(stdout + stderr).toMatch(/^\d+ .*no space is left/);
      const kept = Number.parseInt(stdout, 10);
      expect(kept).toBeGreaterThan(3);
      expect(runsIn(at)).toEqual(Array.from({ length: kept }, (_, i) => i));
      expect(readFileSync(storePath(at), "utf8").endsWith("]\n")).toBe(true);
    },
  );
});

describe("a store of another campaign is refused", () => {
  const refusal = (changed: Partial<Settings>, shard = header.shard) =>
    codeOf(() => refuseOther("here", header, { settings: { ...settings, ...changed }, shard }));

  it.each([
    [{ seed: 2 }, "seed 1 instead of 2"],
    [{ margin: 0.02 }, "margin 0.01 instead of 0.02"],
    [{ programs: [{ name: "sum", digest: "2" }] }, "another version of sum"],
    [{ programs: [{ name: "product", digest: "1" }] }, "the programs sum instead of product"],
  ] satisfies [Partial<Settings>, string][])("for %j", (changed, message) => {
    expect(refusal(changed)).toBe(`BELAY607: here holds another campaign: it has ${message}`);
  });

  it("for another shard", () => {
    expect(refusal({}, { index: 1, count: 2 })).toBe("BELAY609: here holds shard 1/1, not 2/2");
    expect(refusal({})).toBe("nothing");
  });
});
