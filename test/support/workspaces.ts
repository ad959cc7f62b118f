import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The root of the repository. */
export const root = resolve(import.meta.dirname, "../..");

/** The parts of a package.json that tests look at. */
export interface Manifest {
  readonly name: string;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<
    Record<string, string | { readonly "belay-source": string; readonly types: string }>
  >;
}

/** A published package of this repository: its folder, relative to the root, and its manifest. */
export interface PublishedPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Reads a package of this repository, in a folder relative to the root. */
function workspaceIn(folder: string): PublishedPackage {
  return { folder, manifest: JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) };
}

/** The published packages of this repository. */
export const workspaces: readonly PublishedPackage[] = ["gpu", "node", "speculate", "cli"].map((name) =>
  workspaceIn(`packages/belay-${name}`),
);

/**
 * Returns the sources of all exports, by the names that programs import. Paths are relative to the
 * root.
 */
function exportsOf(packages: readonly PublishedPackage[]): (readonly [name: string, source: string])[] {
  return packages.flatMap(({ folder, manifest }) =>
    Object.entries(manifest.exports).flatMap(([path, target]) =>
      typeof target === "string"
        ? []
        : [[`${manifest.name}${path.slice(1)}`, join(folder, target["belay-source"])] as const],
    ),
  );
}

/**
 * Returns the source file of each public entry point, relative to the root, by the name that a
 * program imports. `internal` entry points are left out.
 */
export function entryPoints(): ReadonlyMap<string, string> {
  return new Map(exportsOf(workspaces).filter(([name]) => !name.includes("*")));
}
