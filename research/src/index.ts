/** The papers' programs and the commands that measure them, as the command `belay` loads them. */
export { benchCommand } from "./commands/bench.ts";
export { campaignSizes } from "./workloads/campaignSizes.ts";
export { catalog } from "./workloads/index.ts";
