import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { summarize } from "belay-cli/internal/campaign/results/summary";
import { readResults } from "belay-cli/internal/campaign/store/merge";
import { afterAll, expect, it } from "vitest";
import { areInstalled, SlurmCluster } from "../support/processes/servers.ts";
import { root } from "../support/workspaces.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-slurm-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.runIf(areInstalled("a campaign under Slurm", "munged", "slurmctld", "slurmd", "sbatch"))(
  "a Slurm array injects the shards of a campaign, which end in the table of one machine",
  async () => {
    await using cluster = await SlurmCluster.start();
    const submit = (name: string, command: string, ...args: readonly string[]) => {
      const log = join(folder, `${name}.log`);
      return cluster.submit(`--chdir=${root}`, "--output", log, ...args, "--requeue", "--wrap", command);
    };
    const campaign = `${belay} campaign docs/guides/examples/blur.ts --structures ALU --flavors intra+lds --margin 30%`;
    const alone = submit("alone", `${campaign} --out ${folder}/alone`);
    const shard = "--shard $SLURM_ARRAY_TASK_ID/2 --resume --out";
    const shards = submit(
      "shard-%a",
      `${campaign} ${shard} ${folder}/shards/$SLURM_ARRAY_TASK_ID`,
      "--array=1-2",
    );
    const merge = `${belay} campaign merge ${folder}/shards/* --out ${folder}/whole`;
    const whole = submit(
      "whole",
      `${merge}; ${campaign} --resume --out ${folder}/whole`,
      `--dependency=afterany:${shards}`,
    );
    await cluster.ended(alone);
    await cluster.ended(whole);
    // The exit status of a shard alone says nothing about the whole.
    for (const index of [0, 1]) {
      const { header, injections } = readResults(join(folder, "shards", String(index + 1)));
      expect(header.shard).toEqual({ index, count: 2 });
      expect(injections.length).toBeGreaterThan(0);
    }
    const [merged, single] = ["whole", "alone"].map((name) => summarize(readResults(join(folder, name))));
    expect(single!.ok).toBe(true);
    expect(merged!.cells).toEqual(single!.cells);
  },
);

// The command as it was built starts fastest.
const belay = `${process.execPath} ${join(root, "packages/belay-cli/bin/belay.js")}`;
