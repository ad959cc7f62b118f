import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The root of the repository. */
export const root = resolve(import.meta.dirname, "../..");

/** The parts of a package.json that tests look at. */
export interface Manifest {
  readonly name: string;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly "belay-source": string }>>;
}

/** A published package of this repository: its folder, relative to the root, and its manifest. */
export interface Workspace {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The published packages of this repository. */
export const workspaces: readonly Workspace[] = ["gpu", "node", "speculate", "cli"].map((name) => {
  const folder = `packages/belay-${name}`;
  const manifest: Manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  return { folder, manifest };
});

/**
 * Returns the source file of each public entry point, relative to the root, by the name that a
 * program imports. `internal` entry points are left out.
 */
export function entryPoints(): ReadonlyMap<string, string> {
  return new Map(
    workspaces.flatMap(({ folder, manifest }) =>
      Object.entries(manifest.exports).flatMap(([path, target]) =>
        typeof target === "string" || path.includes("*")
          ? []
          : [[`${manifest.name}${path.slice(1)}`, join(folder, target["belay-source"])] as const],
      ),
    ),
  );
}
