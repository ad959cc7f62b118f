import speculation from "belay-speculate/vite";
import { defineConfig } from "vite";

/** The playground: static files with relative addresses, so that they work at any path. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [speculation({ strict: true })],
  resolve: { conditions: ["belay-source", "import", "browser", "default"] },
  build: {
    outDir: "../dist/playground",
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false },
  },
});
