import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "workloads/**/*.test.ts"],
    testTimeout: 60_000,
    // Dawn and SwiftShader are native code: a process each keeps a crash from taking other tests along.
    pool: "forks",
  },
});
