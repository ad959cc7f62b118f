import { codeOf, labelOf } from "belay-gpu/internal/diagnostics/registry";
import { Command, CommanderError, Help, type Option } from "commander";
import { importResearch } from "./shared/research.ts";
import { exitStatus } from "./shared/terminal/failure.ts";
import { type CommandFactory, type Io, printError, printThrown, tell } from "./shared/terminal/io.ts";
import { readVersion } from "./shared/version.ts";

/** A command that is loaded only if a command line names it. */
interface CommandEntry {
  readonly name: string;
  /** The command's line in the list of all commands. */
  readonly summary: string;
  readonly load: () => Promise<CommandFactory>;
}

const commands: readonly CommandEntry[] = [
  {
    name: "protect",
    summary: "print the protected form of a WGSL module",
    load: async () => (await import("./commands/protect.ts")).protectCommand,
  },
  {
    name: "run",
    summary: "run a workload plain and hardened, and compare",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  {
    name: "tune",
    summary: "measure which protection costs a workload least",
    load: async () => (await import("./commands/tune.ts")).tuneCommand,
  },
  {
    name: "demo",
    summary: "protect the papers' programs, inject faults, and show what was caught; in a clone only",
    load: async () => (await import("./commands/demo/demo.ts")).demoCommand,
  },
  {
    name: "bench",
    summary: "verify and measure a paper's programs; in a clone only",
    load: async () => (await importResearch()).benchCommand,
  },
  {
    name: "speculate",
    summary: "show what becomes of the loops in a TypeScript or JavaScript file",
    load: async () => (await import("./commands/speculate.ts")).speculateCommand,
  },
  {
    name: "campaign",
    summary: "inject faults, and measure the coverage",
    load: async () => (await import("./commands/campaign/campaign.ts")).campaignCommand,
  },
  {
    name: "blame",
    summary: "find who makes the results of a dispatch wrong",
    load: async () => (await import("./commands/blame.ts")).blameCommand,
  },
  {
    name: "doctor",
    summary: "show the adapter that is used, and test it",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
];

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
    for (const { name, summary, load } of commands) {
      // `belay NAME …` or `belay help NAME`
      const named = args.slice(0, 2).includes(name);
      const command = named ? (await load())(io, finish) : new Command(name);
      program.addCommand(command.summary(summary));
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
