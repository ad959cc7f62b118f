/**
 * Builds the site into `site/dist`: the API reference, the documents and the playground. Then
 * checks all links. Usage: `npm run site`, or `npm run site -- --base /belay/` for a sub-path.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Application, ReflectionKind } from "typedoc";
import { build as buildPages } from "vite";
import { build as buildDocuments } from "vitepress";
import { brokenLinks } from "./brokenLinks.ts";
import playground from "./playground/vite.config.ts";

const { base } = parseArgs({ options: { base: { type: "string", default: "/" } } }).values;
const out = join(import.meta.dirname, "dist");

console.log("API reference …");
const typedoc = await Application.bootstrapWithPlugins({
  options: join(import.meta.dirname, "typedoc.json"),
});
const project = await typedoc.convert();
if (!project || typedoc.logger.hasErrors()) throw new Error("the API reference could not be generated");
// Modules are called what programs import.
for (const module of project.getChildrenByKind(ReflectionKind.Module))
  module.name = module.name.replace("/src", "");
await typedoc.generateOutputs(project);

console.log("Documents …");
await buildDocuments(import.meta.dirname, { base });

console.log("Playground …");
await buildPages({ ...playground, configFile: false, logLevel: "warn" });
await cp(join(import.meta.dirname, "../docs/demo.svg"), join(out, "docs/demo.svg"));

const broken = await brokenLinks(out, base);
for (const { page, link } of broken) console.error(`${page}: ${link} leads nowhere`);
console.log(broken.length === 0 ? `All links lead somewhere. The site is in ${out}.` : "");
process.exitCode = broken.length === 0 ? 0 : 1;
