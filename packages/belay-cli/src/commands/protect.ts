import { twoTexts } from "belay-gpu/diversity";
import { describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import type {
  Channel,
  Check,
  CompilerOptions,
  CompilerResult,
  MemoryCode,
  Pairing,
  Redundancy,
  SelectiveCover,
} from "belay-gpu/internal/compiler/contract";
import { memoryCodeFor } from "belay-gpu/internal/compiler/memoryChoice";
import { unknownConstants } from "belay-gpu/internal/compiler/overrides";
import { passes } from "belay-gpu/internal/compiler/passes";
import { type Protection, protectInPasses } from "belay-gpu/internal/compiler/protect";
import { digestOf, injectedInto, refuseWrongCover } from "belay-gpu/internal/compiler/selectiveCover";
import { printable } from "belay-gpu/internal/diagnostics/printable";
import { lineAndColumn, renderDiagnostic } from "belay-gpu/internal/diagnostics/render";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { Command, InvalidArgumentError, Option } from "commander";
import { readSource } from "../shared/files/input.ts";
import { writeAtomically } from "../shared/files/output.ts";
import { addPolicyOptions, featureOption, memoryOption, path, refuseBeside } from "../shared/options.ts";
import { CommandFailure, exitStatus } from "../shared/terminal/failure.ts";
import { colorsFor, type Io, isTerminal, jsonOf, tell } from "../shared/terminal/io.ts";

interface Flags {
  readonly redundancy: Redundancy | "auto";
  readonly check: Check;
  readonly channel: Channel | "auto";
  readonly pairing: Pairing | "auto";
  readonly diversity: boolean;
  readonly memory: MemoryCode | "none" | "auto" | "auto-detect";
  readonly feature: string[];
  readonly constant: Record<string, number>;
  readonly subgroupSize?: SubgroupSizes;
  readonly cover?: number;
  readonly faults?: string;
  readonly strict: boolean;
  readonly printAfter?: string;
  readonly timePasses: boolean;
  readonly output?: string;
  readonly json: boolean;
}

/** The number of lanes that a subgroup of a device has at least and at most. */
type SubgroupSizes = Required<Pick<CompilerOptions, "subgroupSize" | "subgroupMaxSize">>;

/** Makes the command `belay protect`, which runs the compiler alone, from text to text. */
export function protectCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("protect").description(
    "Prints the protected form of a WGSL module. Diagnostics go to stderr; the exit status is 1 when one is an error.",
  );
  return compileWith(command, {}, io, finish);
}

/** Makes the command `belay campaign instrument`, which shows a kernel as campaigns strike it. */
export function campaignInstrumentCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("instrument")
    .summary("print the protected form of a WGSL module, with fault sites")
    .description(
      "Prints the protected form of a WGSL module, with the sites at which faults can be armed. With --json, `faultSites` lists them. Diagnostics go to stderr; the exit status is 1 when one is an error.",
    );
  return compileWith(command, { injectFaults: true }, io, finish);
}

/** Adds to a command that it compiles a file. `always` is set whatever the flags are. */
function compileWith(
  command: Command,
  always: CompilerOptions,
  io: Io,
  finish: (status: number) => void,
): Command {
  return addPolicyOptions(command.argument("<file>", "WGSL source, or - for standard input"))
    .addOption(memoryOption())
    .addOption(featureOption())
    .addOption(
      new Option("--constant <name=value>", "value of an override; repeatable")
        .argParser(parseConstant)
        .default({}, "none"),
    )
    .option(
      "--subgroup-size <lanes>",
      "lanes of the device's subgroups, such as 32, or at least and at most, such as 8-32",
      parseSubgroupSizes,
    )
    .option("--cover <share>", "detect this share of silent corruption, such as sdc=0.99", shareFrom)
    .option("--faults <file>", "the faults of a campaign, as JSON, that tell where corruption begins", path)
    .option("--strict", "make every gap in the coverage an error", false)
    .option("--print-after <pass>", "print the module as this pass of the compiler leaves it", knownPass)
    .option("--time-passes", "tell on stderr how long each pass took", false)
    .option("-o, --output <file>", "write there instead of stdout; nothing is written on an error", path)
    .option("--json", "print code, diagnostics and check sites as JSON", false)
    .hook("preAction", (_, action) => {
      const { redundancy, diversity } = action.opts<Flags>();
      const why = "values are computed twice under auto, in one text";
      if (redundancy !== "auto") refuseBeside(action, `--redundancy ${redundancy}`, ["cover"], why);
      if (diversity) refuseBeside(action, "--diversity", ["cover"], why);
    })
    .action(async (file: string, flags: Flags) => {
      const source = await readSource(file, io);
      const cover = await coverOf(flags, file, io);
      const records = flags.printAfter !== undefined || flags.timePasses;
      const protection = protectInPasses(
        source,
        { ...toProtectOptions(source, flags), ...(cover && { cover }), ...always },
        { records },
      );
      const { result } = protection;
      const failed = result.diagnostics.some(({ severity }) => severity === "error");
      if (!failed) refuseUnknown(source, result, cover, flags);
      if (!flags.json && cover && !failed) tellUnstruck(source, result, cover, flags, io);
      if (!flags.json) tellChoices(protection, source, file, io);
      if (!flags.json && flags.timePasses) tell(io.stderr, timesOf(protection));
      const code = failed ? result.code : codeAfter(protection, flags.printAfter);
      const passTimes = flags.timePasses && { passes: timed(protection) };
      const text = flags.json ? toJson({ ...result, code, ...passTimes }, source) : code;
      if (flags.output && flags.output !== "-" && !failed) await writeAtomically(flags.output, text);
      // A pipe or a file gets the module unchanged.
      else if (flags.json || !failed) io.stdout.write(isTerminal(io.stdout) ? printable(text) : text);
      finish(failed ? exitStatus.failed : exitStatus.ok);
    });
}

/** Returns the selective cover that flags ask for. Rejects if one of them is missing or wrong. */
async function coverOf(
  { cover: sdc, faults: path }: Flags,
  file: string,
  io: Io,
): Promise<SelectiveCover | undefined> {
  if (sdc === undefined && path === undefined) return undefined;
  if (sdc === undefined || path === undefined)
    throw new CommandFailure("usage", "--cover and --faults belong together");
  if (path === "-" && file === "-")
    throw new CommandFailure("usage", "standard input cannot hold both the source and the faults");
  const text = await readSource(path, io);
  try {
    const cover = { sdc, faults: JSON.parse(text) as SelectiveCover["faults"] };
    refuseWrongCover(cover);
    return cover;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    throw new CommandFailure("usage", `${path} does not hold faults of kernels: ${error.message}`, {
      help: "research/src/scripts/selectiveProtection.ts writes such a file",
    });
  }
}

/** Throws a `CommandFailure` for overrides or faults of kernels that the module does not have. */
function refuseUnknown(
  source: string,
  { entryPoints }: CompilerResult,
  cover: SelectiveCover | undefined,
  { constant, faults: path }: Flags,
): void {
  const [override] = unknownConstants(resolve(parse(source).module), constant);
  if (override !== undefined)
    throw new CommandFailure("usage", `the module has no override "${override}" for --constant`);
  const digest = digestOf(source);
  const own = cover?.faults.filter((each) => each.source === source || each.source === digest) ?? [];
  const unknown = own.find((each) => !entryPoints.some(({ name }) => name === each.entryPoint));
  if (unknown)
    throw new CommandFailure(
      "usage",
      `${path} has faults of "${unknown.entryPoint}", which is no entry point of the module`,
    );
}

/** Tells which kernels are protected as a whole because no campaign has struck them. */
function tellUnstruck(
  source: string,
  { entryPoints }: CompilerResult,
  cover: SelectiveCover,
  { faults: path }: Flags,
  io: Io,
): void {
  for (const { name } of entryPoints)
    if (injectedInto(source, name, cover) === 0)
      tell(io.stderr, `protected as a whole: "${name}", as ${path} has no faults of it in this text\n`);
}

/** Returns the share in a text such as sdc=0.99. */
function shareFrom(text: string): number {
  const share = Number(/^sdc=(.+)$/.exec(text)?.[1] ?? Number.NaN);
  if (share > 0 && share <= 1) return share;
  throw new InvalidArgumentError("Expected a share of up to 1, in a form such as sdc=0.99.");
}

/** Tells the diagnostics, the chosen configuration, and new names of declarations. */
function tellChoices({ result }: Protection, source: string, file: string, io: Io): void {
  const { diagnostics, chosen, renamed } = result;
  const color = colorsFor(io.stderr).isColorSupported;
  const shown = { file: file === "-" ? "<stdin>" : file, color };
  for (const diagnostic of diagnostics) tell(io.stderr, `${renderDiagnostic(diagnostic, source, shown)}\n\n`);
  if (chosen) {
    const times = chosen.predicted.toFixed(2);
    tell(io.stderr, `chosen: ${describeConfiguration(chosen)}, predicted ${times}x: ${chosen.reason}\n`);
  }
  for (const [name, other] of Object.entries(renamed))
    tell(io.stderr, `renamed: "${name}" is "${other}" here, as it hides a name that protection needs\n`);
}

function knownPass(name: string): string {
  if (passes.some((pass) => pass.name === name)) return name;
  throw new InvalidArgumentError(`There is no such pass. The passes are ${listed(passes)}.`);
}

const listed = (passes: readonly { readonly name: string }[]) => passes.map(({ name }) => name).join(", ");

/**
 * Returns the module as a pass has left it, or the protected module if `pass` is undefined. Throws
 * a `CommandFailure` if the pass did not run.
 */
function codeAfter({ result, passes: ran }: Protection, pass: string | undefined): string {
  if (pass === undefined) return result.code;
  const record = ran.find((each) => each.pass === pass);
  if (record) return print(record.module);
  const names = ran.map((each) => ({ name: each.pass }));
  throw new CommandFailure("usage", `the pass ${pass} does not run for this module with these options`, {
    help: names.length > 0 ? `those that run are ${listed(names)}` : "no pass runs",
  });
}

const timed = ({ passes: ran }: Protection) =>
  ran.map(({ pass, milliseconds }) => ({ pass, milliseconds: Number(milliseconds.toFixed(3)) }));

function timesOf(protection: Protection): string {
  const rows = timed(protection);
  const width = Math.max(...rows.map(({ pass }) => pass.length), "pass".length);
  const line = (pass: string, time: string) => `${pass.padEnd(width)}  ${time.padStart(9)}\n`;
  const lines = rows.map(({ pass, milliseconds }) => line(pass, milliseconds.toFixed(3)));
  return [line("pass", "ms"), ...lines].join("");
}

/** Returns the compiler's result as JSON, with the line and column of each diagnostic. */
function toJson(result: CompilerResult, source: string): string {
  const diagnostics = result.diagnostics.map((diagnostic) => ({
    ...diagnostic,
    ...lineAndColumn(source, diagnostic.span.start),
  }));
  return `${jsonOf({ ...result, diagnostics })}\n`;
}

function toProtectOptions(source: string, flags: Flags): CompilerOptions {
  const { feature, constant, redundancy, check, channel, pairing, diversity, strict } = flags;
  const memory = memoryCodeFor(flags.memory, [source]);
  return {
    redundancy,
    check,
    channel,
    pairing,
    diversity: diversity && twoTexts,
    memory,
    strict,
    features: feature,
    constants: constant,
    ...flags.subgroupSize,
  };
}

function parseSubgroupSizes(text: string): SubgroupSizes {
  const [, least, most = least] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const sizes = { subgroupSize: Number(least), subgroupMaxSize: Number(most) };
  if (
    isSubgroupSize(sizes.subgroupSize) &&
    isSubgroupSize(sizes.subgroupMaxSize) &&
    !(sizes.subgroupSize > sizes.subgroupMaxSize)
  )
    return sizes;
  throw new InvalidArgumentError("Expected a power of two from 4 to 128, or two such as 8-32.");
}

/** Returns true for a size that WGSL allows. Source: WGSL, built-in value `subgroup_size`. */
const isSubgroupSize = (lanes: number) => [4, 8, 16, 32, 64, 128].includes(lanes);

function parseConstant(text: string, all: Record<string, number>): Record<string, number> {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const number = value === "true" ? 1 : value === "false" ? 0 : Number(value?.trim() || Number.NaN);
  if (!name || !Number.isFinite(number)) throw new InvalidArgumentError("Expected a form such as size=64.");
  if (Object.hasOwn(all, name) && all[name] !== number)
    throw new InvalidArgumentError(`"${name}" has two values.`);
  return { ...all, [name]: number };
}
