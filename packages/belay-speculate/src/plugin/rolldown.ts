import { speculation } from "./plugin.ts";

export type { PluginFactory, RollupPlugin, SpeculationPluginOptions } from "./plugin.ts";

/** Makes the plugin for Rolldown: `plugins: [speculation()]` in `rolldown.config.ts`. */
export default speculation.rolldown;
