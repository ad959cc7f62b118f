/** A validator that asks Dawn if a shader is valid. Dawn's null backend needs no GPU. */
import { type ChildProcess, fork } from "node:child_process";

export type Validity = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface DawnValidator {
  /** Validates a shader module. */
  validate(code: string): Promise<Validity>;
  /** Validates many modules, in order. One call is much faster than awaiting them one by one. */
  validateAll(codes: readonly string[]): Promise<Validity[]>;
  /**
   * Creates a compute pipeline. Only this step checks workgroup sizes, override values and resource
   * limits. The null adapter's limits are the defaults of WebGPU (256 invocations, 16 KiB of
   * workgroup memory).
   */
  validatePipeline(
    code: string,
    entryPoint: string,
    constants?: Readonly<Record<string, number>>,
  ): Promise<Validity>;
  close(): Promise<void>;
}

interface Job {
  readonly request: {
    readonly code: string;
    readonly pipeline?: { readonly entryPoint: string; readonly constants: Readonly<Record<string, number>> };
  };
  readonly settle: (verdict: Validity) => void;
  failures: number;
}

/** The number of requests in progress at once, enough to hide the latency of the channel. */
const WINDOW = 64;
/** The number of requests after which a process is replaced, as Dawn keeps part of every module. */
const REQUESTS_PER_PROCESS = 10_000;
/** The seconds after which a request counts as hanging, even on a busy machine. */
const SECONDS_PER_REQUEST = 300;

/**
 * Starts a Dawn process. Dawn sometimes aborts on a valid program. The process then starts again,
 * and the program is tried once more. A program that fails twice is reported as a crash.
 */
export async function startDawn(
  program = new URL("./dawnProcess.mjs", import.meta.url),
): Promise<DawnValidator> {
  const waiting: Job[] = [];
  let sent: Job[] = [];
  let child: ChildProcess | undefined;
  let ready = false;
  let closed = false;
  let served = 0;
  let timer: NodeJS.Timeout | undefined;

  function start(): ChildProcess {
    // Dawn prints every warning, but only the verdicts matter.
    const started = fork(program, { execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"] });
    ready = false;
    served = 0;
    started.on("message", (message: string | null) => {
      if (ready) answer(message);
      else ready = true;
      pump();
    });
    started.on("exit", (code, signal) => {
      clearTimeout(timer);
      if (child !== started) return;
      child = undefined;
      recover(ready, `crash: Dawn's process ended with ${signal ?? `code ${code}`}`);
      pump();
    });
    return started;
  }

  function answer(message: string | null): void {
    const job = sent.shift();
    job?.settle(message === null ? { ok: true } : { ok: false, message });
    watch();
  }

  /** Puts the requests of a dead process back. Blames the first of them, or the start itself. */
  function recover(wasReady: boolean, message: string): void {
    waiting.unshift(...sent);
    sent = [];
    const suspect = waiting[0];
    if (suspect === undefined) return;
    suspect.failures += 1;
    if (suspect.failures < 2) return;
    waiting.shift();
    suspect.settle({ ok: false, message: wasReady ? message : `${message} before its first request` });
  }

  function watch(): void {
    clearTimeout(timer);
    const watched = child;
    if (sent.length > 0) timer = setTimeout(() => watched?.kill("SIGKILL"), SECONDS_PER_REQUEST * 1000);
  }

  function pump(): void {
    if (served >= REQUESTS_PER_PROCESS && sent.length === 0) {
      child?.disconnect();
      child = undefined;
      served = 0;
    }
    if (closed || waiting.length === 0) return;
    child ??= start();
    if (!ready) return;
    const idle = sent.length === 0;
    while (sent.length < WINDOW && served < REQUESTS_PER_PROCESS && waiting.length > 0) {
      const job = waiting.shift()!;
      sent.push(job);
      served += 1;
      child.send(job.request);
    }
    if (idle) watch();
  }

  function ask(request: Job["request"]): Promise<Validity> {
    if (closed) return Promise.reject(new Error("the Dawn validator is closed"));
    return new Promise((settle) => {
      waiting.push({ request, settle, failures: 0 });
      pump();
    });
  }

  child = start();
  return {
    validate: (code) => ask({ code }),
    validateAll: (codes) => Promise.all(codes.map((code) => ask({ code }))),
    validatePipeline: (code, entryPoint, constants = {}) =>
      ask({ code, pipeline: { entryPoint, constants } }),
    async close() {
      closed = true;
      clearTimeout(timer);
      for (const job of [...sent, ...waiting.splice(0)])
        job.settle({ ok: false, message: "the Dawn validator was closed" });
      sent = [];
      const last = child;
      child = undefined;
      if (last === undefined || last.exitCode !== null || last.signalCode !== null) return;
      const ended = new Promise((resolve) => last.once("exit", resolve));
      last.disconnect();
      await ended;
    },
  };
}
