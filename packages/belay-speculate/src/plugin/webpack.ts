import { speculation } from "./plugin.ts";

export type { PluginFactory, SpeculationPluginOptions, WebpackPlugin } from "./plugin.ts";

/** Makes the plugin for webpack: `plugins: [speculation()]` in `webpack.config.js`. */
export default speculation.webpack;
