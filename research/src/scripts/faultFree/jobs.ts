/** Shares the work of a script between processes. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forkGuarded } from "belay-cli/internal/shared/workloads/guard";

/**
 * Runs a script in some processes and returns what each writes as JSON to the file of its `--out`.
 * Only their errors are printed. Rejects if a process ends with a status other than 0 and 1.
 */
export async function runJobs<T>(
  script: URL,
  jobs: number,
  argumentsOf: (job: number) => readonly string[],
): Promise<T[]> {
  const folder = mkdtempSync(join(tmpdir(), "jobs-"));
  try {
    return await Promise.all(
      Array.from({ length: jobs }, (_, job) => {
        const out = join(folder, `${job}.json`);
        return new Promise<T>((resolve, reject) => {
          const child = forkGuarded(script, [...argumentsOf(job), "--out", out], {
            stdio: ["ignore", "ignore", "inherit", "ipc"],
          });
          child.on("exit", (status) => {
            if (status !== 0 && status !== 1) reject(new Error(`a process ended with status ${status}`));
            else resolve(JSON.parse(readFileSync(out, "utf8")) as T);
          });
        });
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
