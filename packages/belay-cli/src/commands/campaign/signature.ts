import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { Command } from "commander";
import { type Collisions, countCollisions } from "../../campaign/results/signatureCollisions.ts";
import { chanceOfAtLeast } from "../../campaign/results/statistics.ts";
import { count, whole } from "../../shared/options.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import { type Io, printJson, tell } from "../../shared/terminal/io.ts";
import { withProgress } from "../../shared/terminal/progress.ts";
import { alignColumns } from "../../shared/terminal/table.ts";

interface Flags {
  readonly pairs: number;
  readonly seed: number;
  readonly json: boolean;
}

/** The output of `belay campaign signature --json`. */
export interface SignatureRun {
  /**
   * True if no difference in one word was missed, and no kind of difference was missed
   * significantly more often than 2⁻³².
   */
  readonly ok: boolean;
  readonly adapter: string;
  readonly pairs: number;
  readonly collisions: number;
  readonly milliseconds: number;
  readonly kinds: readonly Collisions[];
}

/** The chance that a random function of 32 bits misses a difference. */
const chance = 2 ** -32;
/**
 * The chance that a hash as good as a random function is called worse, over all kinds of
 * differences.
 */
const falseAlarm = 0.001;

/**
 * Returns whether a kind of difference is missed no more often than by a random function.
 * Differences in one word must never be missed. The limit for other kinds depends on the number of
 * kinds.
 */
function isNoWorse({ oneWord, events, trials }: Collisions, _: number, all: readonly Collisions[]): boolean {
  if (oneWord) return events === 0;
  return chanceOfAtLeast(events, trials * chance) > falseAlarm / all.length;
}

/**
 * Makes the command `belay campaign signature`, which counts collisions of the hash of a replica's
 * stores.
 */
export function campaignSignatureCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("signature")
    .summary("count collisions of the signature")
    .description(
      "Hashes pairs of streams of stores that differ, as protected kernels do, and counts those whose signatures are the same. The exit status is 1 when some kind of difference is missed more often than a random function of 32 bits would.",
    )
    .option("--pairs <count>", "pairs of streams, at least", count, 100_000_000)
    .option("--seed <number>", "decides the streams", whole, 1)
    .option("--json", "print the counts as JSON", false)
    .action(async ({ pairs, seed, json }: Flags) => {
      const run = await withProgress(io, "opening the GPU", async ({ doing }): Promise<SignatureRun> => {
        using opened = await openGpu();
        const device = await newDevice(opened);
        const start = performance.now();
        const kinds = await countCollisions(device, { pairs, seed, confidence: 0.95 }, (done) =>
          doing(`${done} of ${pairs} pairs`),
        );
        device.destroy();
        return {
          ok: kinds.every(isNoWorse),
          adapter: opened.choice.description,
          pairs: kinds.reduce((sum, { trials }) => sum + trials, 0),
          collisions: kinds.reduce((sum, { events }) => sum + events, 0),
          milliseconds: performance.now() - start,
          kinds,
        };
      });
      if (json) printJson(io, run);
      else tell(io.stdout, render(run));
      finish(run.ok ? exitStatus.ok : exitStatus.failed);
    });
}

function render({ ok, pairs, collisions, milliseconds, kinds }: SignatureRun): string {
  const rows = kinds.map(({ difference, trials, events, high }) => [
    difference,
    String(trials),
    String(events),
    `at most ${high.toExponential(1)}`,
  ]);
  const verdict = ok ? "no more than chance explains" : "MORE THAN CHANCE EXPLAINS";
  const rate = `${(pairs / milliseconds / 1000).toFixed(0)} million pairs per second`;
  return `${collisions} collisions in ${pairs} pairs (${rate}): ${verdict}\n\n${alignColumns([["difference", "pairs", "collisions", "rate"], ...rows])}\n`;
}
