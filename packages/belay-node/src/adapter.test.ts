import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { BelayError } from "belay-gpu";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { changeKernel } from "../../../test/support/devices/changeKernel.ts";
import { typescript } from "../../../test/support/processes/processes.ts";
import { NoAdapterError, type OpenedGpu, openGpu } from "./adapter.ts";
import { diagnoseAdapters } from "./adapterDiagnosis.ts";
import { probeSubgroupPairing, selfTest } from "./adapterSelfTest.ts";
import { findChromiumSwiftShader, unpackSwiftShader } from "./adapterSwiftShader.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-adapter-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const linux = process.platform === "linux" && process.arch === "x64";

describe("openGpu", () => {
  test("opens an adapter, and tells which one and why", async () => {
    using opened = await openGpu();
    expect(opened.adapter.limits.maxComputeInvocationsPerWorkgroup).toBeGreaterThanOrEqual(256);
    expect(opened.choice.tried.at(-1)).toEqual({
      kind: opened.choice.kind,
      outcome: opened.choice.description,
    });
    expect(opened.choice.reason).not.toBe("");
    expect(globalThis.GPUBufferUsage.STORAGE).toBe(0x80);
  });

  test("leaves the environment unchanged", async () => {
    const before = { ...process.env };
    using _opened = await openGpu();
    expect({ ...process.env }).toEqual(before);
  });

  test.runIf(linux)("opens the packaged driver without any other driver on the machine", async () => {
    using opened = await openGpu({ kinds: ["package"], cacheFolder: join(folder, "fresh") });
    expect(opened.adapter.info.architecture).toBe("swiftshader");
    expect(opened.choice.kind).toBe("package");
  });

  test.runIf(linux)("uses the driver that VK_ICD_FILENAMES names", async () => {
    const driver = await unpackSwiftShader(folder);
    vi.stubEnv("VK_ICD_FILENAMES", join(driver, "vk_swiftshader_icd.json"));
    vi.stubEnv("VK_DRIVER_FILES", undefined);
    using opened = await openGpu();
    expect(opened.choice.kind).toBe("VK_ICD_FILENAMES");
  });

  test("names each origin that it tried if none is accepted", async () => {
    const error = await openGpu({ kinds: [] }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoAdapterError);
    const { code, tried, message, help } = error as NoAdapterError;
    expect(code).toBe("BELAY301");
    expect(tried.length).toBeGreaterThan(0);
    for (const { outcome } of tried) expect(message).toContain(outcome);
    expect(help).toContain("VK_ICD_FILENAMES");
    expect(error).toBeInstanceOf(BelayError);
  });

  test("closes while a device verifies work that nobody reads", async () => {
    const program = join(import.meta.dirname, "../../../test/support/devices/closeWithoutReads.ts");
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", ...typescript, program]);
    expect(stdout).toBe("closed\n");
  });

  test("destroys its devices when it is closed", async () => {
    const opened = await openGpu();
    const devices = [
      await opened.adapter.requestDevice(),
      await (await opened.gpu.requestAdapter())!.requestDevice(),
    ];
    opened.close();
    const reasons = await Promise.all(devices.map(async ({ lost }) => (await lost).reason));
    expect(reasons).toEqual(["destroyed", "destroyed"]);
  });

  test("refuses options and kinds that do not exist", async () => {
    const option = "there is no option kind: the options are kinds, dawnFlags, nvidiaHalves, cacheFolder";
    await expect(openGpu({ kind: "package" } as never)).rejects.toThrow(new TypeError(option));
    const kinds =
      'the option kinds cannot be ["software"]: it is a list of hardware, system, VK_ICD_FILENAMES, chromium, package';
    await expect(openGpu({ kinds: ["software"] as never })).rejects.toThrow(new TypeError(kinds));
  });

  test("says that Bun is the reason where it cannot choose a driver", async () => {
    const versions = { ...process.versions, bun: "1.4.5" };
    using _bun = vi.spyOn(process, "versions", "get").mockReturnValue(versions);
    const opened = await openGpu({ kinds: ["package"] }).catch((reason: unknown) => reason);
    expect(opened).toBeInstanceOf(NoAdapterError);
    expect((opened as NoAdapterError).tried.at(-1)?.outcome).toMatch(/^Bun .*VK_ICD_FILENAMES=.*\.json/);
  });
});

describe("SwiftShader", () => {
  test("is found in the folder of a Chromium-based program only if its manifest is there", () => {
    for (const program of ["complete/app", "partial/app"]) {
      mkdirSync(join(folder, "opt", program), { recursive: true });
      writeFileSync(join(folder, "opt", program, "libvk_swiftshader.so"), "");
    }
    writeFileSync(join(folder, "opt/complete/app/vk_swiftshader_icd.json"), "{}");
    expect(findChromiumSwiftShader([join(folder, "opt/*/*")])).toEqual([join(folder, "opt/complete/app")]);
  });

  test.runIf(linux)("is unpacked once by several processes at the same time", async () => {
    const cache = join(folder, "raced");
    const targets = await Promise.all([1, 2, 3].map(() => unpackSwiftShader(cache)));
    expect(new Set(targets).size).toBe(1);
    expect(readdirSync(cache)).toHaveLength(1);
    expect(existsSync(join(targets[0]!, "libvulkan.so.1"))).toBe(true);
  });

  test.runIf(linux)("is not unpacked to a folder that others can write to", async () => {
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    await expect(unpackSwiftShader(open)).rejects.toThrow("writable by others");
  });
});

describe("a device", () => {
  let opened: OpenedGpu;
  let device: GPUDevice;
  beforeAll(async () => {
    opened = await openGpu();
    device = await requestFullDevice(opened.adapter);
  });
  afterAll(() => {
    device.destroy();
    opened.close();
  });

  test("has every limit of its adapter", () => {
    expect(device.limits.maxBufferSize).toBe(opened.adapter.limits.maxBufferSize);
    expect(device.limits.maxComputeWorkgroupStorageSize).toBe(
      opened.adapter.limits.maxComputeWorkgroupStorageSize,
    );
  });

  test("passes the self-test", async () => {
    expect(await selfTest(device)).toEqual({ ok: true, bytes: 2 ** 20, patterns: 6, mismatches: 0 });
  });

  test("fails the self-test if one word is wrong", async () => {
    const broken = changeKernel(device, "+ 0xc2b2ae35u", "+ 0xc2b2ae35u + u32(id.x == 7u)");
    expect(await selfTest(broken, 1024)).toMatchObject({
      ok: false,
      mismatches: 6,
      first: { pattern: "zeros", index: 7 },
    });
  });

  test("has neighboring invocations in neighboring lanes if it has subgroups", async () => {
    expect(await probeSubgroupPairing(device)).toBe(device.features.has("subgroups"));
  });

  test("has no pairs if its lanes are laid out differently", async () => {
    if (!device.features.has("subgroups")) return;
    expect(await probeSubgroupPairing(changeKernel(device, "(index, 1u)", "(index, 2u)"))).toBe(false);
  });
});

test("writes the diagnosis as plain data", async () => {
  const diagnosis = await diagnoseAdapters();
  expect(diagnosis).toMatchObject({ ok: true, memory: { ok: true } });
  expect(JSON.parse(JSON.stringify(diagnosis))).toEqual(diagnosis);
});

test("diagnoses a machine without an adapter", async () => {
  expect(await diagnoseAdapters({ kinds: [] })).toMatchObject({ ok: false, problem: { code: "BELAY301" } });
});
