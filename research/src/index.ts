/** The papers' programs and the commands that measure them, as the command `belay` loads them. */
export { benchCommand } from "./commands/bench.ts";
export { campaignModels as furtherPrograms } from "./workloads/model/programs.ts";
export { catalog } from "./workloads/samples/index.ts";
