/** The function that programs pass to loops with doubles. The plugin writes the import. */
export { callOfWords } from "./engine/call/doubles.ts";
