import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

/** Packages of this repository are imported from their sources. */
const conditions = ["belay-source"];

const include = ["packages/*/src/**/*.test.ts", "research/src/**/*.test.ts", "test/**/*.test.ts"];
/**
 * Files that count calls (`test/support/devices/countCalls.ts`). Each has a process of its own. V8
 * walks the heap for each count, and drops the optimized code of everything in it.
 */
const counting = [
  "packages/belay-gpu/src/compiler/complexity.test.ts",
  "packages/belay-gpu/src/wgsl/parser.test.ts",
  "packages/belay-speculate/src/loops/hostile.test.ts",
  "test/wgsl/fuzz.test.ts",
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    globalSetup: ["test/support/processes/buildSetup.ts", "test/support/processes/pollingSetup.ts"],
    // No test depends on a clock: these only end what hangs, also on a machine that is busy with
    // something else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 600_000,
    // These reach no thread that is blocked.
    setupFiles: ["test/support/processes/watchdogSetup.ts", "test/support/processes/typedArraysSetup.ts"],
    // Dawn and SwiftShader are native code: a process keeps a crash from taking the runner along.
    // Files share processes, as loading the compiler and a driver for each would take a third of
    // the time.
    pool: "forks",
    // Tests of processes and queues mostly wait, so two cores bear three workers.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    isolate: false,
    projects: [
      { extends: true, test: { name: "shared", include, exclude: [...configDefaults.exclude, ...counting] } },
      { extends: true, test: { name: "counting", include: counting, isolate: true } },
    ],
  },
});
