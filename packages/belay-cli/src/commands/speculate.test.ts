import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { belay } from "../../../../test/support/processes/belay.ts";

const relax = `export async function relax(a: Float32Array, p: Uint32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a) precision(f32)
  for (let i = 0; i < n; i++) a[p[i]!] = a[i]! * 0.5 + 1;
}
`;

describe("belay speculate", () => {
  it("shows what becomes of each loop", async () => {
    const { status, stdout, stderr } = await belay(["speculate", "-"], relax);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("relax  <stdin>:4:3");
    expect(stdout).toMatch(/a +f32 +written, checked for dependences/);
    expect(stdout).toMatch(/p +u32 +only read/);
    expect(stdout).toContain("loads: 1, stores: 1");
    expect(stdout).toContain("n <= 2147483648");
    expect(stdout).toMatch(/in place +mark, check/);
    expect(stdout).toContain("a_a[a_p[index]] = Math.fround(Math.fround(a_a[index] * 0.5) + 1);");
    expect(stdout).not.toContain("@compute");
  });

  it("prints the kernels on demand", async () => {
    const { stdout } = await belay(["speculate", "-", "--wgsl"], relax);
    expect(stdout.match(/@compute/g)!.length).toBeGreaterThan(4);
  });

  it("shows why a loop was refused", async () => {
    const { status, stdout, stderr } = await belay(
      ["speculate", "-"],
      relax.replaceAll("Float32Array", "BigInt64Array"),
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("error[BELAY512 unknown-type]: not parallelized because `a` is a BigInt64Array");
    expect(stderr).toContain("--> <stdin>:4:31");
    expect(stderr).toContain("^");
  });

  it("follows imports of files, and shows what a loop cannot use there", async () => {
    const folder = await mkdtemp(join(tmpdir(), "belay-speculate-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const main = join(folder, "main.ts");
    await writeFile(join(folder, "util.ts"), "export const third = (x: number) => x / 3;\n");
    await writeFile(main, `import { third } from "./util.js";\n${relax.replace("* 0.5", "* third(2)")}`);
    expect((await belay(["speculate", main])).stdout).toContain("Math.fround(a_a[index] *");
    await writeFile(join(folder, "util.ts"), "\nexport const third = (x: number) => console.log(x);\n");
    const { status, stderr } = await belay(["speculate", main]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY513 unknown-call]: not parallelized because `console.log`");
    expect(stderr).toContain(`--> ${join(folder, "util.ts")}:2:37`);
    const { stdout } = await belay(["speculate", main, "--json"]);
    expect(JSON.parse(stdout).diagnostics).toMatchObject([{ file: join(folder, "util.ts"), line: 2 }]);
  });

  it("says it when there is nothing to show", async () => {
    const { status, stderr } = await belay(["speculate", "-"], "export const one = 1;");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "<stdin> has no loops to translate\n" });
  });

  it("prints everything as JSON", async () => {
    const refused = `${relax}${relax.replace("relax", "other").replace("n; i++", "a[i]!; i++")}`;
    const { status, stdout } = await belay(["speculate", "-", "--json"], refused);
    const { loops, diagnostics } = JSON.parse(stdout);
    expect(status).toBe(1);
    expect(loops).toMatchObject([{ loop: { name: "relax" }, host: { first: "0" } }]);
    expect(loops[0].plans[0].phases[0].kernel.code).toContain("@compute");
    expect(diagnostics).toMatchObject([{ code: "BELAY510", line: 9 }]);
  });
});
