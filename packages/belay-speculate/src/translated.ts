/** The functions that translated programs call. The plugin writes the calls. */
export { speculate } from "./engine/speculate.ts";
export { onCopies, partsOf } from "./engine/transfer/copies.ts";
export { requireOnHost, takeTurn } from "./engine/writtenLoops.ts";
