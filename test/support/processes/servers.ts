/** Servers that tests start when they are installed. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
