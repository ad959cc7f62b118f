import type { Command } from "commander";
import type { Io } from "./io.ts";

/** Makes a command: registers its flags and help, and reports its exit status when it has run. */
export type CommandFactory = (io: Io, finish: (status: number) => void) => Command;
