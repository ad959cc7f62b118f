/** The sources and the bytes that a web page gets with the package. */
import { relative } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { root } from "./support/workspaces.ts";

/**
 * Bundles a page that imports some names. Returns the sources that it loads at its start, and their
 * minified size in bytes: as it is, and compressed by gzip and by Brotli.
 */
async function bundled(
  names: string,
  from: string,
): Promise<{
  folders: string[];
  bytes: number;
  compressed: number;
  brotli: number;
}> {
  const { metafile, outputFiles } = await build({
    stdin: {
      contents: `import { ${names} } from "${from}"; globalThis.x = [${names}];`,
      resolveDir: root,
    },
    bundle: true,
    conditions: ["belay-source"],
    absWorkingDir: root,
    format: "esm",
    // A page cannot contain modules of Node.js: an import of one is an error.
    platform: "browser",
    minify: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: root,
  });
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const each of metafile.outputs[path]!.imports) if (each.kind === "import-statement") load(each.path);
  };
  load(Object.keys(metafile.outputs).find((path) => metafile.outputs[path]!.entryPoint)!);
  const files = [...loaded]
    .flatMap((path) => Object.entries(metafile.outputs[path]!.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = files.flatMap(
    ([path]) => /^packages\/[^/]+\/src\/(.+)\//.exec(path)?.[1]?.split("/")[0] ?? [],
  );
  const sent = outputFiles.filter(({ path }) => loaded.has(relative(root, path)));
  const sum = (sizeOf: (contents: Uint8Array) => number) =>
    sent.reduce((bytes, { contents }) => bytes + sizeOf(contents), 0);
  return {
    folders: [...new Set(folders)].sort(),
    bytes: sum(({ length }) => length),
    compressed: sum((contents) => gzipSync(contents, { level: 9 }).length),
    brotli: sum((contents) => brotliCompressSync(contents).length),
  };
}

const compiler = ["analysis", "compiler", "diagnostics", "ecc", "transforms", "wgsl"];

describe("a page", () => {
  it.each([
    ["protect", "belay-gpu", compiler, 384_000],
    ["harden", "belay-gpu", [...compiler, "runtime"].sort(), 626_000],
    ["twoTexts", "belay-gpu/diversity", ["analysis", "diagnostics", "transforms", "wgsl"], 48_000],
    ["parse, resolve, print", "belay-gpu/wgsl", ["diagnostics", "wgsl"], 130_000],
    [
      "speculate, takeTurn",
      "belay-speculate/internal/translated",
      ["diagnostics", "engine", "loops"],
      160_000,
    ],
    ["speculate, reduction", "belay-speculate", [], 1000],
    ["structures", "belay-gpu", ["compiler"], 1000],
  ])("that imports %s of %s contains only the sources that it needs", async (names, from, folders, most) => {
    const page = await bundled(names, from);
    expect(page.folders).toEqual(folders);
    expect(page.bytes).toBeLessThan(most);
  });

  it("that audits dispatches gets the reference executor", async () => {
    const page = await bundled("auditor", "belay-gpu/audit");
    expect(page.folders).toEqual([
      "analysis",
      "audit",
      "compiler",
      "diagnostics",
      "qualify",
      "reference",
      "runtime",
      "wgsl",
    ]);
    expect(page.compressed).toBeLessThan(64_500);
  });

  it("that checks sums of products gets the reference executor", async () => {
    const page = await bundled("algebra, findSumsOfProducts, SumsCheck", "belay-gpu/algebra");
    expect(page.folders).toEqual([
      "algebra",
      "analysis",
      "compiler",
      "diagnostics",
      "reference",
      "runtime",
      "transforms",
      "wgsl",
    ]);
    expect(page.compressed).toBeLessThan(87_000);
  });

  it("that qualifies devices gets the reference executor, and 68,000 bytes as they are sent", async () => {
    // A further part comes with the first kernel that has textures.
    const page = await bundled("qualify", "belay-gpu/qualify");
    expect(page.folders).toEqual(["analysis", "compiler", "diagnostics", "qualify", "reference", "wgsl"]);
    expect(page.compressed).toBeLessThan(68_000);
    expect(page.brotli).toBeLessThan(60_000);
  });
});
