import { readdirSync, readFileSync } from "node:fs";
import { mergeConfig } from "vitest/config";
import config from "./vitest.config.ts";

/**
 * Helpers of tests that take long: of devices, processes, compilers and browsers, and of searches
 * at random or for all cases.
 */
const long =
  /\b(testDevices|describePrograms|openGpu|requestAdapter|startDawn|launchChromium|child_process|belay\.ts|compileLoop|runTestCampaign|speculateOnThreads|callCounter|createProgram|fast-check|enumerations)\b/;
/** The one test of a device: programs give the same bits on a hardened one. */
const onDevice = "packages/belay-gpu/src/runtime/programs.test.ts";

const tests = ["packages", "research/src", "test"]
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`))
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"));

/** The tests of a minute: all that use none of these helpers. */
export default mergeConfig(config, {
  test: {
    exclude: tests.filter((name) => name !== onDevice && long.test(readFileSync(name, "utf8"))),
  },
});
