/** Knows programs by name, for the process that a campaign runs them in. */
import { createHash } from "node:crypto";
import { campaignSizes } from "../../workloads/campaignSizes.ts";
import { catalog } from "../../workloads/index.ts";
import type { CampaignProgram } from "../campaign/readyProgram.ts";
import type { Program } from "../runtime/workload.ts";
import { loadWorkload } from "./loadWorkload.ts";
import { digestOfModule } from "./moduleGraph.ts";

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** Returns a program of the catalog, small; undefined for the name of a module. */
function programOfCatalog(name: string): Program | undefined {
  const entry = catalog.find((each) => each.name === name);
  return entry && (campaignSizes[name] ?? entry.small)();
}

/** Whether a name is that of a module, and of no program of the catalog. */
export const isModule = (name: string): boolean => !catalog.some((each) => each.name === name);

/**
 * Returns the digest of all that decides what a program computes. A module is read for it, and not
 * imported.
 */
export function digestOf(name: string, program = programOfCatalog(name)): string {
  return program ? digest(JSON.stringify([program.kernelSources, program.work])) : digestOfModule(name);
}

/**
 * Returns a program of the catalog, small, or imports the workload that a module exports, which may
 * never end. Rejects with a `CommandFailure`.
 */
export async function programNamed(name: string): Promise<CampaignProgram> {
  const program = programOfCatalog(name);
  const runs = program ?? (await loadWorkload(name));
  return { name, digest: digestOf(name, program), runs };
}

/** The names that a command line asks for. */
export function namesOf(workload: string): string[] {
  return workload === "all" ? catalog.map(({ name }) => name) : [...new Set(workload.split(","))];
}
