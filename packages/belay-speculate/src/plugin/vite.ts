import { speculation } from "./plugin.ts";

export type { PluginFactory, RollupPlugin, SpeculationPluginOptions } from "./plugin.ts";

/** Makes the plugin for Vite: `plugins: [speculation()]` in `vite.config.ts`. */
export default speculation.vite;
