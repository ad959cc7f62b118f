import { describe, expect, it } from "vitest";
import { rankConfigurations } from "./choice.ts";
import { coveredBy, describeConfiguration, structures } from "./configurations.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const kernel = (body: string, declarations = "") => /* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
${declarations}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = id.x;
  ${body}
}`;

const copy = kernel("output[i] = input[i];");
const iterate = kernel(
  "var x = input[i]; for (var k = 0; k < 500; k++) { x = fma(x, x, 0.5); } output[i] = x;",
);
const update = kernel("output[i] = output[i] + input[i];");
const features = ["subgroups"];
const lanes = ["ALU", "VRF"] as const;
const firstFor = (wgsl: string) => rankConfigurations(wgsl, { cover: lanes, features })[0]!;

describe("the configuration with the lowest predicted cost", () => {
  it("lets replicas of a streaming kernel run one after the other", () => {
    expect(firstFor(copy)).toMatchObject({ pairing: "passes", redundancy: "intra+lds" });
    expect(firstFor(update)).toMatchObject({ pairing: "passes" });
  });

  it("puts replicas of a computing kernel in workgroups of their own, or side by side where they share memory", () => {
    expect(describeConfiguration(firstFor(iterate))).toBe("inter signature");
    const shared = iterate.replace("var x = input[i];", "tile[local] = input[i]; var x = tile[local];");
    const tile = "var<workgroup> tile: array<f32, 64>;";
    expect(describeConfiguration(firstFor(`${tile}${shared}`))).toBe("intra+lds signature subgroup");
  });

  it("puts replicas that gather side by side, where each line is fetched once for both", () => {
    expect(firstFor(kernel("output[i] = input[u32(input[i])];"))).toMatchObject({ pairing: "adjacent" });
  });

  it("puts replicas side by side that change few words in place", () => {
    const sum = "var x = 0.0; for (var k = 0; k < 500; k++) { x = fma(x, x, input[i]); } partial[local] = x;";
    const add = `${sum} workgroupBarrier(); output[i] += partial[local ^ 1];`;
    const { predicted, pairing } = firstFor(kernel(add, "var<workgroup> partial: array<f32, 64>;"));
    expect(pairing).toBe("adjacent");
    const apart = kernel(add.replace("+=", "="), "var<workgroup> partial: array<f32, 64>;");
    expect(predicted).toBeCloseTo(firstFor(apart).predicted, 2);
  });

  it("puts replicas into different subgroups that also keep arrays in registers", () => {
    const sums =
      "var x: array<f32, 16>; for (var k = 0; k < 500; k++) { x[k % 16] = fma(x[1], x[2], input[i]); }";
    const add = `${sums} partial[local] = x[0]; workgroupBarrier(); output[i] += partial[local ^ 1];`;
    const memory = "var<workgroup> partial: array<f32, 64>;";
    expect(firstFor(kernel(add, memory))).toMatchObject({ pairing: "subgroups" });
    expect(firstFor(kernel(add.replace("+=", "="), memory))).toMatchObject({ pairing: "adjacent" });
  });

  it("puts replicas into workgroups of their own that feed a tile in registers from workgroup memory", () => {
    const product = (terms: number) =>
      `var x: array<f32, 16>; for (var k = 0u; k < 500u; k++) {
        let a = partial[(local + k) % 64u]; for (var j = 0u; j < ${terms}u; j++) { x[j] = fma(a, x[j], 1.0); } }
      output[i] = x[0];`;
    const memory = "var<workgroup> partial: array<f32, 64>;";
    expect(firstFor(kernel(product(2), memory))).toMatchObject({ redundancy: "inter" });
    expect(firstFor(kernel(product(16), memory))).toMatchObject({
      pairing: "adjacent",
      redundancy: "intra+lds",
    });
    const vector = product(2).replace("array<f32, 16>", "vec4f");
    expect(firstFor(kernel(vector, memory))).toMatchObject({ pairing: "adjacent", redundancy: "intra+lds" });
  });

  it("says what it is bound by", () => {
    expect(firstFor(copy).reason).toContain("bound by memory");
    expect(firstFor(iterate).reason).toContain("bound by arithmetic");
    expect(firstFor(update).reason).toContain("in place");
  });

  it("costs less under Inter-Group where whoever comes last stores than where replicas need copies", () => {
    const copies = kernel("output[i] = output[i] + input[i]; output[i] += 1;");
    const [arriving, apart] = [update, copies].map((wgsl) => {
      const wide = wgsl.replaceAll("array<f32>", "array<vec4f>");
      const ranked = rankConfigurations(wide, { cover: ["IF/SCHED"], features });
      return ranked.find(({ redundancy, check }) => redundancy === "inter" && check === "signature")!
        .predicted;
    });
    expect(arriving).toBeLessThan(apart!);
  });

  it("covers what is asked for", () => {
    for (const structure of structures) {
      const ranked = rankConfigurations(iterate, { cover: [structure], features });
      expect(ranked.length).toBeGreaterThan(0);
      for (const each of ranked) expect(coveredBy(each)).toContain(structure);
    }
    const scalar = rankConfigurations(iterate, { cover: ["SRF"], features });
    expect(scalar.map(({ redundancy, pairing }) => `${redundancy} ${pairing}`)).not.toContain(
      "intra+lds adjacent",
    );
  });

  it("needs no register exchange that the device lacks", () => {
    const ranked = rankConfigurations(copy, { cover: lanes });
    expect(ranked.map(({ channel }) => channel)).not.toContain("subgroup");
  });

  it("is none for what is no program", () => {
    expect(rankConfigurations("fn main( {", { cover: lanes })).toEqual([]);
  });
});

describe("protect with auto", () => {
  it("tells what it chose", () => {
    const { chosen, entryPoints } = protect(copy, { redundancy: "auto", features });
    expect(chosen).toMatchObject({ pairing: "passes" });
    expect(entryPoints).toMatchObject([{ name: "main", redundancy: "intra+lds" }]);
  });

  it("takes the next configuration where the first can't protect the kernel", () => {
    const counter = "@group(0) @binding(2) var<storage, read_write> count: atomic<u32>;";
    const append = kernel("let at = atomicAdd(&count, 1u); output[at] = input[i];", counter);
    expect(firstFor(append).pairing).toBe("passes");
    const { chosen, entryPoints } = protect(append, { redundancy: "auto", features });
    expect(chosen!.pairing).not.toBe("passes");
    expect(entryPoints[0]!.redundancy).not.toBe("none");
  });

  it("puts replicas that gather and see their subgroup into different subgroups, if these fit", () => {
    const gather = `enable subgroups; ${kernel("output[i] = subgroupAdd(input[u32(input[i])]);")}`;
    const chosen = (options: CompilerOptions) => {
      const result = protect(gather, { redundancy: "auto", features, ...options });
      return result.chosen && describeConfiguration(result.chosen);
    };
    expect(chosen({ subgroupMaxSize: 32 })).toBe("intra+lds signature workgroup subgroups");
    expect(chosen({ subgroupMaxSize: 128 })).toBe("inter signature");
    expect(chosen({})).toBe("inter signature");
  });

  it("compares before stores only where nothing with signatures protects the kernel", () => {
    const matrix = "subgroup_matrix_result<f32, 8, 8>";
    const product = `enable chromium_experimental_subgroup_matrix;
      @group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
      @compute @workgroup_size(32) fn main() {
        subgroupMatrixStore(&numbers, 64, subgroupMatrixLoad<${matrix}>(&numbers, 0, false, 8), false, 8);
      }`;
    const chosen = (options: CompilerOptions) => {
      const result = protect(product, { redundancy: "auto", features, ...options });
      return result.chosen && describeConfiguration(result.chosen);
    };
    expect(chosen({})).toBe("inter store");
    expect(chosen({ check: "signature", pairing: "passes", cover: structures })).toBe("inter store");
    expect(chosen({ memory: "secded128" })).toBeUndefined();
    const { code } = protect(product, { redundancy: "inter", check: "store", features });
    expect(protect(product, { redundancy: "auto", features }).code).toBe(code);
  });

  describe("where the cheapest configuration leaves a gap", () => {
    const odd = copy.replace("workgroup_size(64)", "workgroup_size(33)");
    const sums = `enable subgroups; ${kernel("output[i] = subgroupAdd(input[i]);")}`;

    it.each([
      ["of the last of an odd number of invocations", odd, "intra+lds signature workgroup"],
      ["of all lanes with subgroup operations", sums, "intra+lds signature workgroup subgroups"],
    ])("takes one without that gap under strict: %s", (_, wgsl, expected) => {
      const options = { redundancy: "auto", features, channel: "workgroup", subgroupMaxSize: 32 } as const;
      const { chosen, diagnostics } = protect(wgsl, options);
      expect(chosen!.pairing).toBe("passes");
      expect(diagnostics.map(({ code }) => code)).toEqual(["BELAY210"]);
      for (const each of [{ strict: true }, { closesGaps: true }]) {
        const whole = protect(wgsl, { ...options, ...each });
        expect(whole.diagnostics).toEqual([]);
        expect(describeConfiguration(whole.chosen!)).toBe(expected);
      }
    });

    it("takes one without a gap that costs about as much", () => {
      const inPlace = update.replace("workgroup_size(64)", "workgroup_size(1)");
      const { chosen, diagnostics } = protect(inPlace, { redundancy: "auto", features });
      expect(diagnostics).toEqual([]);
      expect(firstFor(inPlace).pairing).toBe("passes");
      expect(chosen!.pairing).not.toBe("passes");
      expect(chosen!.predicted / firstFor(inPlace).predicted).toBeLessThan(1.25);
    });

    it("takes the cheapest if none closes the gap", () => {
      const count = "@group(0) @binding(2) var<storage, read_write> count: atomic<u32>;";
      const counting = kernel("atomicAdd(&count, 1u); output[i] = input[i];", count);
      const { chosen } = protect(counting, { redundancy: "auto", features, closesGaps: true });
      expect(chosen).toEqual(firstFor(counting));
    });
  });

  it("chooses for the entry point that is named", () => {
    const two = `${copy}\n@compute @workgroup_size(64) fn other(@builtin(global_invocation_id) id: vec3u) {
      var x = input[id.x]; for (var k = 0; k < 500; k++) { x = fma(x, x, 0.5); } output[id.x] = x; }`;
    const pairing = (entryPoint: string) =>
      protect(two, { redundancy: "auto", features, entryPoint }).chosen!.pairing;
    expect([pairing("main"), pairing("other")]).toEqual(["passes", "adjacent"]);
  });

  it("reports what is wrong with a program that is none", () => {
    expect(protect("fn main( {", { redundancy: "auto" }).diagnostics[0]!.severity).toBe("error");
  });
});
