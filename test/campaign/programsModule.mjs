/** The programs for the process with the device, which executes JavaScript. */
import { createJiti } from "jiti";

export const { programNamed } = await createJiti(import.meta.url).import("./programs.ts");
