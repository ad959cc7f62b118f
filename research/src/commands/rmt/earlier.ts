/** The results of earlier runs, for --resume and --merge. */

import { CommandFailure } from "belay-cli/internal/shared/terminal/failure";
import { mergeRmt, type RmtResult } from "../../bench/rmt/rmt.ts";
import type { RmtRun } from "../results/results.ts";
import { readRun } from "../results/run.ts";

/**
 * Returns the result to continue, or undefined when there is none. Refuses one of another size, or
 * with another number of runs.
 */
export async function earlierRun(
  path: string,
  { size, runs }: Pick<RmtRun, "size" | "runs">,
): Promise<RmtRun | undefined> {
  const found = await readRun<RmtRun>(path);
  if (found && (found.size !== size || found.runs !== runs)) {
    throw new CommandFailure("usage", `${path} has another size, or other runs`, {
      help: `resume with --size ${found.size} --runs ${found.runs}, or name another --out`,
    });
  }
  return found;
}

/**
 * Merges several results. Results that differ from the first one in size or number of runs
 * contribute only their fault-free runs.
 */
export async function mergedRun(paths: readonly string[]): Promise<RmtRun> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const run = await readRun<RmtRun>(path);
      if (!run) throw new CommandFailure("unreadable-input", `cannot read ${path}: no such file`);
      return run;
    }),
  );
  const first = found[0]!;
  const isAlike = ({ size, runs }: RmtRun) => size === first.size && runs === first.runs;
  return {
    ...first,
    ...mergeRmt(found.map((run) => (isAlike(run) ? run : faultFreeOf(run)))),
    commands: [...new Set(found.flatMap((run) => run.commands))],
  };
}

/** Returns a result without the times that belong to another size. */
const faultFreeOf = ({ ok, programs }: RmtRun): RmtResult => ({
  ok,
  powerSource: null,
  programs: programs.map(({ name, verdict, faultFree, failures, left }) => ({
    name,
    verdict,
    faultFree,
    failures,
    left,
    overheads: [],
    components: [],
    power: [],
  })),
});
