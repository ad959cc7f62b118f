import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../../../../../test/support/workspaces.ts";
import { campaignConfigurations } from "../model/configurations.ts";
import { refuseOther } from "../model/fingerprint.ts";
import type { CampaignSettings, ControlRecord, Header } from "../model/records.ts";
import { readStore, Store, storePath } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const directory = () => join(folder, String(made++));

const settings: CampaignSettings = {
  programs: [{ name: "sum", digest: "1" }],
  configurations: campaignConfigurations({ flavors: ["inter"], checks: ["store"], pairing: "adjacent" }),
  structures: ["ALU"],
  models: ["single-bit"],
  margin: 0.01,
  bound: 0.01,
  minimum: 1,
  confidence: 0.95,
  seed: 1,
};
const header: Header = { kind: "header", version: 1, settings, shard: { index: 0, count: 1 } };
const record = (runs: number): ControlRecord => ({
  kind: "control",
  program: "sum",
  configuration: "none",
  runs,
  detections: 0,
  different: 0,
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
        using store = Store.resume(at);
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

  it("is read in parts, which need not end where lines end", () => {
    const at = directory();
    const records = Array.from({ length: 400 }, (_, i) => ({
      ...({ kind: "skipped", program: "sum", configuration: "none", code: "BELAY1" } as const),
      message: `Größe ${i} `.repeat(i * 3),
    }));
    {
      using store = Store.create(at, header);
      for (const each of records) store.append(each);
    }
    expect(statSync(storePath(at)).size).toBeGreaterThan(2 ** 21);
    expect(readStore(at).records).toEqual(records);
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
  ])("with %s is refused, with the line", (_, damage, line) => {
    const at = directory();
    const path = filled(at);
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    expect(codeOf(() => readStore(at))).toMatch(new RegExp(`^BELAY606: .*${line}$`));
  });

  it("whose header was cut short is as good as not begun", () => {
    const at = directory();
    const path = filled(at);
    const line = readFileSync(path, "utf8").split("\n", 1)[0]!;
    for (const bytes of [0, 1, 2, 5, 10, 11, 30, line.length]) {
      writeFileSync(path, line.slice(0, bytes));
      expect(codeOf(() => readStore(at))).toMatch(/^BELAY608: .* holds no campaign/);
      filled(at);
      expect(runsIn(at)).toEqual([0, 1, 2]);
    }
    writeFileSync(path, "notes of somebody");
    expect(codeOf(() => Store.create(at, header))).toMatch(/^BELAY608: .* holds a campaign already/);
  });

  it("is not begun where there is one, nor read or resumed where there is none", () => {
    const at = directory();
    expect(codeOf(() => readStore(at))).toMatch(/^BELAY608: .* holds no campaign/);
    expect(codeOf(() => Store.resume(at))).toMatch(/^BELAY608: .* holds no campaign/);
    expect(existsSync(at)).toBe(false);
    filled(at);
    expect(codeOf(() => Store.create(at, header))).toMatch(/^BELAY608: .* holds a campaign already/);
  });

  it("is written by one process at a time, which the refusal names with its file and since when", () => {
    const at = directory();
    using _ = Store.create(at, header);
    const path = storePath(at);
    const lock = `${path}.lock`;
    const { since } = JSON.parse(readFileSync(lock, "utf8"));
    const refusal = (pid: number, of = "") =>
      `BELAY608: process ${pid}${of} has been writing ${path} since ${since}; its lock is ${lock}`;
    expect(codeOf(() => Store.resume(at))).toBe(refusal(process.pid));
    const held = (holder: object) =>
      writeFileSync(lock, JSON.stringify({ host: hostname(), since, ...holder }));
    held({ pid: process.ppid });
    expect(codeOf(() => Store.resume(at))).toBe(refusal(process.ppid));
    // This host cannot tell whether a process elsewhere is alive.
    held({ pid: 999999999, host: "another" });
    expect(codeOf(() => Store.resume(at))).toBe(refusal(999999999, " of another"));
  });

  it.each([
    ["of a process that is gone", { pid: 999999999 }],
    ["of an earlier process with the number of a living one", { pid: process.ppid, born: "0" }],
    ["of an earlier process with the number of this one", { pid: process.pid }],
    ["of nobody", undefined],
  ])("takes over the lock %s", (_, holder) => {
    const at = directory();
    const path = filled(at);
    const since = "2026-01-01T00:00:00.000Z";
    const text = holder ? JSON.stringify({ host: hostname(), since, ...holder }) : "12";
    writeFileSync(`${path}.lock`, text);
    {
      using store = Store.resume(at);
      store.append(record(3));
      expect(JSON.parse(readFileSync(`${path}.lock`, "utf8"))).toMatchObject({ pid: process.pid });
    }
    expect(readdirSync(at)).toEqual(["campaign.jsonl"]);
    expect(runsIn(at)).toEqual([0, 1, 2, 3]);
  });

  it("leaves no lock behind where it cannot be opened", () => {
    const at = directory();
    const path = filled(at);
    writeFileSync(path, "damaged\ndamaged\n");
    expect(codeOf(() => Store.resume(at))).toMatch(/^BELAY606: .* is damaged in line 1$/);
    expect(readdirSync(at)).toEqual(["campaign.jsonl"]);
  });

  it.runIf(process.platform === "linux")("says when the disk is full", () => {
    const at = directory();
    mkdirSync(at);
    symlinkSync("/dev/full", `${storePath(at)}.new`);
    expect(codeOf(() => Store.create(at, header))).toMatch(/^BELAY610: .*no space is left on the disk$/);
  });

  it.runIf(process.platform === "linux")(
    "keeps all that was whole when a line finds room for its half",
    () => {
      const at = directory();
      const script = `
      import { Store } from ${JSON.stringify(join(root, "packages/belay-cli/dist/campaign/store/store.js"))};
      const store = Store.create(${JSON.stringify(at)}, ${JSON.stringify(header)});
      let runs = 0;
      try { for (;;) store.append({ ...${JSON.stringify(record(0))}, runs: runs++ }); }
      catch (error) { console.log(runs - 1, error.message); }`;
      const file = join(folder, "fill.mjs");
      writeFileSync(file, script);
      // The limit on a file's size is in blocks of a kilobyte (bash).
      const command = `ulimit -f 2; exec ${process.execPath} ${file}`;
      const { stdout, stderr } = spawnSync("bash", ["-c", command], {
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
  const refusal = (changed: Partial<CampaignSettings>, shard = header.shard) =>
    codeOf(() => refuseOther("here", header, { settings: { ...settings, ...changed }, shard }));

  it.each([
    [{ seed: 2 }, "seed 1 instead of 2"],
    [{ margin: 0.02 }, "margin 0.01 instead of 0.02"],
    [{ programs: [{ name: "sum", digest: "2" }] }, "another version of sum"],
    [{ programs: [{ name: "product", digest: "1" }] }, "the programs sum instead of product"],
  ] satisfies [Partial<CampaignSettings>, string][])("for %j", (changed, message) => {
    expect(refusal(changed)).toBe(`BELAY607: here holds another campaign: it has ${message}`);
  });

  it("for another shard", () => {
    expect(refusal({}, { index: 1, count: 2 })).toBe("BELAY609: here holds shard 1/1, not 2/2");
    expect(refusal({})).toBe("nothing");
  });
});
