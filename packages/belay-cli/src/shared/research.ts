/**
 * The interface of another package with the papers' programs and the commands that measure them.
 */
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { CommandFailure } from "./terminal/failure.ts";
import type { CommandFactory } from "./terminal/io.ts";

/** A program at the sizes that commands use. */
export interface CatalogEntry {
  readonly name: string;
  /** Returns the program at a size that takes a fraction of a second on a software adapter. */
  small(): VerifiableProgram;
  /**
   * Returns the program at a size for thousands of consecutive runs: a few workgroups, odd ends
   * included.
   */
  campaign(): VerifiableProgram;
  /**
   * Returns the program at a size that keeps a large GPU busy, within the device's limits on
   * buffers.
   */
  full(limits: GPUSupportedLimits): VerifiableProgram;
}

/** The exports of the package `belay-research`. */
export interface Research {
  readonly catalog: readonly CatalogEntry[];
  /** Further programs for campaigns, which `all` leaves out. */
  readonly furtherPrograms: readonly Pick<CatalogEntry, "name" | "campaign">[];
  readonly benchCommand: CommandFactory;
}

/**
 * The name of the package. It is no dependency, because it depends on this package and most users
 * never need it.
 */
const name: string = "belay-research";

/** Imports the package `belay-research`. Rejects with a `CommandFailure` if it is not installed. */
export async function importResearch(): Promise<Research> {
  const research = await importResearchIfInstalled();
  if (research) return research;
  throw new CommandFailure("package-missing", `the package ${name} is not installed`, {
    help: "run the command in a clone of Belay's repository, which has the papers' programs",
  });
}

/** Imports the package `belay-research`. Returns undefined if it is not installed. */
export async function importResearchIfInstalled(): Promise<Research | undefined> {
  try {
    return (await import(name)) as Research;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(`'${name}'`)) return undefined;
    throw error;
  }
}
