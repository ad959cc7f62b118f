import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Readable, Writable } from "node:stream";
import { disputeFrom } from "belay-gpu/internal/blame/dispute";
import type { AdapterDiagnosis } from "belay-node/internal/adapterDiagnosis";
import { expect, it, vi } from "vitest";
import { doctorCommand } from "./doctor.ts";

const host = { platform: "linux-x64", node: "v20.19.0" };

/** Runs the command on a diagnosis. Returns its exit status and its output. */
async function doctorOn(diagnosis: AdapterDiagnosis): Promise<{ status: unknown; written: string }> {
  let written = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const finish = vi.fn();
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
  const io = { stdin: Readable.from([]), stdout, stderr };
  await doctorCommand(io, finish, async () => diagnosis).parseAsync([], { from: "user" });
  expect(finish).toHaveBeenCalledOnce();
  return { status: finish.mock.calls[0]![0], written };
}

it("fails, and says what to do, where there is no adapter", async () => {
  const { status, written } = await doctorOn({
    ...host,
    ok: false,
    tried: [{ kind: "hardware", outcome: "no adapter" }],
    problem: {
      code: "BELAY301",
      message: "no WebGPU adapter can be opened\n  hardware: no adapter",
      help: "install a GPU driver",
    },
  });
  expect(status).toBe(1);
  expect(written).toContain(
    "error[BELAY301 no-adapter]: no WebGPU adapter can be opened\n  help: install a GPU driver\n",
  );
  expect(written).toMatch(/hardware +no adapter\n/);
});

it.each([
  ["usable", true, [], [], "usable  1 of 2 agree with the specification, in 1.3 s"],
  ["usable-without", false, ["subgroups"], ["its kernel is wrong"], "usable without subgroups"],
  ["not-usable", false, [], ["its kernel is wrong"], "not usable"],
] as const)("shows the verdict %s of qualify", async (verdict, ok, without, reasons, line) => {
  const cases = (["agrees", "undecided"] as const).map((outcome) => ({
    name: "k",
    outcome,
    needs: [],
    words: 1,
  }));
  const qualification = { verdict, without, reasons, cases, milliseconds: 1250 };
  const { status, written } = await doctorOn({ ...host, ok, tried: [], qualification });
  expect(status).toBe(ok ? 0 : 1);
  expect(written).toContain(line);
  for (const reason of reasons) expect(written).toContain(reason);
  expect(written.startsWith(ok ? "Everything" : "This adapter computes wrong")).toBe(true);
});

it("writes a disputed dispatch to a file, and offers to find who is to blame", async () => {
  const dispute = { source: "fn f() {}", workgroups: [1, 2, 3], buffers: [] } as const;
  const disputed = { name: "k", outcome: "differs", needs: [], words: 1, dispute } as const;
  const qualification = {
    verdict: "not-usable",
    without: [],
    reasons: [],
    cases: [disputed],
    milliseconds: 1,
  } as const;
  const { written } = await doctorOn({ ...host, ok: false, tried: [], qualification });
  const [, path] = /belay blame (\S+)/.exec(written)!;
  expect(disputeFrom(readFileSync(path!, "utf8"))).toEqual(dispute);
  rmSync(dirname(path!), { recursive: true });
});
