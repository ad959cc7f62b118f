/** Knows programs by name, for the process that a campaign runs them in. */
import { createHash } from "node:crypto";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { CampaignProgram } from "../../campaign/processes/readyProgram.ts";
import { importResearch, importResearchIfInstalled } from "../../shared/research.ts";
import { loadWorkload } from "../../shared/workloads/loadWorkload.ts";
import { digestOfModule } from "./moduleGraph.ts";

/** This module, which the process with the device imports for `programNamed`. */
export const programsModule = new URL(import.meta.url);

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** Returns a program of the catalog, small; undefined for the name of a module. */
async function programOfCatalog(name: string): Promise<VerifiableProgram | undefined> {
  const research = await importResearchIfInstalled();
  return research?.catalog.find((each) => each.name === name)?.campaign();
}

/** Returns whether a name is that of a module, and of no program of the catalog. */
export async function isModule(name: string): Promise<boolean> {
  const research = await importResearchIfInstalled();
  return !research?.catalog.some((each) => each.name === name);
}

/**
 * Returns the digest of all that decides what a program computes. A module is read for it, and not
 * imported.
 */
export async function digestOf(name: string): Promise<string> {
  return digestOfProgram(name, await programOfCatalog(name));
}

function digestOfProgram(name: string, program: VerifiableProgram | undefined): string {
  return program ? digest(JSON.stringify([program.kernelSources, program.work])) : digestOfModule(name);
}

/**
 * Returns a program of the catalog, small, or imports the workload that a module exports, which may
 * never end. Rejects with a `CommandFailure`.
 */
export async function programNamed(name: string): Promise<CampaignProgram> {
  const program = await programOfCatalog(name);
  const runs = program ?? (await loadWorkload(name));
  return { name, digest: digestOfProgram(name, program), runs };
}

/** The names that a command line asks for. */
export async function namesOf(workload: string): Promise<string[]> {
  return workload === "all"
    ? (await importResearch()).catalog.map(({ name }) => name)
    : [...new Set(workload.split(","))];
}
