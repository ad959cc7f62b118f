import { speculation } from "./plugin.ts";

export type { PluginFactory, RollupPlugin, SpeculationPluginOptions } from "./plugin.ts";

/** Makes the plugin for Rollup: `plugins: [speculation()]` in `rollup.config.js`. */
export default speculation.rollup;
