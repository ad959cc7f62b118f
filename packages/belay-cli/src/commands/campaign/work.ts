import { plural } from "belay-gpu/internal/diagnostics/plural";
import { Command } from "commander";
import { RedisAddress } from "../../campaign/queue/redis.ts";
import { workOnCampaign } from "../../campaign/queue/worker.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import { type Io, tell } from "../../shared/terminal/io.ts";
import { readVersion } from "../../shared/version.ts";
import { jobs } from "./options.ts";
import { digestOf, programsModule } from "./programs.ts";

/**
 * Makes the command `belay campaign work`, which executes injections of a campaign that another
 * process plans.
 */
export function campaignWorkCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("work")
    .summary("execute injections of a campaign over machines")
    .description(
      "Executes injections of the campaign that belay campaign --queue plans, on this machine's GPU, until the campaign is over. Workers may join and leave at any time. An interrupt finishes the injections under way first; a second one does not.",
    )
    .argument("<url>", "of the Redis server: redis://host:6379, or rediss:// for TLS")
    .option("--jobs <count>", "processes that inject at the same time", jobs, 1)
    .option("--software", "take part with a software adapter too", false)
    .action(async (url: string, flags: { jobs: number; software: boolean }) => {
      const done = await withInterrupt((signal) =>
        workOnCampaign({
          redis: new RedisAddress(url),
          programs: programsModule,
          digestOf,
          version: readVersion(),
          ...flags,
          signal,
          onEvent: (line) => tell(io.stderr, `${line}\n`),
        }),
      );
      tell(io.stdout, `${plural(done.injections, "injection")} in ${plural(done.jobs, "job")}\n`);
      finish(exitStatus.ok);
    });
}

/**
 * Runs work that a first interrupt asks to end. A second interrupt ends the process, as no listener
 * is left.
 */
export async function withInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const signals = ["SIGINT", "SIGTERM"] as const;
  const release = () => {
    for (const name of signals) process.off(name, interrupt);
  };
  const interrupt = () => {
    release();
    controller.abort(new Error("interrupted"));
  };
  for (const name of signals) process.on(name, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
}
