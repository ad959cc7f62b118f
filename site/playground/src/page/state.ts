/** The state of the page, which its address holds. */

const views = ["kernel", "memory", "loop", "device"] as const;
export type View = (typeof views)[number];

/** The parameters of the address, by name. All are text. */
export interface PageState extends Readonly<Record<string, string | undefined>> {
  readonly view: View;
}

/** Dispatches `view` when the view of the address changes without a navigation. */
export const stateChanged = new EventTarget();

/** Returns the state in the address. */
export function readState(): PageState {
  const parameters = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return { ...parameters, view: views.find((each) => each === parameters.view) ?? "kernel" };
}

/** Replaces parameters in the address. An undefined one is removed. */
export function writeState(changes: Readonly<Record<string, string | undefined>>): void {
  const parameters = new URLSearchParams(location.hash.slice(1));
  parameters.set("view", readState().view);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name);
    else parameters.set(name, value);
  history.replaceState(null, "", `#${parameters}`);
}

/** Returns a text as characters that an address may hold, compressed. */
export async function packText(text: string): Promise<string> {
  const packed = await through(new Blob([text]), new CompressionStream("deflate-raw"));
  const characters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Returns the text that `packText` packed, or undefined if it is damaged. */
export async function unpackText(packed: string): Promise<string | undefined> {
  try {
    const characters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
    return new TextDecoder().decode(await through(new Blob([bytes]), new DecompressionStream("deflate-raw")));
  } catch {
    return undefined;
  }
}

async function through(blob: Blob, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
}
