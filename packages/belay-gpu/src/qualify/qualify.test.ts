import { harden } from "belay-gpu";
import { afterEach, describe, expect, it, vi } from "vitest";
import { changeKernel } from "../../../../test/support/devices/changeKernel.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { TriedDevice } from "./deviceRun.ts";
import { examine } from "./examine.ts";
import { type KernelCase, type KernelToQualify, type QualifyProgress, qualify } from "./index.ts";
import { trialsOf } from "./trials.ts";

const devices = testDevices({ full: true });

const scaled: KernelToQualify = {
  source: `struct Part { position: vec3f, count: u32 }
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> parts: array<Part>;
    @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3u) {
      if (id.x >= arrayLength(&x)) { return; }
      parts[id.x].count = x[id.x] / 3u;
      parts[id.x].position.y *= 0.1;
    }`,
};

const bodyOf = (body: string, size = 64) => `
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  @group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>, 4>;
  @compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x; if (i >= arrayLength(&out)) { return; } _ = atomicLoad(&n[0]); ${body} }`;

let alive = 0;
afterEach(() => expect(alive).toBe(0));

/** Returns a view of a device that counts the buffers that are not destroyed. */
function counted(device: GPUDevice): GPUDevice {
  return new Proxy(device, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name === "createBuffer")
        return (descriptor: GPUBufferDescriptor) => {
          const buffer = target.createBuffer(descriptor);
          alive++;
          const destroy = buffer.destroy.bind(buffer);
          buffer.destroy = () => {
            alive--;
            return destroy();
          };
          return buffer;
        };
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Tries one kernel, without the built-in ones. */
async function caseOf(device: GPUDevice, kernel: KernelToQualify): Promise<KernelCase> {
  const tried = new TriedDevice(counted(device), undefined);
  try {
    return await examine(tried, {
      name: "own",
      kernel,
      isBuiltIn: false,
      trials: (resolved) => trialsOf(kernel, resolved, 4),
    });
  } finally {
    tried.end();
  }
}

describe("qualify", () => {
  it("avoids a feature whose kernels are wrong, and compares words of all others", async () => {
    const device = await devices.sharedDevice();
    const wrong = changeKernel(device, "= dot4U8Packed(x, y)", "= dot4U8Packed(x, y) + u32(i == 77u)", "all");
    const told: QualifyProgress[] = [];
    const { verdict, without, reasons, cases } = await qualify(counted(wrong), {
      kernels: [scaled],
      onProgress: (progress) => told.push(progress),
    });
    expect(told.map(({ done }) => done)).toEqual([0, ...cases.map((_, i) => i + 1)]);
    expect(new Set(told.slice(1).map(({ finished }) => finished))).toEqual(new Set(cases));
    const feature = "packed_4x8_integer_dot_product";
    expect({ verdict, without }).toEqual({ verdict: "usable-without", without: [feature] });
    const [reason, ...others] = reasons;
    expect(others).toEqual([]);
    expect(reason).toMatch(
      /^"packed integers" \(needs packed_\w+\) computes a wrong word: out\[462\] is \d+, not \d+$/,
    );
    const right = cases.filter(({ needs }) => !needs.includes(feature));
    expect(right.length).toBeGreaterThan(15);
    expect(right.filter(({ outcome, words }) => outcome !== "agrees" || words < 20)).toEqual([]);
  });

  it("finds a lost device not usable", async () => {
    const device = await devices.newDevice({ errorsAreExpected: true });
    device.destroy();
    const { verdict, reasons, cases } = await qualify(counted(device));
    expect(verdict).toBe("not-usable");
    expect(reasons[0]).toMatch(/^"unsigned integers" fails: the device is lost/);
    expect(cases.every(({ outcome }) => outcome === "failed")).toBe(true);
  });

  it("finds a device not usable that never finishes", async () => {
    const device = await devices.sharedDevice();
    const stuck = new Proxy(device, {
      get(target, name) {
        if (name === "createComputePipelineAsync") return () => new Promise(() => {});
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      let isOver = false;
      const ended = qualify(counted(stuck)).finally(() => {
        isOver = true;
      });
      // The validation of modules is real, so that some turns pass before all kernels wait.
      while (!isOver) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        vi.advanceTimersByTime(30_000);
      }
      const { verdict, reasons } = await ended;
      expect(verdict).toBe("not-usable");
      expect(reasons[0]).toMatch(/fails: the device has finished nothing for 60 s$/);
    } finally {
      vi.useRealTimers();
    }
  });

  it("rejects with the reason of its signal, and leaves no buffer", async () => {
    const device = await devices.sharedDevice();
    const abort = new AbortController();
    const ended = qualify(counted(device), { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
  });

  it("rejects what is no device, no kernel and no option, before it tries kernels", async () => {
    const device = await devices.sharedDevice();
    await expect(qualify({} as GPUDevice)).rejects.toThrow("only a GPUDevice can be qualified");
    await expect(qualify(device, { kernels: [{}] as never })).rejects.toThrow(
      "it is a list of kernels with a source",
    );
    await expect(qualify(device, { kernel: scaled } as never)).rejects.toThrow("there is no option kernel");
    for (const workgroups of [3, [1, 1], [1, 1, -1], ["1", 1, 1]])
      await expect(
        qualify(device, { kernels: [{ ...scaled, workgroups }] as never, onProgress: () => expect.fail() }),
      ).rejects.toThrow(
        new TypeError("the workgroups of a kernel are three whole numbers, as in [16, 1, 1]"),
      );
  });
});

describe("a kernel of the program", () => {
  it("agrees on a plain and on a hardened device", async () => {
    const device = await devices.sharedDevice();
    const results = [await caseOf(device, scaled), await caseOf(harden(device), scaled)];
    for (const { outcome, words } of results) expect([outcome, words > 500]).toEqual(["agrees", true]);
  });

  it("differs with the place and both values, an interval among them", async () => {
    const device = await devices.sharedDevice();
    const integer = await caseOf(changeKernel(device, "/ 3u", "/ 3u + u32(id.x == 7u)"), scaled);
    expect(integer.wrong).toMatchObject({ place: "parts[7].count", offset: 7 * 16 + 12, wrong: 1 });
    expect(Number(integer.wrong!.actual)).toBe(Number(integer.wrong!.expected) + 1);
    const float = await caseOf(changeKernel(device, "*= 0.1", "*= 0.1001"), scaled);
    expect(float.reason).toMatch(/^parts\[0\]\.position\.y is -?[\d.]+, not -?[\d.]+ to -?[\d.]+$/);
  });

  it("runs with the buffers and the grid that the program gives", async () => {
    const device = await devices.sharedDevice();
    const buffers = [{ group: 0, binding: 0, data: Uint32Array.of(9, 10, 11) }];
    const wrong = changeKernel(device, "/ 3u", "/ 3u + u32(x[id.x] == 10u)");
    const found = await caseOf(wrong, { ...scaled, buffers, workgroups: [1, 1, 1] });
    expect(found.reason).toBe("parts[1].count is 4, not 3");
    const missing = [{ group: 0, binding: 4, data: new Uint32Array(4) }];
    await expect(caseOf(device, { ...scaled, buffers: missing })).rejects.toThrow(
      'the kernel "scale" has no binding 4 in group 0',
    );
    const small = [{ group: 0, binding: 1, data: new Uint32Array(2) }];
    await expect(caseOf(device, { ...scaled, buffers: small })).rejects.toThrow(
      new TypeError('the buffer of "parts" has 8 of at least 16 bytes'),
    );
  });

  it.each([
    ["its invocations race", "out[i] = out[(i + 1u) % arrayLength(&out)] + i;", "invocations race"],
    ["its invocations race, and every order gives one sum", "out[i % 4u] += i;", "invocations race"],
    [
      "the order of its atomic operations decides",
      "out[atomicAdd(&n[1], 1u) % 64u] = i;",
      "the order of atomic",
    ],
    ["an index is out of bounds", "out[i + 100000u] = 1u;", "an index is out of bounds"],
    [
      "rounding decides an integer, and no rounding gives its results",
      "out[i] = u32(sqrt(f32(i))); out[0] = i;",
      "an integer depends on rounding",
    ],
    [
      "it takes the executor long",
      "for (var k = 0u; k < 1100000u; k++) { out[i] ^= k; }",
      "too many iterations",
    ],
  ])("is undecided if %s", async (_, body, reason) => {
    const device = await devices.sharedDevice();
    const source = bodyOf(body);
    const changed = changeKernel(device, "= i;", "= i + 1u;", "all");
    const { outcome, reason: told } = await caseOf(changeKernel(changed, "] + i;", "] + i + 1u;", "all"), {
      source,
    });
    expect(outcome).toBe("undecided");
    expect(told).toContain(reason);
  });

  it("is undecided in a grid that takes the executor long", async () => {
    const device = await devices.sharedDevice();
    const { outcome, reason } = await caseOf(device, {
      source: bodyOf("out[i] = i;"),
      workgroups: [65535, 65535, 1],
    });
    expect([outcome, reason]).toEqual(["undecided", "too many iterations, calls and invocations"]);
  });

  it("agrees if a rounding that WGSL allows gives its branches and integers", async () => {
    const device = await devices.sharedDevice();
    const root = "let x = sqrt(f32(i * i)); out[i] = u32(x) + u32(x >= f32(i)) + u32(x == f32(i));";
    const { outcome } = await caseOf(device, { source: bodyOf(root) });
    expect(outcome).toBe("agrees");
  });

  it("fails with the message of the device", async () => {
    const device = await devices.sharedDevice();
    const { outcome, reason } = await caseOf(device, { source: bodyOf("out[i] = 1u;", 65536) });
    expect(outcome).toBe("failed");
    expect(reason).toMatch(/workgroup|limit/i);
  });

  it.each([
    ["texture_2d<f32>", "texture_storage_2d<rgba8unorm, write>", "vec2u(i, 0)", ", 0"],
    ["texture_2d_array<i32>", "texture_storage_2d_array<rgba16sint, write>", "vec2u(i, 0), 1", ", 0"],
    ["texture_3d<u32>", "texture_storage_3d<rgba32uint, write>", "vec3u(i, 0, 0)", ", 0"],
    ["texture_1d<f32>", "texture_storage_1d<rgba16float, write>", "i", ", 0"],
    ["texture_storage_2d<r32float, read>", "texture_storage_2d<rgba32float, write>", "vec2u(i, 0)", ""],
  ])("agrees with textures of %s, and differs with a wrong texel", async (loaded, stored, at, level) => {
    const device = await devices.sharedDevice();
    const source = `@group(0) @binding(0) var t: ${loaded};
      @group(1) @binding(2) var to: ${stored};
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        let i = id.x; let texel = textureLoad(t, ${at}${level});
        out[i] = i; textureStore(to, ${at}, texel.yxzw); }`;
    const right = await caseOf(device, { source });
    expect([right.reason, right.words > 100]).toEqual([undefined, true]);
    const wrong = changeKernel(device, "texel.yxzw", "select(texel.yxzw, texel, i == 3u)");
    expect(await caseOf(wrong, { source })).toMatchObject({
      outcome: "differs",
      reason: expect.stringMatching(/^to, texel \(3, 0, [01]\), is .*, not /),
    });
  });

  it("is not checked, with the line, if it has a sampler or an error", async () => {
    const device = await devices.sharedDevice();
    const texture = `@group(0) @binding(0) var t: texture_2d<f32>;
      @group(0) @binding(1) var s: sampler;
      @group(0) @binding(2) var<storage, read_write> out: array<f32>;
      @compute @workgroup_size(1) fn main() { out[0] = textureSampleLevel(t, s, vec2f(), 0).x; }`;
    expect(await caseOf(device, { source: texture })).toMatchObject({
      outcome: "not-checked",
      reason: expect.stringMatching(/^the executor does not have .* \(line \d\)$/),
    });
    const depth = `@group(0) @binding(0) var t: texture_depth_2d;
      @group(0) @binding(1) var<storage, read_write> out: array<f32>;
      @compute @workgroup_size(1) fn main() { out[0] = textureLoad(t, vec2u(), 0); }`;
    expect(await caseOf(device, { source: depth })).toMatchObject({
      outcome: "not-checked",
      reason: "no textures are made for this kernel",
    });
    expect(await caseOf(device, { source: bodyOf("out[i] = y;") })).toMatchObject({
      outcome: "not-checked",
      reason: expect.stringMatching(/^the module has an error: .*`y`.*\(line 5\)$/),
    });
  });
});
