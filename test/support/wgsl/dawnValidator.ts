/** Asks Dawn whether a shader is valid, on its null backend: no GPU takes part. */
import { type ChildProcess, fork } from "node:child_process";

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface DawnValidator {
  /** Validates a shader module. */
  validate(code: string): Promise<Verdict>;
  /** Validates many modules, in order; much faster than awaiting them one by one. */
  validateAll(codes: readonly string[]): Promise<Verdict[]>;
  /**
   * Creates a compute pipeline: workgroup sizes, override values and resource limits are checked
   * only here. The null adapter's limits are the defaults of WebGPU (256 invocations, 16 KiB of
   * workgroup memory).
   */
  validatePipeline(
    code: string,
    entryPoint: string,
    constants?: Readonly<Record<string, number>>,
  ): Promise<Verdict>;
  close(): Promise<void>;
}

interface Job {
  readonly request: {
    readonly code: string;
    readonly pipeline?: { readonly entryPoint: string; readonly constants: Readonly<Record<string, number>> };
  };
  readonly settle: (verdict: Verdict) => void;
  failures: number;
}

/** Requests under way at once: enough to hide the latency of the channel. */
const WINDOW = 64;
/** Dawn keeps part of every module, so a process is replaced after this many requests. */
const REQUESTS_PER_PROCESS = 10_000;
/** Ends what hangs, also on a machine that is busy with something else. */
const SECONDS_PER_REQUEST = 300;

/**
 * Starts a Dawn process. It aborts now and then on a valid program, so it is restarted when it dies
 * and the program is tried again; one that fails twice is reported as a crash.
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
    // Dawn prints every warning; the verdicts say what matters.
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

  /**
   * Puts the requests of a dead process back; the first of them, or the start itself, is to blame.
   */
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

  function ask(request: Job["request"]): Promise<Verdict> {
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
