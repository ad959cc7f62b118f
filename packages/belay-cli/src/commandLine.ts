import { codeOf, labelOf } from "belay-gpu/internal/diagnostics/registry";
import { Command, CommanderError, Help, type Option } from "commander";
import { campaignCommand } from "./commands/campaign/campaign.ts";
import { demoCommand } from "./commands/demo/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { protectCommand } from "./commands/protect.ts";
import { runCommand } from "./commands/run.ts";
import { speculateCommand } from "./commands/speculate.ts";
import { tuneCommand } from "./commands/tune.ts";
import { importResearch } from "./shared/research.ts";
import { exitStatus } from "./shared/terminal/failure.ts";
import { type CommandFactory, type Io, printError, printThrown, tell } from "./shared/terminal/io.ts";
import { readVersion } from "./shared/version.ts";

const commands: readonly CommandFactory[] = [
  protectCommand,
  runCommand,
  tuneCommand,
  demoCommand,
  absentBenchCommand,
  speculateCommand,
  campaignCommand,
  doctorCommand,
];

/**
 * Returns a placeholder for `belay bench` in the list of commands. The package with the command is
 * loaded only if the command runs.
 */
function absentBenchCommand(): Command {
  return new Command("bench").summary("verify and measure a paper's programs");
}

/**
 * Runs one command line and returns its exit status. Every failure ends in a message on
 * `io.stderr`.
 */
export async function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  let status: number = exitStatus.ok;
  const finish = (value: number) => {
    status = value;
  };
  const program = new Command("belay")
    .description("Checked execution for WebGPU compute.")
    .version(readVersion())
    // Flags belong to the command before them, because a command and its subcommands may share a
    // flag.
    .enablePositionalOptions();
  try {
    for (const make of commands) {
      const isBench = make === absentBenchCommand && args[0] === "bench";
      program.addCommand((isBench ? (await importResearch()).benchCommand : make)(io, finish));
    }
  } catch (thrown) {
    printThrown(io, thrown, { json: args.includes("--json") });
    return exitStatus.failed;
  }
  for (const command of withSubcommands(program)) {
    for (const option of command.options)
      if (Array.isArray(option.defaultValue))
        option.defaultValueDescription ??= option.defaultValue.join(",");
    command
      .configureHelp({ optionDescription })
      .showHelpAfterError(`(${pathOf(command)} --help says more)`)
      .exitOverride()
      .configureOutput({
        writeOut: (text) => tell(io.stdout, text),
        writeErr: (text) => tell(io.stderr, text),
        outputError: (text, write) => write(text.replace(/^error: /, `error[${labelOf(codeOf("usage"))}]: `)),
      });
  }

  let json = args.includes("--json");
  program.hook("preAction", (_, action) => {
    // In some commands, the flag names a file instead.
    json = action.opts<{ json?: unknown }>().json === true;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return status;
  } catch (thrown) {
    // Commander has already written its message, or the requested help.
    if (thrown instanceof CommanderError) {
      if (thrown.exitCode === 0) return exitStatus.ok;
      const message = thrown.message.replace(/^error: /, "");
      if (json) printError(io, { code: codeOf("usage"), message });
      return exitStatus.usage;
    }
    printThrown(io, thrown, { json });
    return exitStatus.failed;
  }
}

/**
 * Returns the description of an option. A default of false is left out, because every flag is off
 * unless given.
 */
function optionDescription(option: Option): string {
  return option.defaultValue === false ? option.description : new Help().optionDescription(option);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
