import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { belay } from "../support/processes/belay.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-cli-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const kernel = `@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3u) {
  data[id.x] = data[id.x] * 2u;
}
`;

describe("belay", () => {
  it("lists its commands", async () => {
    const { status, stdout } = await belay(["--help"]);
    expect(status).toBe(0);
    for (const name of ["protect", "run", "demo", "bench", "doctor"]) expect(stdout).toContain(name);
    // Wrapped lines begin with spaces.
    const text = stdout.replace(/\s+/g, " ");
    for (const name of ["demo", "bench"]) expect(text).toMatch(new RegExp(` ${name} [^;]*; in a clone only`));
  });

  it.each([
    [["protec", "k.wgsl"], "unknown command 'protec'"],
    [["protect"], "missing required argument 'file'"],
    [["protect", "k.wgsl", "--redundancy", "triple"], "Allowed choices are none, intra+lds, intra-lds"],
    [["protect", "k.wgsl", "--chek", "store"], "Did you mean --check?"],
    [["protect", "k.wgsl", "--constant", "size"], "Expected a form such as size=64."],
    [["protect", "k.wgsl", "--constant", "size= "], "Expected a form such as size=64."],
    [["protect", "k.wgsl", "--constant", "size=1e400"], "Expected a form such as size=64."],
    [["protect", "k.wgsl", "--constant", "size=1", "--constant", "size=2"], '"size" has two values'],
    [["protect", "k.wgsl", "--subgroup-size", "24"], "Expected a power of two from 4 to 128"],
    [["protect", "k.wgsl", "--subgroup-size", "32-8"], "Expected a power of two from 4 to 128"],
    [["protect", "k.wgsl", "more.wgsl"], "too many arguments"],
    [["protect", "k.wgsl", "--feature", "subgroup"], '"subgroup" is none of core-features-and-limits'],
    [["protect", "k.wgsl", "--output", ""], "Expected a path."],
    [["protect", "k.wgsl", "--redundancy", "inter", "--pairing", "passes"], "--pairing has no meaning with"],
    [
      ["run", "w.ts", "--redundancy", "none", "--check", "store"],
      "--check has no meaning with --redundancy none",
    ],
    [["tune", "w.ts", "--runs", "1e99"], "Expected a whole number."],
    [["tune", "w.ts", "--memory", "--cover", "LDS"], "--cover has no meaning with --memory"],
    [["run", "w.ts", "--timeout", "2147484"], "Expected at most 2147483."],
    [["run", "w.ts", "--reference", "--tolerance", "-1"], "Expected a number from 0 on."],
    [["run", "w.ts", "--reference", "--tolerance", " "], "Expected a number from 0 on."],
    [["tune", "w.ts", "--timeout", "2147484"], "Expected at most 2147483."],
    [["campaign", "w.ts", "--timeout", "2147484"], "Expected at most 2147483."],
    [["bench", "speculation", "--variant-limit", "2147484"], "Expected at most 2147483."],
    [["bench", "ecc", "--flips", "-1"], "Expected a whole number."],
    [
      ["bench", "ecc", "--flips", "0", "--fault-free", "0", "--runs", "0"],
      "--runs <count>' argument '0' is invalid",
    ],
    [["bench", "rmt", "--merge", "a.json,,b.json"], "Expected a path."],
    [["campaign", "reduction", "--seed", ""], "Expected a whole number."],
    [["campaign", "reduction", "--shard", "1/99999999999999999999"], "Expected a form such as 1/4."],
    [["demo", "--out", ""], "Expected a path."],
  ])("rejects %j", async (args, message) => {
    const { status, stdout, stderr } = await belay(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain("error[BELAY400 usage]");
    expect(stderr).toContain(message);
  });

  it.each([
    [["protect", "no.wgsl", "--json"], "BELAY401"],
    [["protect", "k.wgsl", "--json", "--redundancy", "triple"], "BELAY400"],
    [["speculate", "no.ts", "--json"], "BELAY401"],
    [["run", "no.ts", "--json"], "BELAY401"],
    [["tune", "no.ts", "--json"], "BELAY401"],
    [["demo", "--json", "--out", "/dev/null/x"], "BELAY405"],
    [["bench", "rmt", "--json", "--merge", "no.json"], "BELAY401"],
    [["campaign", "no-such-program", "--json"], "BELAY401"],
  ])("prints an error as JSON for %j", async (args, code) => {
    const { stdout, stderr } = await belay(args);
    const { ok, error } = JSON.parse(stdout);
    expect({ ok, code: error.code }).toEqual({ ok: false, code });
    expect(stderr).toContain(error.message);
  });

  it("names the command whose help to read", async () => {
    const { stderr } = await belay(["bench", "rmt", "--run"]);
    expect(stderr).toContain("(belay bench rmt --help says more)");
  });
});

describe("belay protect", () => {
  it("prints the protected module, and otherwise only its choices", async () => {
    const path = file("double.wgsl", kernel);
    const named = await belay(["protect", path, "--redundancy", "intra+lds"]);
    expect(named).toMatchObject({ status: 0, stderr: "" });
    expect(named.stdout).toContain("fn double(");
    expect(named.stdout).not.toBe(kernel);
    const chosen = await belay(["protect", path]);
    expect(chosen.status).toBe(0);
    expect(chosen.stderr).toMatch(/^chosen: .*\n$/);
    expect(chosen.stdout).toContain("fn double(");
  });

  it("lists renamed entry points and overrides", async () => {
    const path = file("select.wgsl", `override min = 4u;\n${kernel.replace("fn double", "fn select")}`);
    const { status, stdout, stderr } = await belay(["protect", path, "--redundancy", "intra+lds"]);
    expect(status).toBe(0);
    expect(stdout).toContain("fn select_1(");
    const told = (name: string) =>
      `renamed: "${name}" is "${name}_1" here, as it hides a name that protection needs\n`;
    expect(stderr).toBe(told("min") + told("select"));
    const json = await belay(["protect", path, "--json"]);
    expect(json.stderr).toBe("");
    expect(JSON.parse(json.stdout)).toMatchObject({
      renamed: { min: "min_1", select: "select_1" },
      entryPoints: [{ name: "select" }],
    });
  });

  it("protects memory with a named or a chosen code", async () => {
    const path = file("double.wgsl", kernel);
    const named = await belay(["protect", path, "--redundancy", "none", "--memory", "secded32"]);
    expect(named.stdout).toContain("belay_secded32_syndrome(");
    expect((await belay(["protect", path, "--redundancy", "none", "--memory", "auto"])).status).toBe(0);
  });

  it("rejects a value for an override that the module does not have", async () => {
    const path = file("double.wgsl", `override size = 4u;\n${kernel}`);
    expect((await belay(["protect", path, "--constant", "size=8"])).status).toBe(0);
    const { status, stderr } = await belay(["protect", path, "--constant", "sise=8"]);
    expect(status).toBe(1);
    expect(stderr).toContain('error[BELAY400 usage]: the module has no override "sise"');
  });

  it("puts replicas into subgroups of their own if their size is known", async () => {
    const path = file(
      "sums.wgsl",
      `enable subgroups;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn sums(@builtin(global_invocation_id) id: vec3u) { y[id.x] = subgroupAdd(x[id.x]); }`,
    );
    const protect = (...flags: readonly string[]) =>
      belay([
        ...["protect", path, "--feature", "subgroups", "--redundancy", "intra+lds"],
        ...["--pairing", "subgroups", ...flags],
      ]);
    expect((await protect()).stderr).toContain("the size of the device's subgroups is unknown");
    expect(await protect("--subgroup-size", "32")).toMatchObject({ status: 0, stderr: "" });
    const { stderr } = await protect("--subgroup-size", "8-128");
    expect(stderr).toContain("does not fill subgroups of 128 lanes");
  });

  describe("with the faults of a campaign", () => {
    const fault = (silent: number) => ({
      source: kernel,
      entryPoint: "double",
      values: [{ span: placeOf("data[id.x] * 2u"), executions: 64, injected: 100, silent }],
    });
    const placeOf = (piece: string) => {
      const start = kernel.indexOf(piece);
      return { start, end: start + piece.length };
    };
    const protectWith = async (faults: string | readonly unknown[], ...flags: readonly string[]) => {
      const path = file("faults.json", typeof faults === "string" ? faults : JSON.stringify(faults));
      return belay([
        "protect",
        file("double.wgsl", kernel),
        "--cover",
        "sdc=0.9",
        "--faults",
        path,
        ...flags,
      ]);
    };

    it("computes chosen values twice", async () => {
      const { status, stdout, stderr } = await protectWith([fault(60)]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("belay_same_u32(");
    });

    it("says that a kernel without silent faults is left alone", async () => {
      const { status, stdout, stderr } = await protectWith([fault(0)]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: kernel });
      expect(stderr).toContain(
        'BELAY221 no-silent-faults]: "double" is left unprotected: none of 100 faults',
      );
      expect((await protectWith([fault(0)], "--strict")).status).toBe(1);
    });

    it("says that a kernel without faults is protected as a whole", async () => {
      for (const faults of [[], [{ ...fault(60), source: "0".repeat(16) }], [{ ...fault(60), values: [] }]]) {
        const { status, stderr } = await protectWith(faults);
        expect(status).toBe(0);
        expect(stderr).toMatch(
          /^protected as a whole: "double", as \S+ has no faults of it in this text\nchosen: /,
        );
      }
    });

    const notFaults = "faults.json does not hold faults of kernels: ";
    it.each<[what: string, faults: string | readonly unknown[], message: string]>([
      ["no text", "", "faults.json is empty"],
      ["no JSON", "{ faults", `${notFaults}Expected property name`],
      ["cut JSON", "[", `${notFaults}Unexpected end of JSON input`],
      ["NaN", '[{"silent": NaN}]', `${notFaults}Unexpected token`],
      [
        "another version",
        '{"version":2,"kernels":[]}',
        `${notFaults}the option faults of cover cannot be {"v`,
      ],
      ["no kernel", [null], `${notFaults}the options of cover.faults[0] are no object`],
      [
        "a negative count",
        [fault(-1)],
        `${notFaults}the option silent of cover.faults[0].values[0] cannot be -1`,
      ],
      ["too many silent faults", [fault(101)], "has 101 silent faults, and 100 were injected"],
      [
        "another kernel",
        [{ ...fault(1), entryPoint: "main" }],
        'has faults of "main", which is no entry point',
      ],
    ])("refuses a file with %s", async (_, faults, message) => {
      const { status, stdout, stderr } = await protectWith(faults);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toContain(message);
    });

    it.each([
      [["--faults", "."], "error[BELAY401 unreadable-input]: . is a directory"],
      [["--faults", "missing.json"], "cannot read missing.json: no such file"],
      [["--redundancy", "inter"], "--cover has no meaning with --redundancy inter"],
      [["--diversity"], "--cover has no meaning with --diversity"],
    ])("refuses the flags %j", async (flags, message) => {
      const { status, stdout, stderr } = await protectWith([fault(60)], ...flags);
      expect(status).toBeGreaterThan(0);
      expect(stdout).toBe("");
      expect(stderr).toContain(message);
    });

    it("refuses to read source and faults from standard input", async () => {
      const flags = ["--cover", "sdc=0.9", "--faults", "-"];
      expect((await belay(["protect", "-", ...flags], kernel)).stderr).toContain(
        "standard input cannot hold both the source and the faults",
      );
    });
  });

  it("reads standard input", async () => {
    const fromFile = await belay(["protect", file("double.wgsl", kernel)]);
    expect(await belay(["protect", "-"], kernel)).toEqual(fromFile);
  });

  it("shows the location of an error in the source", async () => {
    const path = file("wrong.wgsl", kernel.replace("data[id.x] * 2u;", "data[id.x] *;"));
    const { status, stdout, stderr } = await belay(["protect", path]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/BELAY0\d\d/);
    expect(stderr).toContain("wrong.wgsl:4");
  });

  it("prints the module as a pass has left it", async () => {
    const path = file("double.wgsl", kernel);
    const moduleAfter = async (pass: string) => {
      const { status, stdout } = await belay(["protect", path, "--print-after", pass]);
      expect(status).toBe(0);
      return stdout;
    };
    expect(
      await moduleAfter("normalizeAccesses"),
    ).toBe(`@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3u) {
  let belay_value_1 = id.x;
  let belay_value_2: u32 = data[id.x] * 2u;
  data[belay_value_1] = belay_value_2;
}
`);
    expect(await moduleAfter("declareReport")).toContain("belay_report");
    expect(await moduleAfter("declareReport")).not.toContain("belay_signature");
    expect(await moduleAfter("keepBindings")).toBe((await belay(["protect", path])).stdout);
  });

  it("rejects a pass that there is not, or that does not run for the module", async () => {
    const path = file("double.wgsl", kernel);
    const unknown = await belay(["protect", path, "--print-after", "unrollLoops"]);
    expect(unknown).toMatchObject({ status: 2, stdout: "" });
    expect(unknown.stderr).toContain(
      "error[BELAY400 usage]: option '--print-after <pass>' argument 'unrollLoops' is invalid. There is no such pass. The passes are dropUnusedFunctions, ",
    );
    const idle = await belay([
      "protect",
      path,
      "--redundancy",
      "intra+lds",
      "--print-after",
      "protectMemory",
    ]);
    expect(idle).toMatchObject({ status: 1, stdout: "" });
    expect(idle.stderr).toMatch(
      /^error\[BELAY400 usage\]: the pass protectMemory does not run for this module with these options\n {2}help: those that run are dropUnusedFunctions, /,
    );
  });

  it("tells how long each pass took, in the order of the passes", async () => {
    const path = file("double.wgsl", kernel);
    const { status, stdout, stderr } = await belay([
      "protect",
      path,
      "--redundancy",
      "intra+lds",
      "--time-passes",
    ]);
    expect(status).toBe(0);
    expect(stdout).toBe((await belay(["protect", path, "--redundancy", "intra+lds"])).stdout);
    const [head, ...rows] = stderr.trimEnd().split("\n");
    expect(head).toMatch(/^pass +ms$/);
    for (const row of rows) expect(row).toMatch(/^\w+ +\d+\.\d{3}$/);
    const ran = rows.map((row) => row.split(" ")[0]);
    expect(ran[0]).toBe("dropUnusedFunctions");
    expect(ran.indexOf("declareReport")).toBeLessThan(ran.indexOf("compareStores"));
    const json = await belay(["protect", path, "--redundancy", "intra+lds", "--time-passes", "--json"]);
    expect(json.stderr).toBe("");
    const passes = JSON.parse(json.stdout).passes as { pass: string; milliseconds: number }[];
    expect(passes.map(({ pass }) => pass)).toEqual(ran);
    for (const { milliseconds } of passes) expect(milliseconds).toBeGreaterThanOrEqual(0);
  });

  it("prints all results as JSON", async () => {
    const { stdout } = await belay(["campaign", "instrument", file("double.wgsl", kernel), "--json"]);
    const result = JSON.parse(stdout);
    expect(result.entryPoints).toMatchObject([{ name: "double", redundancy: "intra+lds" }]);
    expect(result.chosen).toMatchObject({ redundancy: "intra+lds", check: "signature" });
    expect(result.faultSites.length).toBeGreaterThan(0);
  });

  it("writes a file, and leaves it unchanged after an error", async () => {
    const output = join(folder, "made", "out.wgsl");
    await belay(["protect", file("double.wgsl", kernel), "-o", output]);
    const before = readFileSync(output, "utf8");
    expect(before).toContain("fn double(");
    const { status } = await belay(["protect", file("wrong.wgsl", "fn ("), "-o", output]);
    expect(status).toBe(1);
    expect(readFileSync(output, "utf8")).toBe(before);
    expect(readdirSync(join(folder, "made"))).toEqual(["out.wgsl"]);
  });

  it.each([
    ["a missing file", () => join(folder, "missing.wgsl"), "BELAY401", "no such file"],
    ["a directory", () => folder, "BELAY401", "is a directory"],
    ["an empty file", () => file("empty.wgsl", ""), "BELAY402", "is empty"],
    [
      "a binary file",
      () => file("shader.spv", new Uint8Array([3, 2, 35, 7, 0, 0])),
      "BELAY403",
      "is not UTF-8 text",
    ],
    ["a huge file", () => file("huge.wgsl", " ".repeat(10_000_000)), "BELAY404", "is larger than 4 MiB"],
  ])("rejects %s", async (_name, path, code, message) => {
    const { status, stdout, stderr } = await belay(["protect", path()]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`error[${labelOf(code)}]`);
    expect(stderr).toContain(message);
  });

  it.each([
    ["a directory", () => folder, "it is a directory"],
    [
      "a path through a file",
      () => join(file("plain", ""), "x"),
      "a file stands where a directory is needed",
    ],
    ["a path that is too long", () => join(folder, "x".repeat(5000)), "the name is too long"],
  ])("rejects %s as output", async (_name, output, message) => {
    const source = file("double.wgsl", kernel);
    const before = readdirSync(folder);
    const { status, stdout, stderr } = await belay(["protect", source, "-o", output()]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("error[BELAY405 unwritable-output]");
    expect(stderr).toContain(message);
    expect(readdirSync(folder).filter((name) => !before.includes(name) && name !== "plain")).toEqual([]);
  });

  it("writes to standard output for -", async () => {
    const path = file("double.wgsl", kernel);
    expect(await belay(["protect", path, "-o", "-"])).toEqual(await belay(["protect", path]));
  });

  it("shows a stack only on request", async () => {
    const missing = ["protect", join(folder, "missing.wgsl")];
    expect((await belay(missing)).stderr).not.toMatch(/^ +at /m);
    vi.stubEnv("BELAY_DEBUG", "1");
    expect((await belay(missing)).stderr).toMatch(/^ +at /m);
  });
});

describe("belay run", () => {
  /**
   * A module whose workload runs the kernel over 64 numbers, and returns the value of the
   * expression `results`.
   */
  const workload = (results: string) => `
const kernel: string = ${JSON.stringify(kernel)};
let runs = 0;
export default async function (device: GPUDevice): Promise<Record<string, ArrayBufferView>> {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const data = device.createBuffer({ size: 256, usage });
  device.queue.writeBuffer(data, 0, Uint32Array.from({ length: 64 }, (_, i) => i));
  const readback = device.createBuffer({ size: 256, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const module = device.createShaderModule({ code: kernel });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = [{ binding: 0, resource: { buffer: data } }];
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(data, 0, readback, 0, 256);
  device.queue.submit([encoder.finish()]);
  await readback.mapAsync(GPUMapMode.READ);
  const doubled = new Uint32Array(readback.getMappedRange().slice(0));
  runs++;
  return ${results};
}`;

  it("reports that the runs agree", async () => {
    const { status, stdout, stderr } = await belay(["run", file("good.ts", workload("{ doubled }"))]);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^running the workload plain and hardened\n(.* \(\d+ s\)\n)*$/);
    expect(stdout).toContain("agree byte for byte");
    expect(stdout).toMatch(/double +intra\+lds +1 dispatch/);
  });

  it("compares with the reference executor, which shares nothing with the driver", async () => {
    const path = file("same.ts", workload("{ doubled }"));
    const { status, stdout } = await belay(["run", path, "--reference"]);
    expect(stdout).toContain("The device computes what the reference executor computes.");
    expect(stdout).toMatch(/doubled +256 bytes +the same bits/);
    expect(status).toBe(0);
    const moody = file("moody.ts", workload("{ doubled: doubled.map((word) => word + runs) }"));
    const other = await belay(["run", moody, "--reference", "--json"]);
    expect(other.status).toBe(1);
    const difference = "doubled[0] is 1 instead of 2";
    expect(JSON.parse(other.stdout)).toMatchObject({
      ok: false,
      outputs: { doubled: { bytes: 256, difference } },
    });
  });

  it("reports where the runs differ", async () => {
    const path = file("moody.ts", workload("{ doubled: doubled.map((word) => word + runs) }"));
    const { status, stdout } = await belay(["run", path, "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, difference: "doubled[0] is 2 instead of 1" });
  });

  it("prints only JSON to standard output, whatever the workload prints", async () => {
    const path = file("chatty.ts", `console.log("here");\n${workload("{ doubled }")}`);
    const { status, stdout } = await belay(["run", path, "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, outputs: { doubled: 256 } });
  });

  it("escapes names for the terminal, and ends although a timer is left", async () => {
    const timer = "setInterval(() => {}, 1000);\n";
    const path = file("painted.ts", timer + workload('{ "\\u001b[2Jdoubled\\u009b": doubled }'));
    const { stdout } = await belay(["run", path]);
    expect(stdout).toContain("\ufffd[2Jdoubled\ufffd (256 bytes)");
    const json = (await belay(["run", path, "--json"])).stdout;
    for (const character of ["\u001b", "\u009b"]) expect(json).not.toContain(character);
    expect(JSON.parse(json).outputs).toEqual({ "\u001b[2Jdoubled\u009b": 256 });
  });

  it("compares the results of the runs, also if they share memory", async () => {
    const path = file(
      "shared.ts",
      `const all = new Uint32Array(1);\n${workload("(all[0] = runs, { all })")}`,
    );
    const { stdout } = await belay(["run", path, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, difference: "all[0] is 2 instead of 1" });
  });

  it.each([
    ["ends its process", "process.exit(0)", "BELAY410", "ended its process with status 0"],
    ["aborts", "process.abort()", "BELAY410", "ended its process by SIGABRT"],
    ["waits for nothing", "await new Promise(() => {})", "BELAY408", "something that never happens"],
    [
      "rejects late",
      "void Promise.reject(new Error('late')); await new Promise(() => {})",
      "BELAY408",
      "failed: late",
    ],
    [
      "throws what cannot be shown",
      "throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } })",
      "BELAY408",
      "what was thrown cannot be shown",
    ],
    [
      "destroys its device",
      "device.destroy(); const b = device.createBuffer({ size: 4, usage: 1 }); await b.mapAsync(1); return {}",
      "BELAY408",
      "the device was destroyed while the workload used it",
    ],
    [
      "gives results whose memory is gone",
      "const gone = new Uint8Array(4); structuredClone(gone, { transfer: [gone.buffer] }); return { gone }",
      "BELAY408",
      'result "gone" has lost its memory',
    ],
  ])("reports in words and as JSON that a workload %s", async (_name, body, code, message) => {
    const path = file("hostile.ts", `export default async (device: GPUDevice) => { ${body} }`);
    const { status, stdout, stderr } = await belay(["run", path, "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code, message: expect.stringContaining(message) },
    });
    expect(stderr).toContain(`error[${labelOf(code)}]`);
    expect(stderr).toContain(message);
  });

  it("ends a workload that does not end", async () => {
    const path = file("endless.ts", "for (;;);");
    const { status, stderr } = await belay(["run", path, "--timeout", "1"]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY410 workload-not-ended]: the workload had not ended after 1 s");
    expect(stderr).toContain("--timeout");
  });

  it("ends a workload that uses up all memory", async () => {
    vi.stubEnv("NODE_OPTIONS", "--max-old-space-size=150");
    const path = file("hungry.ts", "const all: object[] = []; for (;;) all.push({ more: [...all] });");
    const { status, stderr } = await belay(["run", path]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY410 workload-not-ended]: the workload ended its process by SIGABRT");
  });

  it.each([
    ["a missing module", () => join(folder, "missing.ts"), "BELAY401", "no such file"],
    [
      "a module that is not JavaScript",
      () => file("bad.ts", "export default {{{"),
      "BELAY406",
      "cannot load",
    ],
    ["a module that throws", () => file("throws.ts", "throw new Error('on load')"), "BELAY406", "on load"],
    ["no default export", () => file("none.ts", "export const workload = 1;"), "BELAY407", "no workload"],
    [
      "a failing workload",
      () => file("fails.ts", "export default async () => { throw new Error('mine'); }"),
      "BELAY408",
      "mine",
    ],
    ["no results", () => file("void.ts", "export default async () => {}"), "BELAY408", "gave no results"],
    [
      "results of another kind",
      () => file("text.ts", "export default async () => ({ a: 'b' })"),
      "BELAY408",
      'result "a"',
    ],
  ])("rejects %s", async (_name, path, code, message) => {
    const { status, stdout, stderr } = await belay(["run", path()]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`error[${labelOf(code)}]`);
    expect(stderr).toContain(message);
  });
});

describe("belay tune", () => {
  it.each([[[]], [["--memory"]]])("reports that a failing workload %j failed", async (flags) => {
    const path = file("failing.ts", "export default async () => { throw new Error('no input'); };");
    const { status, stderr } = await belay(["tune", path, ...flags]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^loading the workload\n(.* \(\d+ s\)\n)*error\[BELAY408 workload-failed\]: the workload failed: no input\n$/,
    );
  });
});

describe("belay bench rmt", () => {
  it("writes a report and the result, and its exit status tells if all results were right", async () => {
    const out = join(folder, "rmt");
    const some = ["--only", "sobelFilter", "--flavors", "intra+lds", "--measure", "components,roofline"];
    const { status, stdout, stderr } = await belay([
      "bench",
      "rmt",
      ...some,
      "--runs",
      "1",
      "--out",
      out,
      "--json",
    ]);
    expect(stderr).toMatch(
      /^opening the GPU\n(.* \(\d+ s\)\n)*sobelFilter, .*intra\+lds signature subgroup \d+\.\d+, 1 taken apart\n(.* \(\d+ s\)\n)*$/,
    );
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ size: "small", runs: 1, programs: [{ name: "sobelFilter" }] });
    expect(result.programs[0].verdict).toMatchObject({ ok: true });
    expect(result.programs[0].components).toHaveLength(1);
    expect(status).toBe(0);
    expect(JSON.parse(readFileSync(join(out, "rmt.json"), "utf8")).programs).toEqual(result.programs);
    const page = readFileSync(join(out, "rmt.html"), "utf8");
    for (const figure of ["figures 2 and 6", "figure 3", "figures 4 and 7"]) expect(page).toContain(figure);

    const earlier = join(out, "rmt.json");
    const merged = await belay(["bench", "rmt", "--merge", `${earlier},${earlier}`, "--out", out, "--json"]);
    expect(JSON.parse(merged.stdout)).toEqual(result);
    const other = await belay(["bench", "rmt", "--resume", "--runs", "2", "--out", out]);
    expect({ status: other.status, stderr: other.stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("error[BELAY400 usage]"),
    });
    const missing = await belay(["bench", "rmt", "--merge", join(folder, "nothing.json"), "--out", out]);
    expect(missing.stderr).toContain("error[BELAY401 unreadable-input]");
  });

  it.each([
    [["--only", "sobel"], '"sobel" is none of'],
    [["--measure", "overhead,heat"], '"heat" is none of overhead, auto, roofline'],
    [["--runs", "0"], "Expected a whole number from 1 on."],
    [["--size", "medium"], "Allowed choices are small, full."],
  ])("rejects %j", async (flags, message) => {
    const { status, stderr } = await belay(["bench", "rmt", ...flags]);
    expect(status).toBe(2);
    expect(stderr).toContain("error[BELAY400 usage]");
    expect(stderr).toContain(message);
  });
});

describe("a long command", () => {
  it.each([
    [["demo", "--out"], "BELAY405"],
    [["bench", "rmt", "--only", "sobelFilter", "--out"], "BELAY405"],
    [["campaign", "reduction", "--out"], "BELAY610"],
  ])("fails at the start if %j cannot be written", async (args, code) => {
    const { status, stdout, stderr } = await belay([...args, join(file("plain", ""), "results")]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`error[${labelOf(code)}]`);
    expect(stderr).toContain("a file stands where a directory is needed");
  });

  it.each([
    ["a directory", () => folder, "it is a directory"],
    ["JSON of another kind", () => file("other.json", "[1]"), "it is no result of a benchmark"],
    ["no JSON", () => file("plain", "x"), "is not valid JSON"],
  ])("rejects %s as a result to merge", async (_name, path, message) => {
    const { status, stderr } = await belay([
      "bench",
      "rmt",
      "--merge",
      path(),
      "--out",
      join(folder, "merged"),
    ]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY401 unreadable-input]");
    expect(stderr).toContain(message);
  });
});

describe("belay doctor", () => {
  it("finds a working adapter", async () => {
    const { status, stdout } = await belay(["doctor", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, memory: { ok: true } });
    expect(status).toBe(0);
  });
});

describe("the belay process", () => {
  const main = join(import.meta.dirname, "../../packages/belay-cli/bin/belay.js");

  /** Runs the program as its own process. Stops reading its output after `closeAt` bytes. */
  function start(args: readonly string[], closeAt = Number.POSITIVE_INFINITY, to: number | "pipe" = "pipe") {
    return new Promise<{ status: number | null; stdout: string; stderr: string }>((done) => {
      const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", to, "pipe"] });
      let [stdout, stderr] = ["", ""];
      child.stdout?.on("data", (chunk) => {
        stdout += chunk;
        if (stdout.length >= closeAt) child.stdout?.destroy();
      });
      child.stderr?.on("data", (chunk) => {
        stderr += chunk;
      });
      child.on("close", (status) => done({ status, stdout, stderr }));
    });
  }

  it("ends quietly if its output is no longer read", async () => {
    // The output is larger than the buffer of a pipe.
    const constants = Array.from({ length: 200 }, (_, i) => `const ${"c".repeat(900)}${i} = ${i}u;\n`);
    const { status, stderr } = await start(
      ["protect", "--redundancy", "intra+lds", file("long.wgsl", kernel + constants.join(""))],
      1,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("turns an unhandled rejection into a message", async () => {
    const stray = "Promise.reject(new Error('stray')); export default () => new Promise(() => {});";
    const { status, stderr } = await start(["run", file("stray.ts", stray)]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY408 workload-failed]: the workload failed: stray");
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it.runIf(process.platform === "linux")("fails if its output cannot be written", async () => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = await start(["protect", file("double.wgsl", kernel)], Infinity, full);
    closeSync(full);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY405 unwritable-output]: cannot write the output");
  });
});
