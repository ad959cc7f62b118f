import type { Io } from "belay-cli/internal/shared/terminal/io";
import { Command } from "commander";
import { benchEccCommand } from "./ecc/ecc.ts";
import { benchRmtCommand } from "./rmt/rmt.ts";
import { benchSpeculationCommand } from "./speculation/speculation.ts";

/** Returns the command `belay bench`, which makes the measurements of a paper. */
export function benchCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("bench")
    .summary("verify and measure a paper's programs")
    .description("Verifies a paper's programs and measures what it measures.")
    .addCommand(benchRmtCommand(io, finish))
    .addCommand(benchSpeculationCommand(io, finish))
    .addCommand(benchEccCommand(io, finish));
}
