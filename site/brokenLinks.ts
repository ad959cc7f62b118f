import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { parseHTML } from "linkedom";

/** A link of a page to a file or an anchor that does not exist. */
export interface BrokenLink {
  readonly page: string;
  readonly link: string;
}

/**
 * Returns the links of all pages in a folder that lead nowhere, as a file server under `base` would
 * answer them. Links to other hosts are not followed.
 */
export async function brokenLinks(folder: string, base: string): Promise<BrokenLink[]> {
  const files = new Set(
    (await readdir(folder, { recursive: true })).map((name) => name.replaceAll("\\", "/")),
  );
  const names = [...files].filter((name) => name.endsWith(".html"));
  const pages = new Map(
    await Promise.all(
      names.map(async (name) => [name, anchorsAndLinks(await readFile(join(folder, name), "utf8"))] as const),
    ),
  );
  const isBroken = (page: string, link: string): boolean => {
    const [path, anchor] = link.split("#") as [string, string?];
    const inside = path === "" ? page : fileOf(page, decodeURI(path), base);
    if (inside === undefined) return true;
    if (!files.has(inside)) return true;
    return Boolean(anchor) && pages.get(inside)?.anchors.has(decodeURIComponent(anchor!)) === false;
  };
  return [...pages].flatMap(([page, { links }]) =>
    links.filter((link) => isBroken(page, link)).map((link) => ({ page, link })),
  );
}

/** Returns the file that a server answers a path with. Undefined for a path outside of `base`. */
function fileOf(page: string, path: string, base: string): string | undefined {
  if (path.startsWith("/") && !path.startsWith(base)) return undefined;
  const file = path.startsWith("/") ? path.slice(base.length) : posix.join(posix.dirname(page), path);
  return file === "" || file === "." || file.endsWith("/") ? posix.join(file, "index.html") : file;
}

function anchorsAndLinks(html: string): { anchors: ReadonlySet<string>; links: readonly string[] } {
  const { document } = parseHTML(html);
  const all = [...document.querySelectorAll("[id], [href], [src]")];
  const valuesOf = (name: string) => all.flatMap((each) => each.getAttribute(name) ?? []);
  const links = [...valuesOf("href"), ...valuesOf("src")].filter(
    (link) => !/^(\w+:|\/\/)/.test(link) && link !== "#",
  );
  // A view of the playground is no anchor.
  return { anchors: new Set(valuesOf("id")), links: links.filter((link) => !link.startsWith("#view=")) };
}
