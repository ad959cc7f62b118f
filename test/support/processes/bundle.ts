import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root, workspaces } from "../workspaces.ts";

/**
 * Modules of the sources as JavaScript, for processes that tests start. Such a process starts in a
 * fraction of the time that it takes to load each source.
 */
export class Bundle implements Disposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Bundles modules, given by their paths from the root. Their names must differ. */
  static async of(...modules: readonly string[]): Promise<Bundle> {
    // Packages are found from here.
    const cache = join(root, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(cache, "belay-bundle-"));
    const dependencies = workspaces.flatMap(({ manifest }) => [
      ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    ]);
    await build({
      absWorkingDir: root,
      entryPoints: [...modules],
      outdir: folder,
      entryNames: "[name]",
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node20",
      conditions: ["belay-source"],
      external: dependencies.filter((name) => !name.startsWith("belay-")),
      logLevel: "error",
    });
    return new Bundle(folder);
  }

  /** Returns the path of a bundled module. */
  path(module: string): string {
    return join(this.#folder, basename(module).replace(/\.ts$/, ".js"));
  }

  /** Imports a bundled module into this process. */
  import(module: string): Promise<unknown> {
    return import(pathToFileURL(this.path(module)).href);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
