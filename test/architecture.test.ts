/** Checks which package, folder and room of the sources may import which. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** The packages, lowest first. A package imports only packages before it. */
const packages = [
  { name: "belay-gpu", folder: "packages/belay-gpu" },
  { name: "belay-node", folder: "packages/belay-node" },
  { name: "belay-speculate", folder: "packages/belay-speculate" },
  { name: "belay-cli", folder: "packages/belay-cli" },
  { name: "belay-research", folder: "research" },
];
/** The sources of the site, which import packages and are imported by none. */
const site = "site/playground/src";
/** The packages that a package must not import although they come before it. */
const apart = [["belay-speculate", "belay-node"]];

/**
 * The folders of each package's sources, lowest first. A folder imports itself and the rows before
 * its own.
 */
const rooms: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "belay-gpu": [
    ["diagnostics"],
    ["wgsl"],
    ["analysis", "ecc"],
    ["transforms"],
    ["compiler"],
    ["reference"],
    ["qualify", "runtime"],
    ["audit", "algebra", "blame"],
  ],
  "belay-node": [],
  "belay-speculate": [["diagnostics"], ["loops"], ["engine", "plugin"]],
  "belay-cli": [["report"], ["shared"], ["campaign"], ["commands"]],
  "belay-research": [["workloads", "published", "ecc", "miscompilation"], ["bench"], ["commands", "scripts"]],
};

/**
 * The rooms of folders, lowest first, by the same rule. `""` stands for the files beside the rooms.
 */
const innerRooms: Readonly<Record<string, readonly string[]>> = {
  "packages/belay-gpu/src/runtime": [
    "webgpu",
    "context",
    "memory",
    "pipelines",
    "injection",
    "recording",
    "verification",
    "",
    "tuning",
  ],
  "packages/belay-speculate/src/engine": ["policy", "device", "transfer", "rounds", "call", ""],
  "packages/belay-speculate/src/loops": [
    "tree",
    "directives",
    "analysis",
    "source",
    "javascript",
    "kernels",
    "lowering",
    "",
  ],
  "research/src/workloads": ["", "loops", "samples", "memory", "model"],
  "research/src/bench": ["measuring", "rmt", "ecc", "speculation", "programs"],
  "research/src/commands": ["results", "rmt", "ecc", "speculation", "programs", ""],
  "packages/belay-cli/src/shared": ["terminal", "files", "workloads", ""],
  "packages/belay-cli/src/campaign": ["model", "results", "processes", "store", "", "queue"],
  "site/playground/src": ["page", "kernel", "memory", "loop", "device", ""],
  "test/support": ["", "wgsl", "kernels", "devices", "loops", "processes", "results"],
};

interface Place {
  readonly package: string;
  readonly folder: string;
}

const isTest = (file: string) => file.endsWith(".test.ts");

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(folder, file).replaceAll("\\", "/"))
    .sort();
}

const all = packages.flatMap(({ folder }) => filesIn(`${folder}/src`));
const sources = all.filter((file) => !isTest(file));
/** The sources, those of the site, and the helpers of tests. */
const roomed = [...sources, ...filesIn(site), ...filesIn("test/support")];

function placeOf(file: string): Place | undefined {
  const found = packages.find(({ folder }) => file.startsWith(`${folder}/src/`));
  if (!found) return undefined;
  const inside = file.slice(found.folder.length + "/src/".length);
  return { package: found.name, folder: inside.includes("/") ? inside.split("/")[0]! : "" };
}

/**
 * Returns the imports of a file, types included: files of its own package, and names of other
 * packages.
 */
function importsOf(file: string): {
  readonly files: readonly string[];
  readonly packages: readonly string[];
} {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), "utf8"), true, true);
  const names = importedFiles.map(({ fileName }) => fileName);
  return {
    files: names
      .filter((name) => name.startsWith("."))
      .map((name) => relative(root, resolve(root, dirname(file), name)).replaceAll("\\", "/")),
    packages: names
      .map((name) => name.split("/")[0]!)
      .filter((name) => packages.some((each) => each.name === name)),
  };
}

const rankOf = (name: string) => packages.findIndex((each) => each.name === name);

function mayImportPackage(from: string, to: string): boolean {
  return rankOf(to) < rankOf(from) && !apart.some(([one, other]) => one === from && other === to);
}

function mayImport(from: Place, to: Place): boolean {
  if (from.package !== to.package) return false;
  if (from.folder === to.folder || from.folder === "") return true;
  const rows = rooms[from.package]!;
  const rowOf = (folder: string) => rows.findIndex((row) => row.includes(folder));
  return rowOf(to.folder) >= 0 && rowOf(to.folder) < rowOf(from.folder);
}

/** Returns the room of a file in a folder. Undefined if the file is in another folder. */
function roomIn(folder: string, file: string): string | undefined {
  if (!file.startsWith(`${folder}/`)) return undefined;
  const inside = file.slice(folder.length + 1);
  return inside.includes("/") ? inside.split("/")[0] : "";
}

/** Returns the imports of files that go up from one room of a folder to another. */
function upwardImports(folder: string, order: readonly string[], files: readonly string[]): string[] {
  const rank = (file: string) => order.indexOf(roomIn(folder, file) ?? "");
  return files
    .filter((file) => roomIn(folder, file) !== undefined)
    .flatMap((file) =>
      importsOf(file)
        .files.filter((target) => roomIn(folder, target) !== undefined && rank(target) > rank(file))
        .map((target) => `${file} imports ${target}`),
    );
}

/** Returns the groups of files that import each other, directly or not (Tarjan's algorithm). */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(target)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1 || imports.get(file)?.includes(file)) circles.push(circle.toSorted());
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

describe("imports", () => {
  it("of packages flow in one direction", () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .packages.filter((name) => !mayImportPackage(placeOf(file)!.package, name))
        .map((name) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  it("of folders flow in one direction, and use no path into another package", () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .files.filter((target) => {
          const place = placeOf(target);
          return !place || !mayImport(placeOf(file)!, place);
        })
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are classified as upward or downward", () => {
    const gpu = (folder: string) => ({ package: "belay-gpu", folder });
    expect(mayImport(gpu("runtime"), gpu("wgsl"))).toBe(true);
    expect(mayImport(gpu("wgsl"), gpu("runtime"))).toBe(false);
    expect(mayImport(gpu("analysis"), gpu("ecc"))).toBe(false);
    expect(mayImportPackage("belay-cli", "belay-gpu")).toBe(true);
    expect(mayImportPackage("belay-gpu", "belay-cli")).toBe(false);
    expect(mayImportPackage("belay-speculate", "belay-node")).toBe(false);
  });

  it("of the rooms of a folder flow in one direction", () => {
    const wrong = Object.entries(innerRooms).flatMap(([folder, order]) =>
      upwardImports(folder, order, roomed),
    );
    expect(wrong).toEqual([]);
  });

  it("form no cycle between files, types included", () => {
    const circles = circlesIn(new Map(roomed.map((file) => [file, importsOf(file).files])));
    expect(circles).toEqual([]);
  });

  it("that go up between rooms, or form a cycle, are found", () => {
    const [folder] = Object.keys(innerRooms);
    const upside = innerRooms[folder!]!.toReversed();
    expect(upwardImports(folder!, upside, sources).length).toBeGreaterThan(0);
    const imports = new Map([
      ["a", ["b", "d"]],
      ["b", ["c"]],
      ["c", ["a"]],
      ["d", []],
    ]);
    expect(circlesIn(imports)).toEqual([["a", "b", "c"]]);
  });

  it("of a workload are its own files and the type of workloads", () => {
    const wrong = sources
      .filter((file) => placeOf(file)!.folder === "workloads")
      .flatMap((file) =>
        ts
          .preProcessFile(readFileSync(join(root, file), "utf8"), true, true)
          .importedFiles.map(({ fileName }) => fileName)
          .filter(
            (name) =>
              name.startsWith("belay-") &&
              ![
                "belay-gpu/internal/runtime/tuning/workload",
                "belay-cli/internal/shared/research",
                "belay-speculate",
              ].includes(name),
          )
          .map((name) => `${file} imports ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  it("are checked for each folder, and the map of the sources lists each folder", () => {
    const map = readFileSync(join(root, "packages/README.md"), "utf8");
    for (const { name, folder } of packages) {
      const known = rooms[name]!.flat();
      const found = new Set(
        sources.filter((file) => placeOf(file)!.package === name).map((file) => placeOf(file)!.folder),
      );
      expect([...found].filter((each) => each !== "").toSorted()).toEqual(known.toSorted());
      for (const each of known) expect(map).toContain(`\`${folder}/src/${each}/\``);
    }
    for (const [folder, known] of Object.entries(innerRooms)) {
      const found = new Set(roomed.flatMap((file) => roomIn(folder, file) ?? []));
      expect([...found].toSorted()).toEqual(known.toSorted());
      for (const room of known.filter(Boolean)) expect(map).toContain(`\`${room}/\``);
    }
  });
});

describe("files", () => {
  const source = (file: string) => readFileSync(join(root, file), "utf8");
  /** A transform rewrites its program argument, and its file is named after it. */
  const transforms = sources.filter(
    (file) =>
      file.startsWith("packages/belay-gpu/src/transforms/") &&
      new RegExp(`export function ${basename(file, ".ts")}\\(\\s*program: Program`).test(source(file)),
  );

  it("of transforms have a test beside them", () => {
    const tests = new Set(all);
    const untested = transforms.filter((file) => !tests.has(file.replace(/\.ts$/, ".test.ts")));
    expect(transforms.length).toBeGreaterThan(0);
    expect(untested).toEqual([]);
  });

  it("are named after their contents", () => {
    const vague = /^(utils?|misc|common)\b/;
    expect(all.filter((file) => vague.test(basename(file)))).toEqual([]);
  });
});
