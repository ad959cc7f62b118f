/** Knows programs by name, for the process that a campaign runs them in. */
import { createHash } from "node:crypto";
import { campaignSizes } from "../../workloads/campaignSizes.ts";
import { catalog } from "../../workloads/index.ts";
import type { CampaignProgram } from "../campaign/readyProgram.ts";
import { loadWorkload } from "./loadWorkload.ts";
import { digestOfModule } from "./moduleGraph.ts";

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** A program of the catalog, small, or the workload that a module exports. Rejects with a `CommandFailure`. */
export async function programNamed(name: string): Promise<CampaignProgram> {
  const entry = catalog.find((each) => each.name === name);
  if (!entry) {
    const workload = await loadWorkload(name);
    return { name, digest: digestOfModule(name), runs: workload };
  }
  const program = (campaignSizes[name] ?? entry.small)();
  return { name, digest: digest(JSON.stringify([program.kernelSources, program.work])), runs: program };
}

/** The names that a command line asks for. */
export function namesOf(workload: string): string[] {
  return workload === "all" ? catalog.map(({ name }) => name) : [...new Set(workload.split(","))];
}
