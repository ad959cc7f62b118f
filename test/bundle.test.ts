/** What a web page gets with the package. */
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

/** A page that imports some names: the sources in it, and its bytes when minified. */
async function bundled(names: string, from: string): Promise<{ folders: string[]; bytes: number }> {
  const { metafile, outputFiles } = await build({
    stdin: {
      contents: `import { ${names} } from "./${from}"; globalThis.x = [${names}];`,
      resolveDir: "src",
    },
    bundle: true,
    format: "esm",
    // Modules of Node.js are no part of a page: an import of one is an error.
    platform: "browser",
    minify: true,
    write: false,
    metafile: true,
  });
  const [output] = Object.values(metafile.outputs);
  const files = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = files.map(([path]) => path.split("/")[1] ?? path);
  return { folders: [...new Set(folders)].sort(), bytes: outputFiles[0]!.contents.length };
}

const compiler = ["analysis", "codes", "compiler", "diagnostics", "transforms", "wgsl"];

describe("a page", () => {
  it.each([
    ["protect", "index.ts", compiler, 350_000],
    ["harden", "index.ts", [...compiler, "runtime"].sort(), 500_000],
    ["parse, resolve, print", "wgsl/index.ts", ["diagnostics", "wgsl"], 130_000],
    ["speculate, useDevice", "speculation/index.ts", ["diagnostics", "loops", "speculation"], 160_000],
    ["structures", "index.ts", ["compiler"], 1000],
  ])("that imports %s of %s has just what that needs", async (names, from, folders, most) => {
    const page = await bundled(names, from);
    expect(page.folders.filter((folder) => folder !== "index.ts" && folder !== "<stdin>")).toEqual(folders);
    expect(page.bytes).toBeLessThan(most);
  });
});
