/** The shape of the source tree, as ARCHITECTURE.md describes it. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** Lowest first: a folder imports itself and what stands in a row before its own. */
const rows = [
  ["wgsl", "loops"],
  ["analysis", "codes"],
  ["transforms"],
  ["compiler"],
  ["runtime"],
  ["campaign", "report", "speculation"],
  ["plugin"],
  ["bench"],
  ["cli"],
];
/** What anyone may import; it imports nothing but itself. */
const common = "diagnostics";

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(folder, file).replaceAll("\\", "/"))
    .sort();
}

const isTest = (file: string) => file.endsWith(".test.ts");
const sources = filesIn("src").filter((file) => !isTest(file));
const workloads = filesIn("workloads").filter((file) => !isTest(file));

/** The files of this repository that a file imports, types included. */
function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), "utf8"), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."))
    .map((name) => relative(root, resolve(root, dirname(file), name)).replaceAll("\\", "/"));
}

const folderOf = (file: string) => (file.split("/").length > 2 ? file.split("/")[1]! : "");
const rowOf = (folder: string) => rows.findIndex((row) => row.includes(folder));

function mayImport(from: string, to: string): boolean {
  const [source, target] = [folderOf(from), folderOf(to)];
  if (to.startsWith("workloads/")) return source === "cli";
  if (!to.startsWith("src/")) return false;
  if (source === target || target === common) return true;
  if (source === "") return target !== "cli" && target !== ""; // src/index.ts, the public surface
  return rowOf(target) >= 0 && rowOf(target) < rowOf(source);
}

describe("imports", () => {
  it("flow in one direction", () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => !mayImport(file, target))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are what ARCHITECTURE.md and src/README.md say", () => {
    const page = (name: string) => readFileSync(join(root, name), "utf8");
    const flow = rows.toReversed().map((row) => row.join(", "));
    expect(page("ARCHITECTURE.md")).toContain(flow.join(" → "));
    const table = [...page("src/README.md").matchAll(/^\| `(\w+)\/` \|/gm)].map(([, folder]) => folder!);
    expect(table.toSorted()).toEqual([common, ...rows.flat()].toSorted());
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith("src/") && folderOf(file) !== "")
        .filter((target) => table.indexOf(folderOf(target)) > table.indexOf(folderOf(file)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("tell an upward import from a downward one", () => {
    expect(mayImport("src/cli/demo.ts", "src/wgsl/parse.ts")).toBe(true);
    expect(mayImport("src/wgsl/parse.ts", "src/cli/demo.ts")).toBe(false);
    expect(mayImport("src/report/page.ts", "src/campaign/plan.ts")).toBe(false);
    expect(mayImport("src/diagnostics/render.ts", "src/wgsl/ast.ts")).toBe(false);
  });

  it("of a workload are its own files and the workload type", () => {
    const wrong = workloads.flatMap((file) =>
      importsOf(file)
        .filter((target) => !target.startsWith("workloads/") && target !== "src/runtime/workload.ts")
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are seen for every folder of src", () => {
    const known = new Set([...rows.flat(), common, ""]);
    expect(sources.map(folderOf).filter((folder) => !known.has(folder))).toEqual([]);
  });
});

describe("files", () => {
  const source = (file: string) => readFileSync(join(root, file), "utf8");
  /** A transform rewrites the program it is given, and its file is named after it; other files hold what transforms share. */
  const transforms = sources.filter(
    (file) =>
      folderOf(file) === "transforms" &&
      new RegExp(`export function ${basename(file, ".ts")}\\(\\s*program: Program`).test(source(file)),
  );

  it("of transforms have a test beside them", () => {
    const tests = new Set(filesIn("src/transforms"));
    const untested = transforms.filter((file) => !tests.has(file.replace(/\.ts$/, ".test.ts")));
    expect(transforms.length).toBeGreaterThan(0);
    expect(untested).toEqual([]);
  });

  it("are named by what they hold", () => {
    const vague = /^(utils?|misc|common)\b/;
    expect([...filesIn("src"), ...workloads].filter((file) => vague.test(basename(file)))).toEqual([]);
  });
});
