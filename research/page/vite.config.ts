import { defineConfig } from "vite";

/** The page that measures programs. */
export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ["belay-source", "import", "browser", "default"] },
  build: { outDir: "../dist/page", target: "es2023" },
});
