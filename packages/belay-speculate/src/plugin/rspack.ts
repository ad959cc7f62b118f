import { speculation } from "./plugin.ts";

/** Makes the plugin for Rspack: `plugins: [speculation()]` in `rspack.config.js`. */
export default speculation.rspack;
