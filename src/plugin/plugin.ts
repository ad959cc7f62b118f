/** Translates loops that have directives, in Vite, Rollup, Rolldown, esbuild and webpack. */
import { createUnplugin, type UnpluginInstance } from "unplugin";
import { renderDiagnostic } from "../diagnostics/render.ts";
import { mayHaveLoops, replaceLoops } from "./replaceLoops.ts";

export interface SpeculationPluginOptions {
  /** Makes a loop that cannot be translated an error. Otherwise it stays as it is, and a warning says why. Default: false. */
  readonly strict?: boolean;
}

/** Comes first: other tools remove comments, and the directives with them. */
export const speculation: UnpluginInstance<SpeculationPluginOptions | undefined> = createUnplugin(
  (options) => ({
    name: "belay-speculation",
    enforce: "pre",
    transform: {
      filter: { id: /\.[cm]?[jt]sx?(\?.*)?$/ },
      handler(source, id) {
        if (!mayHaveLoops(source)) return null;
        const filename = id.replace(/\?.*$/, "");
        const { code, map, diagnostics } = replaceLoops(source, filename);
        for (const diagnostic of diagnostics) {
          const text = renderDiagnostic(diagnostic, source, { file: filename });
          const isError = diagnostic.severity === "error" && (options?.strict || !isRefusal(diagnostic.code));
          if (isError) this.error(text);
          else this.warn(text);
        }
        return code === undefined ? null : { code, map: map ?? null };
      },
    },
  }),
);

/** A loop that stays sequential is still right; a directive that is wrong is not. */
const isRefusal = (code: string) => code >= "BELAY510" && code < "BELAY530";

export const { vite, rollup, rolldown, esbuild, webpack } = speculation;
