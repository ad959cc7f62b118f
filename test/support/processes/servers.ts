/** Servers that tests start when they are installed: Redis and Slurm. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { availableParallelism, hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { until } from "../until.ts";

/**
 * Returns whether the commands are installed. Says so loudly if one is not, because its tests are
 * then skipped.
 */
export function areInstalled(what: string, ...commands: readonly string[]): boolean {
  const missing = commands.filter((command) => spawnSync("which", [command]).status !== 0);
  if (missing.length === 0) return true;
  console.error(`\n!!! ${what} is NOT TESTED: ${missing.join(", ")} is not installed (see .ci/run)\n`);
  return false;
}

/** Returns a port of the loopback that nobody uses. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Returns whether a server accepts connections at a port of the loopback. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}

/** A Redis server on the loopback with an append-only file. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), "belay-redis-"));
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
  }

  static async start(...args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const port = ["--bind", "127.0.0.1", "--port", String(this.port)];
    const kept = ["--dir", this.#folder, "--appendonly", "yes", "--save", ""];
    this.#child = spawn("redis-server", [...port, ...kept, ...this.#args], { stdio: "ignore" });
    await until(() => accepts(this.port));
  }

  /** Ends the server as by `kill -9`. Its file stays for the next start. */
  async kill(): Promise<void> {
    const child = this.#child!;
    await new Promise((resolve) => {
      child.once("exit", resolve);
      child.kill("SIGKILL");
    });
  }

  /** Runs a command of Redis, and returns its output. */
  command(...args: readonly string[]): string {
    return execFileSync("redis-cli", ["-p", String(this.port), ...args], { encoding: "utf8" }).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A Slurm cluster of this machine alone, on ports of the loopback. It needs no root. */
export class SlurmCluster implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "belay-slurm-"));
  readonly #daemons: ChildProcess[] = [];
  #failure: Error | undefined;

  private constructor() {}

  /** Starts the daemons. Rejects with the last words of a daemon that ends. */
  static async start(): Promise<SlurmCluster> {
    const cluster = new SlurmCluster();
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const at = (name: string) => join(this.#folder, name);
    const [control, daemon] = [await freePort(), await freePort()];
    const host = hostname().split(".")[0]!;
    const lines = {
      ClusterName: "belay",
      SlurmctldHost: `${host}(127.0.0.1)`,
      SlurmctldPort: control,
      SlurmdPort: daemon,
      SlurmUser: userInfo().username,
      SlurmdUser: userInfo().username,
      AuthType: "auth/munge",
      AuthInfo: `socket=${at("munge.socket")}`,
      ProctrackType: "proctrack/linuxproc",
      TaskPlugin: "task/none",
      StateSaveLocation: at("state"),
      SlurmdSpoolDir: at("spool"),
      SlurmctldPidFile: at("slurmctld.pid"),
      SlurmdPidFile: at("slurmd.pid"),
      SelectType: "select/cons_tres",
      SelectTypeParameters: "CR_CPU",
      SchedulerParameters: "sched_interval=1,sched_min_interval=1",
    };
    const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`);
    const node = `NodeName=${host} NodeAddr=127.0.0.1 CPUs=${availableParallelism()} State=UNKNOWN\n`;
    writeFileSync(
      at("slurm.conf"),
      `${text.join("")}${node}PartitionName=all Nodes=${host} Default=YES State=UP\n`,
    );
    writeFileSync(at("key"), randomBytes(1024), { mode: 0o600 });
    for (const name of ["state", "spool"]) mkdirSync(at(name));
    chmodSync(this.#folder, 0o755);
    const files = ["socket", "key-file", "log-file", "pid-file", "seed-file"].map((option) => {
      const names: Record<string, string> = { socket: "munge.socket", "key-file": "key" };
      return `--${option}=${at(names[option] ?? option)}`;
    });
    this.#spawn("munged", "--force", "--foreground", ...files);
    await this.#until(() => existsSync(at("munge.socket")));
    this.#spawn("slurmctld", "-D", "-i");
    await this.#until(() => accepts(control));
    this.#spawn("slurmd", "-D", "-N", host);
    await this.#until(() => this.#run("sinfo", "--noheader", "--format=%T").includes("idle"));
  }

  #spawn(command: string, ...args: readonly string[]): void {
    const daemon = spawn(command, args, { env: this.#env, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    daemon.stderr.on("data", (text) => {
      said = `${said}${text}`.slice(-2000);
    });
    daemon.once("exit", () => {
      this.#failure ??= new Error(`${command} has ended: ${said}`);
    });
    this.#daemons.push(daemon);
  }

  /** Waits until a condition holds, as long as all daemons run. */
  async #until(holds: () => unknown): Promise<void> {
    await until(async () => {
      if (this.#failure) throw this.#failure;
      if (await holds()) return true;
      await setTimeout(250);
    });
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...process.env, SLURM_CONF: join(this.#folder, "slurm.conf") };
  }

  /** Runs a command of Slurm, and returns its output. */
  #run(command: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(command, args, { env: this.#env, encoding: "utf8" });
    if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }

  /** Submits a job, and returns its number. */
  submit(...args: readonly string[]): string {
    return this.#run("sbatch", "--parsable", ...args);
  }

  /** Waits until all tasks of a job have ended. */
  ended(job: string): Promise<void> {
    return this.#until(() => this.#run("squeue", "--noheader", "--jobs", job) === "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const daemon of this.#daemons.toReversed()) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) continue;
      const ended = new Promise((resolve) => daemon.once("exit", resolve));
      daemon.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
