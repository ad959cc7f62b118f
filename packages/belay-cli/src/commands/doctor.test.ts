import { Readable, Writable } from "node:stream";
import type { AdapterDiagnosis } from "belay-node/internal/adapterDiagnosis";
import { expect, it, vi } from "vitest";
import { doctorCommand } from "./doctor.ts";

it("fails, and says what to do, where there is no adapter", async () => {
  const diagnose = async (): Promise<AdapterDiagnosis> => ({
    ok: false,
    platform: "linux-x64",
    node: "v20.19.0",
    tried: [{ kind: "hardware", outcome: "no adapter" }],
    problem: {
      code: "BELAY301",
      message: "no WebGPU adapter can be opened\n  hardware: no adapter",
      help: "install a GPU driver",
    },
  });
  let written = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const finish = vi.fn();
  const io = { stdin: Readable.from([]), stdout, stderr: stdout };
  await doctorCommand(io, finish, diagnose).parseAsync([], { from: "user" });
  expect(finish).toHaveBeenCalledExactlyOnceWith(1);
  expect(written).toContain(
    "error[BELAY301 no-adapter]: no WebGPU adapter can be opened\n  help: install a GPU driver\n",
  );
  expect(written).toMatch(/hardware +no adapter\n/);
});
