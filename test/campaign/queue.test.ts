import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { jobId } from "belay-cli/internal/campaign/queue/board";
import type { PlannerOptions } from "belay-cli/internal/campaign/queue/planner";
import { importQueuePackages, RedisAddress } from "belay-cli/internal/campaign/queue/redis";
import type { WorkerOptions } from "belay-cli/internal/campaign/queue/worker";
import type { Results } from "belay-cli/internal/campaign/results/results";
import { summarize } from "belay-cli/internal/campaign/results/summary";
import { readResults } from "belay-cli/internal/campaign/store/merge";
import { storePath } from "belay-cli/internal/campaign/store/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { belay } from "../support/processes/belay.ts";
import { typescript } from "../support/processes/processes.ts";
import { areInstalled, freePort, RedisServer } from "../support/processes/servers.ts";
import { until } from "../support/until.ts";
import { root } from "../support/workspaces.ts";
import { campaignSettings, planTestCampaign, runTestCampaign, workOnTestCampaign } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-queue-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const directory = () => join(folder, String(made++));

const settings = campaignSettings(["sum"], {
  structures: ["ALU", "memory"],
  margin: 0.2,
  bound: 0.2,
});
const table = (results: Results) => summarize(results).cells;

function spawnProcess(args: readonly string[], dies?: number): ChildProcess {
  const script = join(import.meta.dirname, "queueProcess.ts");
  const env = { ...process.env, ...(dies !== undefined && { BELAY_TEST_DIES: String(dies) }) };
  const command = [...typescript, script, ...args];
  return spawn(process.execPath, command, {
    cwd: import.meta.dirname,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

const endOf = (child: ChildProcess): Promise<number | string> =>
  new Promise((resolve) => child.once("exit", (status, signal) => resolve(signal ?? status!)));

describe.runIf(areInstalled("a campaign over a queue", "redis-server", "redis-cli"))(
  "a campaign over a queue",
  () => {
    let server: RedisServer;
    let alone: Results;
    beforeAll(async () => {
      server = await RedisServer.start();
      alone = await runTestCampaign(directory(), settings);
    });
    afterAll(() => server[Symbol.asyncDispose]());

    const plan = (at: string, changed: Partial<PlannerOptions> = {}) =>
      planTestCampaign(server.url, at, settings, changed);
    const work = (changed: Partial<WorkerOptions> = {}) => workOnTestCampaign(server.url, changed);

    it("ends with the table of one machine, though all workers, the planner and Redis are killed", async () => {
      const at = directory();
      const planArgs = ["plan", server.url, at, JSON.stringify(settings)];
      const half = Math.floor(alone.injections.length / 3);
      const planner = endOf(spawnProcess(planArgs, half));
      // Each dies in its first job of injections, with some of them made.
      const dying = [1, 3, 5, 7].map((injections) => endOf(spawnProcess(["work", server.url], injections)));
      expect(await Promise.all(dying)).toEqual(Array(4).fill("SIGKILL"));
      const workers = [1, 2, 3, 4].map(() => endOf(spawnProcess(["work", server.url])));
      expect(await planner).toBe("SIGKILL");
      await server.kill();
      await server.start();
      expect(await endOf(spawnProcess(planArgs))).toBe(0);
      expect(await Promise.all(workers)).toEqual([0, 0, 0, 0]);

      const results = readResults(at);
      expect(table(results)).toEqual(table(alone));
      const ids = (of: Results) => of.injections.map(({ id }) => id).sort();
      expect(ids(results)).toEqual(ids(alone));
      // No line counts an injection twice.
      const lines = readFileSync(storePath(at), "utf8").match(/"kind":"injection"/g)!;
      expect(lines.length).toBe(results.injections.length);
      // A delivery that the planner died with has no line about its worker.
      const counted = results.work.reduce((sum, { injections }) => sum + injections, 0);
      expect(counted).toBeGreaterThan(0);
      expect(counted).toBeLessThanOrEqual(results.injections.length);
      // Redis forgets what is left about the campaign.
      for (const key of server.command("--raw", "keys", "belay:*").split("\n")) {
        expect(Number(server.command("ttl", key))).toBeGreaterThan(0);
      }
    });

    it("goes on to the same table when Redis has lost everything, or the planner was interrupted", async () => {
      const at = directory();
      const worker = work();
      const controller = new AbortController();
      let flushed = false;
      await plan(at, {
        signal: controller.signal,
        onProgress: ({ done }) => {
          if (!flushed && done > 0) {
            server.command("flushall");
            flushed = true;
          } else if (done > alone.injections.length / 2) {
            controller.abort();
          }
        },
      });
      expect(flushed).toBe(true);
      const begun = readResults(at).injections.length;
      expect(begun).toBeGreaterThan(0);
      expect(begun).toBeLessThan(alone.injections.length);
      const { results, failures } = await plan(at);
      expect(failures).toEqual([]);
      expect(table(results)).toEqual(table(alone));
      expect((await worker).injections).toBeGreaterThan(0);
    });

    it("lets a worker finish its jobs before it leaves", async () => {
      const at = directory();
      const [leaves, ends] = [new AbortController(), new AbortController()];
      const planned = plan(at, { signal: ends.signal });
      const leaving = work({
        signal: leaves.signal,
        onEvent: (line) => line.startsWith("works") && leaves.abort(),
      });
      const { jobs, injections } = await leaving;
      ends.abort();
      const { results } = await planned;
      // What the worker says to have done is stored, and nobody waits for a lock.
      expect(results.work.length).toBe(jobs);
      expect(results.injections.length).toBe(injections);
    });

    it("names the workers that it refuses, each with the reason", async () => {
      const at = directory();
      const controller = new AbortController();
      const events: string[] = [];
      const planned = plan(at, { signal: controller.signal, onEvent: (line) => events.push(line) });
      const refused = { code: "BELAY615" };
      await expect(work({ version: "2" })).rejects.toMatchObject({
        ...refused,
        message: "this is Belay 2, and the campaign was planned by Belay 1",
      });
      await expect(work({ digestOf: async () => "2" })).rejects.toMatchObject({
        ...refused,
        message: "sum is another version here than at the planner",
      });
      const { adapter } = alone;
      const { id } = JSON.parse(server.command("get", "belay:campaign"));
      server.command("set", `belay:${id}:adapter`, "a GPU");
      await expect(work()).rejects.toMatchObject({
        ...refused,
        message: `the campaign was begun on a GPU, and the adapter here is ${adapter}`,
      });
      await until(() => events.some((line) => line.includes("was begun on a GPU")));
      controller.abort();
      const { results } = await planned;
      expect([...results.refusals.values()].map(({ reason }) => reason).at(-1)).toContain(
        "was begun on a GPU",
      );
      expect(results.injections).toEqual([]);
      server.command("flushall");
    });

    it("gives a job up that fails on every worker, says why, and loses the worker", async () => {
      const at = directory();
      const events: string[] = [];
      const broken = new URL("nothing.ts", import.meta.url);
      // No job is delivered again while the machine is busy, which would not count as a failure.
      const worker = work({ programs: broken, lockMs: 60_000, onEvent: (line) => events.push(line) });
      const left = expect(worker).rejects.toMatchObject({ code: "BELAY612" });
      const { results, failures } = await plan(at, { onEvent: (line) => events.push(line) });
      await left;
      expect(failures).toEqual([expect.stringMatching(/^the profile of sum failed: .*nothing\.ts/)]);
      for (const attempt of [1, 2, 3]) {
        const line = `^the profile of sum failed on .*/${process.pid}: .*nothing\\.ts.* \\(try ${attempt} of 3\\)$`;
        expect(events).toContainEqual(expect.stringMatching(new RegExp(line)));
      }
      expect(events).toContainEqual(expect.stringMatching(/\(given up\)$/));
      expect(results.skipped).toEqual([]);
      server.command("flushall");
    });

    it("takes a database from a planner that is gone, and not from one that is alive", async () => {
      const claim = (host: string) =>
        server.command("set", "belay:planner", JSON.stringify({ host, pid: 999999999 }));
      claim(hostname());
      const ends = new AbortController();
      await plan(directory(), { signal: ends.signal, onProgress: () => ends.abort() });
      expect(server.command("exists", "belay:planner")).toBe("0");
      claim("elsewhere");
      await expect(plan(directory())).rejects.toMatchObject({
        code: "BELAY614",
        message: `redis://127.0.0.1:${server.port} is in use by the planner elsewhere/999999999`,
      });
      server.command("del", "belay:planner");
    });
  },
);

it("no job has an id of digits only, which BullMQ refuses", () => {
  const ids = Array.from({ length: 3000 }, (_, from) =>
    jobId({
      kind: "injections",
      program: "sum",
      configuration: "none",
      ranges: [{ structure: "ALU", from, to: from + 1 }],
    }),
  );
  expect(ids.filter((id) => /^\d+$/.test(id))).toEqual([]);
  // Some digests have no letter.
  expect(ids.some((id) => /^job-\d+$/.test(id))).toBe(true);
});

describe("the address of Redis", () => {
  it.each([
    "",
    "redis",
    "http://user:secret@host",
    "redis://",
    "redis://user:secret@host/first",
    "redis://user:secret@host/1/2",
  ])("is refused without being repeated: %j", (url) => {
    const error = (() => {
      try {
        return new RedisAddress(url);
      } catch (thrown) {
        return thrown as Error;
      }
    })();
    expect(error).toMatchObject({ code: "BELAY614", message: "the queue is no URL of a Redis server" });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  it("has a name without the user and the password", () => {
    expect(new RedisAddress("rediss://user:secret@host:7000/1").name).toBe("rediss://host:7000/1");
    expect(new RedisAddress("redis://:secret@host").name).toBe("redis://host:6379");
    expect(JSON.stringify(new RedisAddress("redis://user:secret@host"))).not.toContain("secret");
  });

  it("is not reached: the command says so, and shows no password", async () => {
    const port = await freePort();
    const { status, stderr, stdout } = await belay([
      "campaign",
      "work",
      `redis://user:secret@127.0.0.1:${port}`,
    ]);
    expect(status).toBe(1);
    expect(stderr).toContain("error[BELAY614 queue-unavailable]");
    expect(stderr).toContain(`cannot use redis://127.0.0.1:${port}: connect ECONNREFUSED`);
    expect(stdout + stderr).not.toContain("secret");
  });

  it.runIf(areInstalled("a queue over TLS", "redis-server", "openssl"))(
    "is reached over TLS with a user and a password, which nothing shows",
    async () => {
      const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
      const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
      const files = ["-keyout", key, "-out", certificate];
      execFileSync("openssl", ["req", "-x509", "-newkey", "ed25519", "-nodes", ...files, ...subject], {
        stdio: "ignore",
      });
      const port = await freePort();
      await using _ = await RedisServer.start(
        ...["--tls-port", String(port), "--tls-auth-clients", "no"],
        ...["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate],
        ...["--user", "default", "off", "--user", "belay", "on", ">secret", "~*", "&*", "+@all"],
      );
      const wait = (user: string, env: NodeJS.ProcessEnv) => {
        const bin = join(root, "packages/belay-cli/bin/belay.js");
        const url = `rediss://${user}@127.0.0.1:${port}`;
        const child = spawn(process.execPath, [bin, "campaign", "work", url, "--software"], {
          env: { ...process.env, ...env },
        });
        return new Promise<string>((resolve) => {
          let text = "";
          const add = (chunk: Buffer) => {
            text += chunk;
            if (text.includes("waits for")) child.kill("SIGKILL");
          };
          child.stdout.on("data", add);
          child.stderr.on("data", add);
          child.once("close", () => resolve(text));
        });
      };
      const env = { NODE_EXTRA_CA_CERTS: certificate };
      const [right, wrong, unknown] = await Promise.all([
        wait("belay:secret", env),
        wait("belay:secrets", env),
        wait("belay:secret", {}),
      ]);
      expect(right).toContain(`waits for a campaign in rediss://127.0.0.1:${port}`);
      expect(wrong).toContain(`cannot use rediss://127.0.0.1:${port}: WRONGPASS`);
      expect(unknown).toContain("self-signed certificate");
      expect(right + wrong + unknown).not.toContain("secret");
    },
  );

  it("needs packages, which a message has the command to install", async () => {
    const missing = async (name: string) => {
      throw Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" });
    };
    await expect(importQueuePackages(missing)).rejects.toMatchObject({
      code: "BELAY411",
      message: "the package bullmq is not installed",
      help: "a campaign over a queue needs two more packages: npm install bullmq ioredis",
    });
  });
});
