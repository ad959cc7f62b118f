import { createRequire } from "node:module";

/** Returns the version of this package. */
export function readVersion(): string {
  // The package refers to itself by name, so sources and build find the same file.
  return createRequire(import.meta.url)("belay-cli/package.json").version;
}
