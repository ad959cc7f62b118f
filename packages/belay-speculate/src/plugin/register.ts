/**
 * The entry point of `node --import belay-speculate/register program.ts`. It translates loops that
 * have directives while the program is loaded.
 */
import * as module from "node:module";
import { load } from "./loaderHooks.ts";

const { registerHooks } = module as { registerHooks?: (hooks: { load: typeof load }) => void };
// Node.js before 22.15 only has hooks that run in a thread of their own.
if (registerHooks) registerHooks({ load });
else module.register(import.meta.url.replace(/register(?=\.\w+$)/, "loaderHooks"));
