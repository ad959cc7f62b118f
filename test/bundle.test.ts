/** The sources and the bytes that a web page gets with the package. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { root } from "./support/workspaces.ts";

/**
 * Bundles a page that imports some names. Returns the sources in it, and its minified size in
 * bytes: as it is, and compressed by gzip.
 */
async function bundled(
  names: string,
  from: string,
): Promise<{
  folders: string[];
  bytes: number;
  compressed: number;
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
  });
  const [output] = Object.values(metafile.outputs);
  const files = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = files.flatMap(
    ([path]) => /^packages\/[^/]+\/src\/(.+)\//.exec(path)?.[1]?.split("/")[0] ?? [],
  );
  const { contents } = outputFiles[0]!;
  return {
    folders: [...new Set(folders)].sort(),
    bytes: contents.length,
    compressed: gzipSync(contents, { level: 9 }).length,
  };
}

const compiler = ["analysis", "compiler", "diagnostics", "ecc", "transforms", "wgsl"];

describe("a page", () => {
  it.each([
    ["protect", "belay-gpu", compiler, 358_000],
    ["harden", "belay-gpu", [...compiler, "runtime"].sort(), 570_000],
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
    expect(page.compressed).toBeLessThan(61_500);
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
    expect(page.compressed).toBeLessThan(72_000);
  });

  it("that qualifies devices gets the reference executor, and 65,500 bytes as they are sent", async () => {
    const page = await bundled("qualify", "belay-gpu/qualify");
    expect(page.folders).toEqual(["analysis", "compiler", "diagnostics", "qualify", "reference", "wgsl"]);
    expect(page.compressed).toBeLessThan(65_500);
  });
});
