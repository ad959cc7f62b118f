import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StruckStructure } from "belay-cli/internal/campaign/model/faultModel";
import type { CampaignSettings, StoreRecord } from "belay-cli/internal/campaign/model/records";
import { readStore, Store } from "belay-cli/internal/campaign/store/store";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import { openGpu } from "belay-node/internal/adapter";
import { afterAll, describe, expect, it, vi } from "vitest";
import { belay } from "../support/processes/belay.ts";
import { campaignSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-campaign-cli-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);
const settings = campaignSettings(["sum"], { structures: ["ALU"], minimum: 8, margin: 0.4, bound: 0.4 });

/** The structures that a site of a value stands for, unless it is uniform. */
const ofValues = new Set<StruckStructure>(["ALU", "VRF", "ID"]);

/** A store of a shard, with `silent` of four injections silent in each configuration. */
function stored(
  name: string,
  {
    silent = 0,
    index = 0,
    count = 1,
    seed = 1,
    executions = 1,
    most = 8,
    structures = settings.structures,
    adapter = "a GPU",
    work = [],
  }: {
    silent?: number;
    index?: number;
    count?: number;
    seed?: number;
    executions?: number;
    most?: number;
    structures?: CampaignSettings["structures"];
    adapter?: string;
    work?: readonly StoreRecord[];
  } = {},
): string {
  using store = Store.create(at(name), {
    kind: "header",
    version: 1,
    settings: { ...settings, seed, structures },
    shard: { index, count },
  });
  store.append({ kind: "adapter", description: adapter });
  for (const record of work) store.append(record);
  for (const { name: configuration } of settings.configurations) {
    const unit = { program: "sum", configuration };
    const span = { start: 0, end: 3 };
    const site = {
      id: 1,
      kind: "value",
      span,
      components: 1,
      uniform: false,
      executions,
      samples: [[0, 0, 0, 0, 0, 0, 0]],
    };
    const kernel = { kernel: "sum", entryPoint: "sum", source: "sum = a + b;", iterations: 1, sites: [site] };
    const counts = { gaps: [], buffers: [], sameBits: true, milliseconds: { plain: 1, protected: 2 } };
    store.append({ kind: "unit", ...unit, kernels: [kernel as never], ...counts });
    store.append({ kind: "control", ...unit, runs: 3, detections: 0, different: 0 });
    for (const structure of structures.filter((each) => ofValues.has(each))) {
      for (let number = index; number < most; number += count) {
        const outcome = number < silent ? "sdc" : "recovered";
        const fault = { kernel: "sum", site: 1, effect: { xor: 2 ** number } } as never;
        const where = { kernel: "sum", structure, model: "single-bit" } as const;
        const id = `${configuration}${structure}${number}`;
        store.append({ kind: "injection", id, ...unit, ...where, number, fault, outcome });
      }
    }
  }
  return at(name);
}

describe("belay campaign refuses", () => {
  it.each([
    [["all", "--margin", "60%"], "BELAY400", "Expected a rate such as 1%.", 2],
    [["all", "--confidence", "100"], "BELAY400", "Expected percents such as 95.", 2],
    [["all", "--confidence", "99.99999999999999"], "BELAY400", "Expected at most 99.9999999.", 2],
    [["all", "--jobs", "1000000000"], "BELAY400", "Expected at most 256.", 2],
    [["all", "--jobs", "0"], "BELAY400", "Expected a whole number from 1 on.", 2],
    [["all", "--minimum", "NaN"], "BELAY400", "Expected a whole number.", 2],
    [["all", "--minimum", "-1"], "BELAY400", "Expected a whole number.", 2],
    [["all", "--time-limit", "1e300"], "BELAY400", "Expected a whole number.", 2],
    [["all", "--bound", "NaN"], "BELAY400", "Expected a rate such as 1%.", 2],
    [["all", "--shard", "0/0"], "BELAY400", "Expected a form such as 1/4.", 2],
    [["all", "--shard", "3/2"], "BELAY400", "Expected a form such as 1/4.", 2],
    [["all", "--structures", "ALU,FPU"], "BELAY400", '"FPU" is none of ALU, VRF, LDS', 2],
    [["all", "--flavors", "none"], "BELAY400", '"none" is none of intra+lds', 2],
    [
      ["all", "--flavors", "inter", "--pairing", "passes"],
      "BELAY400",
      "--pairing has no meaning with --flavors inter: replicas are in workgroups of their own",
      2,
    ],
    [["--json"], "BELAY400", "missing required argument 'workload'", 2],
    [["--resume", "--seed", "2"], "BELAY400", "--seed has no meaning with --resume alone", 2],
    [["--resume"], "BELAY608", "new holds no campaign", 1],
    [["all", "--weights", "none.json"], "BELAY616", "cannot read none.json: no such file", 1],
    [["nothing.ts"], "BELAY401", "cannot read nothing.ts: no such file", 1],
    [["compare", "nothing", "nothing"], "BELAY608", "nothing holds no campaign", 1],
    [["merge", "nothing"], "BELAY608", "nothing holds no campaign", 1],
    [["replay", "nothing", "1"], "BELAY608", "nothing holds no campaign", 1],
  ])("%j", async (args, code, message, expected) => {
    const { status, stderr } = await belay([
      "campaign",
      ...args,
      ...(args.length === 1 ? ["--out", at("new")] : []),
    ]);
    expect(stderr).toContain(`error[${labelOf(code)}]`);
    expect(stderr).toContain(message);
    expect(status).toBe(expected);
  });

  it("a directory that holds a campaign, and to resume one that differs", async () => {
    const out = stored("present");
    const begun = await belay(["campaign", "reduction", "--out", out]);
    expect(begun).toMatchObject({ status: 1 });
    expect(begun.stderr).toContain("error[BELAY608 store-unavailable]");
    expect(begun.stderr).toContain("help: go on with it by --resume");
    const resumed = await belay(["campaign", "reduction", "--out", out, "--resume"]);
    expect(resumed.stderr).toContain("error[BELAY607 other-campaign]");
    expect(resumed.stderr).toContain("the programs sum instead of reduction");
  });

  it("a store that is damaged, and keeps it is", async () => {
    const out = stored("damaged");
    const path = join(out, "campaign.jsonl");
    const damaged = readFileSync(path, "utf8").replace('"number":2', '"number":3');
    writeFileSync(path, damaged);
    const { status, stderr } = await belay(["campaign", "compare", out, out]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/error\[BELAY606 store-damaged\]: .*campaign.jsonl is damaged in line 7/);
    expect(readFileSync(path, "utf8")).toBe(damaged);
  });
});

it.each([
  ["exits", "process.exit(0);", "BELAY410", "the workload ended its process with status 0"],
  ["blocks", "for (;;);", "BELAY410", "the workload had not ended after 1 s"],
  [
    "waits",
    "await new Promise(() => {});",
    "BELAY408",
    "the workload waits for something that never happens",
  ],
  ["throws", 'throw new Error("no");', "BELAY406", "no"],
  ["exports nothing", "", "BELAY407", "has no workload as its default export"],
])("belay campaign refuses a workload that %s when it is imported, and leaves no store", async (...given) => {
  const [what, text, code, message] = given;
  const path = at(`${what}.ts`);
  const workload = text && "\nexport default async () => ({});";
  writeFileSync(path, `${text}${workload}\nexport {};\n`);
  const out = at(`${what} when imported`);
  // Only what blocks is waited for to the end, and that takes longer than any limit.
  const limit = what === "blocks" ? ["--timeout", "1"] : [];
  const { status, stderr } = await belay(["campaign", path, ...limit, "--out", out]);
  expect(stderr).toContain(`error[${labelOf(code)}]`);
  expect(stderr).toContain(message);
  expect(status).toBe(1);
  expect(existsSync(out)).toBe(false);
});

it("belay campaign says once that there is no adapter, and goes on when there is one", async ({ skip }) => {
  using opened = await openGpu();
  // A driver in a folder that everybody may write to is not loaded, which leaves such a machine
  // without one.
  skip(opened.choice.kind !== "package", "an adapter of the machine's own is there in any case");
  mkdirSync(at("cache/belay-gpu"), { recursive: true });
  chmodSync(at("cache/belay-gpu"), 0o777);
  vi.stubEnv("XDG_CACHE_HOME", at("cache"));
  const { status, stdout, stderr } = await belay(["campaign", "reduction,histogram", "--out", at("without")]);
  vi.unstubAllEnvs();
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("error[BELAY301 no-adapter]: no WebGPU adapter can be opened");
  expect(stderr).toContain("help: ");
  expect(readStore(at("without")).records).toEqual([]);
});

it("belay campaign --resume goes on with the campaign of the directory", async () => {
  const out = stored("whole");
  const { status, stdout } = await belay(["campaign", "--resume", "--out", out]);
  expect(stdout).toContain("The claimed coverage held");
  expect(status).toBe(0);
  const redis = belay(["campaign", "--resume", "--out", out, "--queue", "http://host"]);
  expect((await redis).stderr).toContain("error[BELAY614 queue-unavailable]");
});

describe("belay campaign merge", () => {
  it("says who did what, how sure it is, what is left, and the commands that go on", async () => {
    const delivered = (worker: string, injections: number, milliseconds: number) =>
      ({ kind: "work", worker, injections, milliseconds }) as const;
    const work = [
      delivered("alpha/7", 3, 100),
      delivered("beta/8", 2, 50),
      delivered("alpha/7", 3, 140),
      { kind: "refused", worker: "gamma/9", reason: "this machine has no GPU" } as const,
    ];
    const out = stored("begun", { most: 3, work });
    const { status, stdout } = await belay(["campaign", "merge", out, "--out", at("rest")]);
    expect(status).toBe(1);
    const next = [
      `belay campaign --resume --out ${at("rest")} --queue "$REDIS_URL"`,
      'belay campaign work "$REDIS_URL"',
    ];
    for (const command of next) expect(stdout).toContain(`Next: ${command}\n`);
    const { workers, refused, cells } = JSON.parse(readFileSync(join(at("rest"), "campaign.json"), "utf8"));
    expect(workers).toEqual([
      { worker: "alpha/7", jobs: 2, injections: 6, milliseconds: 240, perSecond: 25 },
      { worker: "beta/8", jobs: 1, injections: 2, milliseconds: 50, perSecond: 40 },
    ]);
    expect(refused).toEqual([{ worker: "gamma/9", reason: "this machine has no GPU" }]);
    expect(cells).toMatchObject([
      { configuration: "none", injections: 3, planned: 8, missing: 5, state: "open" },
      { configuration: "intra+lds signature", injections: 3, planned: 8, missing: 5, state: "open" },
    ]);
    const page = readFileSync(join(at("rest"), "campaign.html"), "utf8").replaceAll(/<[^>]*>/g, " ");
    for (const text of ["What to do next", "Certainty, and what is left", "Workers", "alpha", "a GPU"]) {
      expect(page).toContain(text);
    }
    expect(page).toContain("refused: this machine has no GPU");
    expect(page).toMatch(/intra\+lds signature\s+ALU\s+at most 56.1\s%\s+at most 40\s%\s+5\s+not finished/);
  });

  it("weighs fault models as a file says", async () => {
    const weights = at("weights.json");
    const own = { name: "our fleet", sources: ["a report"], models: { "single-bit": 2, zero: 1 } };
    writeFileSync(weights, JSON.stringify(own));
    const args = ["campaign", "merge", stored("unweighted", { silent: 4 }), "--out", at("weighed")];
    const { stdout } = await belay([...args, "--weights", weights, "--json"]);
    const { weighted } = JSON.parse(stdout);
    expect(weighted.weights).toEqual(own);
    expect(weighted.cells).toMatchObject([
      { configuration: "none", structure: "ALU", sdc: { rate: 0.5, trials: 8 }, unstruck: ["zero"] },
      { configuration: "intra+lds signature", inside: true, sdc: { rate: 0.5 } },
    ]);
    const page = readFileSync(join(at("weighed"), "campaign.html"), "utf8");
    expect(page).toContain("Silent corruption, weighted by our fleet");
    expect(page).toContain("single-bit 66.7 %, zero 33.3 %");
    expect(page.replaceAll("\u00a0", " ")).toContain("50 % (21.5 to 78.5), without zero");
  });

  it("puts shards together, writes the report, and says whether the coverage held", async () => {
    const shards = [0, 1].map((index) => stored(`shard${index}`, { index, count: 2 }));
    const { status, stdout } = await belay(["campaign", "merge", ...shards, "--out", at("merged")]);
    expect(stdout).toContain(
      "The claimed coverage held: silent corruption is at most 40 % wherever it is claimed",
    );
    expect(status).toBe(0);
    const page = readFileSync(join(at("merged"), "campaign.html"), "utf8");
    expect(page.replaceAll("\u00a0", " ")).toContain("0 of 8, at most 32.4 %");
    expect(page).toContain("Sensitivity, by position of the flipped bit");
    expect(JSON.parse(readFileSync(join(at("merged"), "campaign.json"), "utf8"))).toMatchObject({ ok: true });
  });

  it("names what was not tested in the table and the verdict", async () => {
    const out = stored("untested", { structures: ["ALU", "LDS", "memory"] });
    const { status, stdout } = await belay(["campaign", "merge", out, "--out", at("partly")]);
    expect(status).toBe(1);
    expect(stdout).toContain("3 things are wrong or missing");
    expect(stdout).toContain("the programs execute nothing of LDS");
    expect(stdout).toContain(
      "intra+lds signature was not tested in memory: the programs have no buffer that can be struck at rest",
    );
    expect(stdout).toContain("Not tested: memory (none, intra+lds signature).");
    expect(stdout).toContain("Absent from the programs: LDS (none, intra+lds signature).");
    expect(stdout).toMatch(/none +│ memory .* not tested/);
    expect(stdout).toMatch(/none +│ LDS .* absent/);
    const page = readFileSync(join(at("partly"), "campaign.html"), "utf8");
    expect(page).toContain("not tested");
    expect(page).toContain("absent");
  });

  it("names what is absent from the programs, and succeeds where no structure was named", async () => {
    const out = stored("absent", { structures: campaignSettings([]).structures });
    const { status, stdout } = await belay(["campaign", "merge", out, "--out", at("vacuous")]);
    expect(stdout).toContain("The claimed coverage held");
    expect(stdout).toContain("LDS (none, intra+lds signature)");
    expect(status).toBe(0);
  });

  it("fails when more is silent than allowed", async () => {
    const out = stored("silent", { silent: 7 });
    const { status, stdout } = await belay(["campaign", "merge", out, "--out", at("bad"), "--json"]);
    expect(status).toBe(1);
    const { ok, problems } = JSON.parse(stdout);
    expect({ ok, problems }).toEqual({
      ok: false,
      problems: [
        "intra+lds signature covers ALU less than claimed: 7 of 8 faults are silent (at most 98 %, allowed 40 %)",
      ],
    });
  });

  it("refuses shards of different campaigns", async () => {
    const other = stored("other", { index: 1, count: 2, seed: 2 });
    const { status, stderr } = await belay(["campaign", "merge", at("shard0"), other, "--out", at("no")]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY609 shards-mismatch]");
    expect(stderr).toContain("are no shards of one campaign: the first has seed 2 instead of 1");
  });

  it("refuses shards of different adapters, and names both", async () => {
    const other = stored("elsewhere", { index: 1, count: 2, adapter: "another GPU" });
    const { status, stderr } = await belay(["campaign", "merge", at("shard0"), other, "--out", at("no")]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /error\[BELAY613 other-adapter\]: .*elsewhere was begun on another GPU, and .*shard0 on a GPU/,
    );
  });

  it("names some of very many shards that are missing", async () => {
    const only = stored("only", { index: 3, count: Number.MAX_SAFE_INTEGER });
    const { status, stderr } = await belay(["campaign", "merge", only, "--out", at("no")]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/these are missing: 1\/9007199254740991, .*, and 9007199254740980 more/);
  });

  it("refuses shards that drew their faults from different profiles", async () => {
    const other = stored("counted", { index: 1, count: 2, executions: 2 });
    const { status, stderr } = await belay(["campaign", "merge", at("shard0"), other, "--out", at("no")]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /error\[BELAY609 shards-mismatch\]: .*counted and .*shard0 counted other executions of sum, none/,
    );
  });

  it("counts injections past those that all shards together need apart", async () => {
    const shards = [0, 1].map((index) => stored(`long${index}`, { index, count: 2, most: 100 }));
    const { stdout } = await belay(["campaign", "merge", ...shards, "--out", at("surplus"), "--json"]);
    const { cells, surplus } = JSON.parse(stdout);
    expect(cells[0].injections + cells[1].injections + surplus.injections).toBe(200);
    expect(surplus.injections).toBeGreaterThan(100);
  });
});

it("belay campaign compare tells campaigns apart", async () => {
  const [bad, good] = [stored("all silent", { silent: 8 }), stored("none silent")];
  expect((await belay(["campaign", "compare", good, good])).status).toBe(0);
  const { status, stdout } = await belay(["campaign", "compare", bad, good]);
  expect(status).toBe(1);
  expect(stdout).toContain("-100.00 (-100.00 to -");
});

it("belay campaign compare names what only one campaign has, and fails where nothing is in common", async () => {
  const alu = stored("only ALU");
  const both = stored("ALU and VRF", { structures: ["ALU", "VRF"] });
  const partly = await belay(["campaign", "compare", alu, both]);
  expect(partly.status).toBe(0);
  expect(partly.stdout).toContain(`\nOnly ${both} has none (VRF), intra+lds signature (VRF).\n`);
  expect(partly.stdout).not.toContain(`Only ${alu}`);

  const vrf = stored("only VRF", { structures: ["VRF"] });
  const nothing = await belay(["campaign", "compare", alu, vrf]);
  expect(nothing.status).toBe(1);
  expect(nothing.stdout).toBe(
    "The campaigns have no entry in common in which faults have struck.\n" +
      `Only ${alu} has none (ALU), intra+lds signature (ALU).\n` +
      `Only ${vrf} has none (VRF), intra+lds signature (VRF).\n`,
  );
  const json = await belay(["campaign", "compare", alu, vrf, "--json"]);
  expect(json.status).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual({
    compared: [],
    unmatched: [
      [
        { configuration: "none", structure: "ALU" },
        { configuration: "intra+lds signature", structure: "ALU" },
      ],
      [
        { configuration: "none", structure: "VRF" },
        { configuration: "intra+lds signature", structure: "VRF" },
      ],
    ],
  });
  // An entry that no fault has struck is not in common.
  const unstruck = stored("unstruck", { most: 0 });
  expect((await belay(["campaign", "compare", unstruck, alu])).status).toBe(1);
});
