import type { Io } from "belay-cli/internal/shared/terminal/io";
import { Command } from "commander";
import { benchEccCommand } from "./ecc/ecc.ts";
import { benchProgramsCommand } from "./programs/programs.ts";
import { benchRmtCommand } from "./rmt/rmt.ts";
import { benchSpeculationCommand } from "./speculation/speculation.ts";

/** Returns the command `belay bench`, which makes the published measurements. */
export function benchCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("bench")
    .description("Verifies programs, those of the papers among them, and measures their costs.")
    .addCommand(benchProgramsCommand(io, finish))
    .addCommand(benchRmtCommand(io, finish))
    .addCommand(benchSpeculationCommand(io, finish))
    .addCommand(benchEccCommand(io, finish));
}
