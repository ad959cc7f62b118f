/**
 * Prints the files and lines of two revisions by subject as a table in Markdown, without tests,
 * their helpers and goldens:
 *
 *   node research/dist/scripts/lineCounts.js [BEFORE] [AFTER]
 *
 * A file belongs to the first subject whose pattern matches its path. The first patterns are of
 * subjects that `BEFORE` does not have.
 */
import { execFileSync } from "node:child_process";

const [before = "d4bc3ebf", after = "HEAD"] = process.argv.slice(2);

const subjects: readonly (readonly [name: string, paths: RegExp])[] = [
  ["reference executor", /^packages\/belay-gpu\/src\/reference\//],
  ["`qualify`", /^packages\/belay-gpu\/src\/qualify\//],
  ["audits", /^packages\/belay-gpu\/src\/audit\//],
  ["checks by algebra", /^packages\/belay-gpu\/src\/algebra\//],
  ["two texts", /\/diversity(\.|\/)/],
  ["`blame`", /\/blame(\.|\/)/],
  ["devices with a compiler that makes mistakes", /^research\/src\/miscompilation\//],
  ["filled bytes", /\/filledBytes(\.|\/)/],
  ["numbers of 64 bits in loops", /\/(doubles|doubleDouble)[A-Za-z]*(\.|\/)/],
  ["campaigns on many machines", /\/campaign\/(queue\/|work\.ts)/],
  ["site and playground", /^site\//],
  ["examples", /^examples\//],
  ["programs as they are used", /^research\/src\/.*\/programs\//],
  ["a transformer", /^research\/src\/workloads\/model\//],
  ["single measurements", /^research\/src\/scripts\//],
  ["language", /\/(wgsl|diagnostics)\//],
  ["analyses", /^(packages\/belay-gpu\/)?src\/analysis\//],
  ["codes for memory", /^((packages\/belay-gpu\/)?src\/(ecc|codes)|research\/src\/ecc)\//],
  ["passes and compiler", /^(packages\/belay-gpu\/)?src\/(transforms|compiler)\//],
  ["runtime", /^(packages\/(belay-gpu|belay-node)\/)?src\/(runtime|adapter[A-Za-z]*|gpu|newDevice)(\/|\.)/],
  [
    "loops and their engines",
    /^(packages\/belay-speculate\/src\/|research\/src\/published\/|src\/(loops|speculation|plugin)\/)/,
  ],
  ["campaigns and commands", /^(packages\/belay-cli\/)?src\/(campaign|report|cli|commands|shared)\//],
  ["benches", /^(src\/bench|bench|research\/src\/(bench|commands))\//],
  ["programs of the papers", /^(workloads|research\/src\/workloads)\//],
  ["entry points", /^/],
];

interface Count {
  files: number;
  lines: number;
  /** The files of fewer than 60 lines. */
  short: number;
}

/** Returns the counts of a revision by subject. */
function countsOf(revision: string): Map<string, Count> {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  const counts = new Map<string, Count>();
  for (const path of git("ls-tree", "-r", "--name-only", revision).split("\n")) {
    const isCounted = path.endsWith(".ts") && !/\.(test|d|config)\.ts$|\/goldens\/|^(test|docs)\//.test(path);
    if (!isCounted) continue;
    const [name] = subjects.find(([, paths]) => paths.test(path))!;
    const count = counts.get(name) ?? { files: 0, lines: 0, short: 0 };
    const lines = git("show", `${revision}:${path}`).split("\n").length - 1;
    counts.set(name, {
      files: count.files + 1,
      lines: count.lines + lines,
      short: count.short + Number(lines < 60),
    });
  }
  return counts;
}

const counts = [countsOf(before), countsOf(after)];
const isOfBoth = (name: string) => counts[0]!.has(name);
const rows: readonly (readonly [title: string, holds: (name: string) => boolean])[] = [
  ...subjects.map(([subject]) => [subject, (name: string) => name === subject] as const),
  ["subjects of both", isOfBoth],
  ["later subjects", (name) => !isOfBoth(name)],
  ["all", () => true],
];
console.log("| subject | lines before | lines after | files | files | short | short |");
console.log("|---|---|---|---|---|---|---|");
for (const [title, holds] of rows) {
  const cells = (["lines", "files", "short"] as const).flatMap((field) =>
    counts.map((revision) =>
      [...revision].reduce((sum, [name, count]) => sum + (holds(name) ? count[field] : 0), 0),
    ),
  );
  console.log(`| ${[title, ...cells].join(" | ")} |`);
}
