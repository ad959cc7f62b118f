import { speculation } from "./plugin.ts";

export type { PluginFactory, SpeculationPluginOptions, WebpackPlugin } from "./plugin.ts";

/** Makes the plugin for Rspack: `plugins: [speculation()]` in `rspack.config.js`. */
export default speculation.rspack;
