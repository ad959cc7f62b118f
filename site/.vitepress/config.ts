import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type DefaultTheme, defineConfig } from "vitepress";

const root = resolve(import.meta.dirname, "../..");
const repository = "https://github.com/belay-gpu/belay";

/** Returns the first heading of a document. */
function titleOf(file: string): string {
  return /^# (.*)$/m.exec(readFileSync(join(root, file), "utf8"))![1]!.replaceAll("`", "");
}

const page = (file: string): DefaultTheme.SidebarItem => ({
  text: titleOf(file),
  link: `/${file.replace(/README\.md$/, "").replace(/\.md$/, "")}`,
});

/** Returns the pages of a folder by their titles, its own page first. */
function pagesIn(folder: string): DefaultTheme.SidebarItem[] {
  const files = readdirSync(join(root, folder)).filter((name) => name.endsWith(".md"));
  const own = files.filter((name) => name === "README.md");
  return [...own, ...files.filter((name) => name !== "README.md")].map((name) => page(`${folder}/${name}`));
}

const group = (text: string, items: DefaultTheme.SidebarItem[], collapsed?: boolean) => ({
  text,
  items,
  ...(collapsed !== undefined && { collapsed }),
});

/**
 * Returns the address of a link in a document. Links to documents stay; links to other files of the
 * repository go to GitHub.
 */
function linkFrom(file: string, href: string): string {
  if (/^(\w+:|#|\/)/.test(href)) return href;
  const [path, anchor] = href.split("#") as [string, string?];
  const target = relative(root, resolve(root, dirname(file), path));
  const isFolder = existsSync(join(root, target, "README.md"));
  const isPage = path.endsWith(".md") || isFolder;
  if (!isPage) return `${repository}/blob/main/${target}`;
  const document = isFolder ? `${path.replace(/\/$/, "")}/index.md` : path.replace(/README\.md$/, "index.md");
  return anchor === undefined ? document : `${document}#${anchor}`;
}

export default defineConfig({
  title: "Belay",
  description: "Checked execution for WebGPU compute: GPUs return wrong numbers, and Belay finds them.",
  lang: "en",
  srcDir: root,
  srcExclude: [
    "**/node_modules/**",
    "**/goldens/**",
    "**/.github/**",
    "**/dist/**",
    "belay-report/**",
    "belay-campaign/**",
    "examples/**/node_modules/**",
  ],
  outDir: join(root, "site/dist"),
  cacheDir: join(root, "site/.vitepress/cache"),
  // The documents keep their places in the repository, so their links to each other hold.
  rewrites: (id) =>
    basename(id) === "README.md" ? id.replace(/README\.md$/, "index.md") : id.replace(/^site\/api\//, "api/"),
  markdown: {
    anchor: { slugify: githubAnchor },
    languageAlias: { wgsl: "rust" },
    config(markdown) {
      markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
        const file = relative(root, env.realPath ?? env.path);
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === "link_open" && token.attrGet("href");
          if (href) token.attrSet("href", linkFrom(file, href));
        }
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: repository }],
    nav: [
      { text: "Guides", link: "/docs/guides/protect-a-program" },
      { text: "Reference", link: "/docs/reference/api" },
      { text: "API", link: "/api/" },
      { text: "Design", link: "/ARCHITECTURE" },
      { text: "Measurements", link: "/docs/design/measurements/" },
      { text: "Playground", link: "/playground/index.html", target: "_self" },
    ],
    sidebar: {
      "/api/": [
        group("API", [
          ...["belay-gpu", "belay-gpu/wgsl", "belay-node", "belay-speculate"].map((name) => ({
            text: name,
            link: `/api/${name}/`,
          })),
          { text: "Reference", link: "/docs/reference/api" },
        ]),
      ],
      "/": [
        group("Start", [
          { text: "Belay", link: "/" },
          page("docs/README.md"),
          page("examples/README.md"),
          page("docs/glossary.md"),
        ]),
        group("Guides", pagesIn("docs/guides")),
        group("Reference", [...pagesIn("docs/reference"), { text: "API", link: "/api/" }]),
        group("Design", [page("ARCHITECTURE.md"), ...pagesIn("docs/design")]),
        group("Measurements", pagesIn("docs/design/measurements")),
        group("Decisions", pagesIn("docs/design/decisions"), true),
        group(
          "Sources",
          [page("packages/README.md"), page("CONTRIBUTING.md"), ...pagesIn("docs/contributing")],
          true,
        ),
      ],
    },
    footer: { message: "Apache 2.0" },
  },
});

/** Returns the anchor of a heading as GitHub makes it. The documents' links are written for it. */
function githubAnchor(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
