/**
 * Measures what a queue and its planner stand: workers that only sleep execute a campaign that a
 * real planner plans over a real Redis server.
 *
 *   node research/dist/scripts/simulatedWorkers.js [--workers 10,100,1000] [--seconds 20]
 *     [--rate 100] [--processes 2] [--json FILE]
 *
 * Each worker sleeps as if it made `rate` injections per second, and delivers lines of the usual
 * size. A campaign has work for `seconds` of all workers. The share of time in which workers sleep
 * is that in which real ones would inject.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { campaignConfigurations } from "belay-cli/internal/campaign/model/configurations";
import type { CampaignSettings, UnitRecord } from "belay-cli/internal/campaign/model/records";
import { injectionsOf, recordOf } from "belay-cli/internal/campaign/planned";
import { Board, type Delivery, type Job, queueName } from "belay-cli/internal/campaign/queue/board";
import { planCampaign } from "belay-cli/internal/campaign/queue/planner";
import { connectRedis, importQueuePackages, RedisAddress } from "belay-cli/internal/campaign/queue/redis";
import Table from "cli-table3";

const PROGRAM = "simulated";
const ADAPTER = "no adapter";
const JOB_INJECTIONS = 512;

/** The work of some simulated workers. Times are in milliseconds since the epoch. */
interface Slept {
  readonly jobs: number;
  readonly sleptMs: number;
  /** The end of the last job of each worker that had one. */
  readonly lastEnds: readonly number[];
}

if (process.argv[2] === "work")
  await work(process.argv[3]!, Number(process.argv[4]), Number(process.argv[5]));
else await measureAll();
process.exit(0);

/** Simulates workers, until the campaign is over. */
async function work(url: string, workers: number, rate: number): Promise<void> {
  const packages = await importQueuePackages();
  const redis = await connectRedis(new RedisAddress(url), packages, () => {});
  const board = new Board(redis);
  let campaign = await board.announced();
  for (; !campaign || campaign.isOver; campaign = await board.announced()) await setTimeout(100);
  const { id, settings } = campaign;
  const slept = { jobs: 0, sleptMs: 0 };
  const lastEnds = new Map<string, number>();
  const execute = async (job: Job, worker: string): Promise<Delivery> => {
    if (job.kind === "profile")
      return { worker, adapter: ADAPTER, records: profilesOf(job), milliseconds: 0 };
    const unit = (await board.unit(id, job))!;
    const planned = [...injectionsOf({ unit, ranges: job.ranges }, settings)];
    const milliseconds = (1000 * planned.length) / rate;
    await setTimeout(milliseconds);
    slept.jobs++;
    slept.sleptMs += milliseconds;
    lastEnds.set(worker, Date.now());
    const observed = { strikes: 1, hung: false, detections: 1, corrections: 0, results: "right" } as const;
    return {
      worker,
      adapter: ADAPTER,
      records: planned.map((each) => recordOf(each, observed)),
      milliseconds,
    };
  };
  const names = Array.from({ length: workers }, (_, i) => `simulated/${process.pid}-${i}`);
  for (const name of names) {
    const worker = new packages.bullmq.Worker<Job, Delivery>(
      queueName(id),
      (job) => execute(job.data, name),
      {
        connection: redis,
        lockDuration: 10_000,
        stalledInterval: 5000,
      },
    );
    worker.on("error", () => {});
  }
  for (let beat = 0; ; beat++) {
    const announced = await board.announced();
    if (!announced || announced.isOver) break;
    const state = { state: "working", adapter: ADAPTER, jobs: 1, injections: 0, beat } as const;
    await Promise.all(names.map((name) => board.tellWorker(id, name, state)));
    await setTimeout(1000);
  }
  process.send!({ ...slept, lastEnds: [...lastEnds.values()] } satisfies Slept);
  await once(process, "message");
}

function profilesOf({ configurations }: Extract<Job, { kind: "profile" }>): UnitRecord[] {
  return configurations.map((configuration) => ({
    kind: "unit",
    program: PROGRAM,
    configuration,
    kernels: [
      {
        kernel: "kernel",
        entryPoint: "kernel",
        source: "a = b + c;",
        iterations: 1,
        sites: [
          {
            id: 1,
            kind: "value",
            span: { start: 0, end: 9 },
            components: 1,
            uniform: false,
            executions: 100,
            samples: [[0, 0, 0, 0, 0, 0, 0]],
          },
        ],
      },
    ],
    gaps: [],
    buffers: [64],
    sameBits: true,
    milliseconds: { plain: 1, protected: 1 },
  }));
}

interface Measured {
  readonly workers: number;
  readonly injections: number;
  readonly seconds: number;
  readonly jobsPerSecond: number;
  readonly injectionsPerSecond: number;
  /** The share of the time of all workers in which they slept. */
  readonly asleep: number;
  /** The time between the end of a worker's last job and the end of the campaign, on average. */
  readonly idleAtEndSeconds: number;
  readonly redisMegabytes: number;
  readonly plannerCpuSeconds: number;
}

async function measureAll(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      workers: { type: "string", default: "10,100,1000" },
      seconds: { type: "string", default: "20" },
      rate: { type: "string", default: "100" },
      processes: { type: "string", default: "2" },
      json: { type: "string" },
    },
  });
  const rate = Number(flags.rate);
  const measured: Measured[] = [];
  for (const workers of flags.workers.split(",").map(Number)) {
    measured.push(await measure(workers, rate, Number(flags.seconds), Number(flags.processes)));
    console.error(measured.at(-1));
  }
  const table = new Table({
    head: [
      "workers",
      "injections",
      "seconds",
      "jobs/s",
      "injections/s",
      "asleep",
      "idle at the end (s)",
      "Redis (MB)",
      "planner CPU (s)",
    ],
  });
  for (const each of measured) {
    table.push([
      each.workers,
      each.injections,
      each.seconds.toFixed(1),
      each.jobsPerSecond.toFixed(0),
      each.injectionsPerSecond.toFixed(0),
      `${(100 * each.asleep).toFixed(0)} %`,
      each.idleAtEndSeconds.toFixed(1),
      each.redisMegabytes.toFixed(0),
      each.plannerCpuSeconds.toFixed(1),
    ]);
  }
  console.log(table.toString());
  if (flags.json) writeFileSync(flags.json, JSON.stringify(measured, null, 2));
}

async function measure(workers: number, rate: number, seconds: number, processes: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "belay-simulated-"));
  const port = await freePort();
  const where = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder];
  const server = spawn("redis-server", [...where, "--appendonly", "yes", "--save", ""], { stdio: "ignore" });
  const url = `redis://127.0.0.1:${port}`;
  const packages = await importQueuePackages();
  const address = new RedisAddress(url);
  await setTimeout(1000);
  const children: ChildProcess[] = [];
  try {
    const redis = await connectRedis(address, packages, () => {});
    const ends = Array.from({ length: processes }, (_, i) => {
      const share = Math.floor(workers / processes) + (i < workers % processes ? 1 : 0);
      const child = fork(fileURLToPath(import.meta.url), ["work", url, String(share), String(rate)]);
      children.push(child);
      return once(child, "message").then(([message]) => message as Slept);
    });
    const minimum = Math.max(JOB_INJECTIONS, (workers * rate * seconds) / 2);
    const [start, cpu] = [Date.now(), process.cpuUsage()];
    const { results, failures } = await planCampaign({
      redis: address,
      directory: join(folder, "store"),
      settings: settingsFor(minimum),
      resume: false,
      version: "1",
      jobInjections: JOB_INJECTIONS,
    });
    const end = Date.now();
    if (failures.length > 0) throw new Error(failures[0]);
    const { user, system } = process.cpuUsage(cpu);
    const slept = await Promise.all(ends);
    const [, peak] = /used_memory_peak:(\d+)/.exec(await redis.info("memory"))!;
    redis.disconnect();
    const wall = (end - start) / 1000;
    const lastEnds = slept.flatMap((each) => each.lastEnds);
    const sum = (of: (each: Slept) => number) => slept.reduce((all, each) => all + of(each), 0);
    return {
      workers,
      injections: results.injections.length,
      seconds: wall,
      jobsPerSecond: sum(({ jobs }) => jobs) / wall,
      injectionsPerSecond: results.injections.length / wall,
      asleep: sum(({ sleptMs }) => sleptMs) / 1000 / (workers * wall),
      idleAtEndSeconds: lastEnds.reduce((all, last) => all + (end - last) / 1000, 0) / lastEnds.length,
      redisMegabytes: Number(peak) / 1e6,
      plannerCpuSeconds: (user + system) / 1e6,
    };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    server.kill("SIGKILL");
    await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
}

function settingsFor(minimum: number): CampaignSettings {
  return {
    programs: [{ name: PROGRAM, digest: "1" }],
    configurations: campaignConfigurations({
      flavors: ["intra+lds"],
      checks: ["signature"],
      pairing: "adjacent",
    }),
    structures: ["ALU"],
    models: ["single-bit"],
    margin: 0.2,
    bound: 0.2,
    minimum,
    confidence: 0.95,
    seed: 1,
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
