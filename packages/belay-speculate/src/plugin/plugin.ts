/** Translates loops that have directives, in Vite, Rollup, Rolldown, esbuild and webpack. */

import { renderDiagnostic } from "belay-gpu/internal/diagnostics/render";
import { createUnplugin, type UnpluginInstance } from "unplugin";
import { mayHaveLoops, replaceLoops } from "./replaceLoops.ts";
import { asBuilt } from "./severity.ts";

/** Options of the plugin, in every bundler. */
export interface SpeculationPluginOptions {
  /**
   * Makes a loop that cannot be translated an error. Otherwise it stays as it is, and a warning
   * says why. Default: false.
   */
  readonly strict?: boolean;
}

type Plugins = UnpluginInstance<SpeculationPluginOptions | undefined>;

/** Comes first: other tools remove comments, and the directives with them. */
export const speculation: Plugins = createUnplugin((options) => ({
  name: "belay-speculation",
  enforce: "pre",
  transform: {
    filter: { id: /\.[cm]?[jt]sx?(\?.*)?$/ },
    handler(source, id) {
      if (!mayHaveLoops(source)) return null;
      const filename = id.replace(/\?.*$/, "");
      const { code, map, diagnostics } = replaceLoops(source, filename);
      for (const found of diagnostics) {
        const diagnostic = asBuilt(found, options?.strict);
        const text = renderDiagnostic(diagnostic, source, { file: filename });
        if (diagnostic.severity === "error") this.error(text);
        else this.warn(text);
      }
      return code === undefined ? null : { code, map: map ?? null };
    },
  },
}));

// Their types are named, as no program has all bundlers.
/** For Vite: `plugins: [vite()]`. */
export const vite: Plugins["vite"] = speculation.vite;
/** For Rollup: `plugins: [rollup()]`. */
export const rollup: Plugins["rollup"] = speculation.rollup;
/** For Rolldown: `plugins: [rolldown()]`. */
export const rolldown: Plugins["rolldown"] = speculation.rolldown;
/** For esbuild: `plugins: [esbuild()]`. */
export const esbuild: Plugins["esbuild"] = speculation.esbuild;
/** For webpack: `plugins: [webpack()]`. */
export const webpack: Plugins["webpack"] = speculation.webpack;
