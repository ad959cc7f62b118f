/** The resolution of imports by each bundler. */
import { dirname } from "node:path";

/** Returns the file that an import of a file means; undefined if it is no file of the program. */
export type Resolve = (specifier: string, importer: string) => Promise<string | undefined>;

/** The objects through which hooks of a plugin reach their bundler, as far as they are used. */
export interface HookContext {
  addWatchFile(file: string): void;
  /** The resolution of Vite, Rollup and Rolldown. */
  resolve?(specifier: string, importer: string): Promise<{ id: string; external?: unknown } | null>;
  readonly getNativeBuildContext?: (() => unknown) | undefined;
}

/** The objects of other bundlers. */
interface NativeContext {
  /** The build of esbuild. */
  readonly build?: {
    resolve(
      specifier: string,
      options: { kind: "import-statement"; importer: string; resolveDir: string },
    ): Promise<{ path: string; external: boolean; namespace: string; errors: readonly unknown[] }>;
  };
  /** The loader of webpack or Rspack. */
  readonly loaderContext?: {
    getResolve(options: object): (folder: string, specifier: string) => Promise<string | false>;
  };
}

/** Returns the resolution of the bundler that runs a hook. The bundler then watches the files. */
export function resolutionOf(context: HookContext): Resolve {
  const native = (context.getNativeBuildContext?.() ?? {}) as NativeContext;
  const loader = native.loaderContext?.getResolve({ dependencyType: "esm" });
  const find: Resolve = async (specifier, importer) => {
    const resolveDir = dirname(importer);
    if (context.resolve) {
      const found = await context.resolve(specifier, importer);
      return found && !found.external ? found.id : undefined;
    }
    if (native.build) {
      const options = { kind: "import-statement", importer, resolveDir } as const;
      const { path, external, namespace, errors } = await native.build.resolve(specifier, options);
      return external || namespace !== "file" || errors.length > 0 ? undefined : path;
    }
    // A module that cannot be found is an error of the build, which the bundler reports itself.
    return (await loader?.(resolveDir, specifier).catch(() => undefined)) || undefined;
  };
  return async (specifier, importer) => {
    const id = await find(specifier, importer);
    // A query asks for another form of the file, unless it is a version.
    const file = id?.replace(/\?[vt]=[^&]*$/, "");
    if (file !== undefined) context.addWatchFile(file);
    return file;
  };
}
