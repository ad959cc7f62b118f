import { speculation } from "./plugin.ts";

export type { EsbuildPlugin, PluginFactory, SpeculationPluginOptions } from "./plugin.ts";

/** Makes the plugin for esbuild: `build({ plugins: [speculation()] })`. */
export default speculation.esbuild;
