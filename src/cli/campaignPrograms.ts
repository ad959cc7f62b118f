/** Knows programs by name, for the process that a campaign runs them in. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { campaignSizes } from "../../workloads/campaignSizes.ts";
import { catalog } from "../../workloads/index.ts";
import type { CampaignProgram } from "../campaign/readyProgram.ts";
import { loadWorkload } from "./loadWorkload.ts";

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** A program of the catalog, small, or the workload that a module exports. Rejects with a `CommandFailure`. */
export async function programNamed(name: string): Promise<CampaignProgram> {
  const entry = catalog.find((each) => each.name === name);
  if (!entry) {
    const workload = await loadWorkload(name);
    return { name, digest: digest(readFileSync(name, "utf8")), runs: workload };
  }
  const program = (campaignSizes[name] ?? entry.small)();
  return { name, digest: digest(JSON.stringify([program.kernelSources, program.work])), runs: program };
}

/** The names that a command line asks for. */
export function namesOf(workload: string): string[] {
  return workload === "all" ? catalog.map(({ name }) => name) : [...new Set(workload.split(","))];
}
