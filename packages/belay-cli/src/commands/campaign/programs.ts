/** The programs by name, for the process that runs them in a campaign. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { CampaignProgram } from "../../campaign/processes/readyProgram.ts";
import { importResearch, importResearchIfInstalled } from "../../shared/research.ts";
import { builtModule } from "../../shared/workloads/guard.ts";
import { loadWorkload } from "../../shared/workloads/loadWorkload.ts";
import { digestOfModule } from "./moduleGraph.ts";

/** The URL of this module. The process with the device imports it for `programNamed`. */
export const programsModule = builtModule(new URL(import.meta.url));

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** Returns a known program at its campaign size, or undefined for the name of a module. */
async function knownProgram(name: string): Promise<VerifiableProgram | undefined> {
  const { catalog = [], furtherPrograms = [] } = (await importResearchIfInstalled()) ?? {};
  return [...catalog, ...furtherPrograms].find((each) => each.name === name)?.campaign();
}

/** Returns whether a name denotes a module, not a known program. */
export async function isModule(name: string): Promise<boolean> {
  return (await knownProgram(name)) === undefined;
}

/**
 * Returns the digest of everything that decides a program's results. A module is read, but not
 * imported.
 */
export async function digestOf(name: string): Promise<string> {
  return digestOfProgram(name, await knownProgram(name));
}

function digestOfProgram(name: string, program: VerifiableProgram | undefined): string {
  return program ? digest(JSON.stringify([program.kernelSources, program.work])) : digestOfModule(name);
}

/**
 * Returns a known program at its campaign size, or imports the workload of a module. Such an import
 * may never end. Rejects with a `CommandFailure` if the import fails.
 */
export async function programNamed(name: string): Promise<CampaignProgram> {
  const program = await knownProgram(name);
  const runs = program ?? (await loadWorkload(name));
  return { name, digest: digestOfProgram(name, program), runs };
}

/**
 * Returns the names of the programs that a command line asks for. Rejects with a `CommandFailure`
 * if the package that has them is not installed.
 */
export async function namesOf(workload: string, research = importResearch): Promise<string[]> {
  if (workload === "all") return (await research()).catalog.map(({ name }) => name);
  const names = [...new Set(workload.split(","))];
  // A word that is no file can only be a known program.
  if (names.some((name) => /^\w+$/.test(name) && !existsSync(name))) await research();
  return names;
}
