import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

/** Packages of this repository are imported from their sources. */
const conditions = ["belay-source"];

/**
 * Returns the sources of this repository's packages by the names that they are imported by.
 * Processes that tests start resolve these names by jiti, which would take what was built.
 */
function sourcesByName(): Record<string, string> {
  const folders = ["belay-gpu", "belay-node", "belay-speculate", "belay-cli"].map(
    (name) => `packages/${name}`,
  );
  return Object.fromEntries(
    [...folders, "research"].flatMap((folder) => {
      const { name, exports } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
      return Object.entries<string | Record<string, string>>(exports).flatMap(([path, target]) => {
        if (typeof target === "string") return [];
        const source = resolve(folder, target["belay-source"]!);
        return [[`${name}${path.slice(1).replace(/\/\*$/, "")}`, source.replace(/\/\*\.ts$/, "")]];
      });
    }),
  );
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    env: { JITI_ALIAS: JSON.stringify(sourcesByName()) },
    include: ["packages/*/src/**/*.test.ts", "research/src/**/*.test.ts", "test/**/*.test.ts"],
    // No test depends on a clock: these only end what hangs, also on a machine that is busy with
    // something else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 600_000,
    // These reach no thread that is blocked.
    setupFiles: ["test/support/watchdogSetup.ts"],
    // Dawn and SwiftShader are native code: a process keeps a crash from taking the runner along.
    // Files share processes, as loading the compiler and a driver for each would take a third of
    // the time.
    pool: "forks",
    // Two cores have one worker by default, which leaves a core idle while a driver compiles.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    isolate: false,
  },
});
