/**
 * All names in the documentation exist: files, sections, commands, their options, and the imports
 * of examples.
 */
import { readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { runCommandLine } from "belay-cli/internal/commandLine";
import type { Io } from "belay-cli/internal/shared/terminal/io";
import { translate } from "belay-speculate/internal/loops/translate";
import { describe, expect, it } from "vitest";
import { expectParts, pages, shownOutputs, textOf } from "./support/documents.ts";
import { entryPoints, root } from "./support/workspaces.ts";

const files = ["packages", "research", "site", "examples", "test", "docs", "."].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" })
    .map((file) => join(folder, file).replaceAll("\\", "/"))
    .filter((file) => !/\/(node_modules|dist)\//.test(file)),
);
/** The anchors of sections as GitHub names them. */
const anchorsIn = (markdown: string) =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

const codeOf = (markdown: string) =>
  [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, , code]) => code!);
const quotedIn = (markdown: string) =>
  [...markdown.replace(/^```.*?^```$/gms, "").matchAll(/`([^`]+)`/g)].map(([, quoted]) =>
    quoted!.replace(/\s+/g, " "),
  );

describe.each(pages)("%s", (page) => {
  const markdown = textOf(page);

  it("links to existing targets", () => {
    const links = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    const wrong = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [path, anchor] = link.split("#") as [string, string?];
      const target = path ? relative(root, resolve(root, dirname(page), path)).replaceAll("\\", "/") : page;
      if (!files.includes(target)) return true;
      return anchor !== undefined && !anchorsIn(textOf(target)).includes(anchor);
    });
    expect(wrong).toEqual([]);
  });

  it("names existing files", () => {
    const named = quotedIn(markdown).filter((quoted) =>
      /^[\w./-]+(\.(ts|mjs|json|md|svg|txt)|\/)$/.test(quoted),
    );
    const users = /^(kernel|workload|loops|program|file|report|result|campaign|belay-report|my-workload)\b/;
    const wrong = named
      .map((name) => name.replace(/^\.\.?\//, "").replace(/\/$/, ""))
      .filter(
        (name) => !users.test(name) && !files.some((file) => file === name || file.endsWith(`/${name}`)),
      );
    expect(wrong).toEqual([]);
  });
});

/** Runs a command. Returns its exit status and its output. */
async function run(words: readonly string[]) {
  const written = { stdout: "", stderr: "" };
  const sink = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) });
  const io = { stdout: sink("stdout"), stderr: sink("stderr"), stdin: process.stdin } as unknown as Io;
  return { status: await runCommandLine(words, io), ...written };
}

/** Returns the help of a command; empty if there is no such command. */
async function helpOf(words: readonly string[]): Promise<string> {
  const { status, stdout } = await run([...words, "--help"]);
  return status === 0 ? stdout : "";
}

const optionsIn = (text: string) =>
  [...text.matchAll(/(?<![\w-])(--?[a-z][\w-]*)/g)].map(([, option]) => option!);

it("names existing commands and options", async () => {
  const lines = pages.flatMap((page) => {
    const markdown = textOf(page);
    const inBlocks = codeOf(markdown).flatMap((code) => code.split("\n"));
    return [...quotedIn(markdown), ...inBlocks].flatMap((line) => {
      const [, command] = /^(?:\$ |npx )?belay ([a-z][^#]*)/.exec(line) ?? [];
      return command ? [{ page, command: command.replaceAll("\\|", "|") }] : [];
    });
  });
  expect(lines.length).toBeGreaterThan(20);
  const wrong: string[] = [];
  for (const { page, command } of lines) {
    const [first, second = ""] = command.split(/\s+/) as [string, string?];
    const hasSubcommand = first === "bench" || /^(work|merge|compare|replay|signature)$/.test(second);
    for (const sub of hasSubcommand ? second.split("|") : [undefined]) {
      const own = sub ? [first, sub] : [first];
      const help = await helpOf(own);
      const known = new Set(optionsIn(help));
      const unknown = optionsIn(command).filter((option) => !known.has(option));
      if (!help.includes(`belay ${own.join(" ")}`) || unknown.length > 0)
        wrong.push(`${page}: belay ${command}: ${unknown}`);
    }
  }
  expect(wrong).toEqual([]);
});

/** The commands that open no device. `documentPrograms.test.ts` has the others. */
const commandOutputs = shownOutputs().flatMap(({ page, command, output }) => {
  const [, args] = /^npx belay ((?:protect|speculate) .*)/.exec(command) ?? [];
  return args ? [{ page, args, output }] : [];
});

it.each(commandOutputs)("$page shows the output of belay $args", async ({ args, output }) => {
  const { stdout, stderr } = await run(args.split(" "));
  expectParts(stderr + stdout, output);
});

/** The texts of the documents' examples. They are files, so that commands can name them. */
const exampleTexts = files.filter((file) => /^docs\/(design|guides)\/examples\//.test(file)).map(textOf);

const flush = (text: string) => text.replace(/^ +/gm, "");

it.each(pages.filter((page) => /^(ARCHITECTURE|docs\/(design|guides)\/)/.test(page)))(
  "%s shows programs, kernels and loops as they are in files",
  (page) => {
    const shown = [...textOf(page).matchAll(/^```(?:wgsl|ts)\n(.*?)^```$/gms)].map(([, code]) => code!);
    const texts = exampleTexts.map(flush);
    expect(shown.filter((code) => !texts.some((text) => text.includes(flush(code))))).toEqual([]);
  },
);

it("the public interface documents each part", () => {
  const sources = files.filter((file) => /^packages\/.*(?<!\.test)\.ts$/.test(file));
  const declared = sources.flatMap((file) => [
    ...textOf(file).matchAll(
      /(\*\/\n)?^(?:export )?(?:async )?(?:abstract )?(?:interface|type|function|class|const) (\w+)/gm,
    ),
  ]);
  const documented = new Set(declared.flatMap(([, comment, name]) => (comment ? [name!] : [])));
  const exported = [...entryPoints().values()].flatMap((file) => {
    const source = textOf(file);
    const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, names]) => names!);
    return lists.flatMap((names) => names.match(/\w+(?=,|\s*$)/g) ?? []);
  });
  expect(exported.length).toBeGreaterThan(100);
  expect(exported.filter((name) => !documented.has(name))).toEqual([]);
});

describe("examples", () => {
  const examples = pages
    .filter((page) => /^(README|docs\/(guides|reference)\/(?!diagnostics))/.test(page))
    .flatMap((page) => codeOf(textOf(page)));

  it("import what the packages export", async () => {
    const imports = examples.flatMap((code) => [
      ...code.matchAll(/import \{([^}]*)\} from "(belay-[^"]*)"/g),
    ]);
    expect(imports.length).toBeGreaterThan(5);
    for (const [, names, path] of imports) {
      const source = entryPoints().get(path!);
      expect(source, `${path} is an entry point`).toBeDefined();
      const exported = Object.keys(await import(join(root, source!)));
      expect(exported).toEqual(expect.arrayContaining(names!.split(",").map((name) => name.trim())));
    }
  });

  it("of loops are translated without diagnostics", () => {
    const loops = examples.filter((code) => code.includes('"use speculate"'));
    expect(loops.length).toBeGreaterThan(1);
    for (const code of loops) {
      const { loops: found, diagnostics } = translate(code, "example.ts");
      expect(found.length).toBeGreaterThan(0);
      expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    }
  });
});
