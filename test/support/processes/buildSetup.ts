import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../workspaces.ts";

/** Builds the packages. Processes that tests start execute what was built, as users' do. */
export default function build(): void {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-b", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
}
