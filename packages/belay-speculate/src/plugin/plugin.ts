/**
 * The plugin that translates loops with directives while a bundler builds. Each bundler has an
 * entry point of its own beside this file.
 */

import { flag, refuseUnknown } from "belay-gpu/internal/diagnostics/options";
import { createUnplugin } from "unplugin";
import { renderLoopDiagnostic } from "../loops/translate.ts";
import { withModules } from "./modules.ts";
import { mayHaveLoops, replaceLoops } from "./replaceLoops.ts";
import { resolutionOf } from "./resolution.ts";
import { asBuilt } from "./severity.ts";

/** The options of the plugin, in every bundler. */
export interface SpeculationPluginOptions {
  /**
   * True if a loop that cannot be translated is an error. Otherwise the loop stays as it is, and a
   * warning says why. Default: false.
   */
  readonly strict?: boolean;
}

/**
 * The function that makes the plugin for one bundler. It throws a `TypeError` for unknown options.
 *
 * Plugins do not use the bundlers' types, as no program installs all bundlers.
 */
export type PluginFactory<Plugin> = (options?: SpeculationPluginOptions) => Plugin;

/** A plugin of Vite, Rollup or Rolldown. */
export interface RollupPlugin {
  /** The name that bundlers show. */
  readonly name: string;
}

/** A plugin of webpack or Rspack. */
export interface WebpackPlugin {
  /** Adds the plugin to a compiler. The bundler calls it. */
  apply(compiler: object): void;
}

/** A plugin of esbuild. */
export interface EsbuildPlugin {
  /** The name that the bundler shows. */
  readonly name: string;
  /** Adds the plugin to a build. The bundler calls it. */
  setup(build: object): void | Promise<void>;
}

/**
 * The plugins of all bundlers. They run first, as other tools remove types and comments, and the
 * directives with them. Rollup and Rolldown do not know `enforce`, and take the hook's `order`.
 */
const plugins = createUnplugin<SpeculationPluginOptions, false>((options) => ({
  name: "belay-speculation",
  enforce: "pre",
  transform: {
    order: "pre",
    filter: { id: /\.[cm]?[jt]sx?(\?.*)?$/ },
    async handler(source, id) {
      if (!mayHaveLoops(source)) return null;
      const filename = id.replace(/\?.*$/, "");
      const { code, map, diagnostics } = await withModules(
        (read) => replaceLoops(source, filename, undefined, read),
        resolutionOf(this),
      );
      for (const found of diagnostics) {
        const diagnostic = asBuilt(found, options.strict);
        const text = renderLoopDiagnostic(diagnostic, source, { file: filename });
        if (diagnostic.severity === "error") this.error(text);
        else this.warn(text);
      }
      return code === undefined ? null : { code, map: map ?? null };
    },
  },
}));

/**
 * Returns a factory that rejects unknown options at once. webpack makes plugins only when it begins
 * to build.
 */
const refusing =
  <Plugin>(make: (options: SpeculationPluginOptions) => Plugin): PluginFactory<Plugin> =>
  (options = {}) => {
    refuseUnknown(options, { strict: flag });
    return make(options);
  };

/** The plugin for each bundler. */
export const speculation = {
  vite: refusing<RollupPlugin>(plugins.vite),
  rollup: refusing<RollupPlugin>(plugins.rollup),
  rolldown: refusing<RollupPlugin>(plugins.rolldown),
  webpack: refusing<WebpackPlugin>(plugins.webpack),
  rspack: refusing<WebpackPlugin>(plugins.rspack),
  esbuild: refusing<EsbuildPlugin>(plugins.esbuild),
};
