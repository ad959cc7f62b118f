/** The tests that every program must pass. */

import { rememberPipelines } from "belay-cli/internal/shared/workloads/rememberPipelines";
import type { VerifiableProgram } from "belay-research/internal/workloads/program";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changeKernel } from "./changeKernel.ts";
import { testDevices } from "./testDevices.ts";

export interface ProgramSuite {
  readonly programs: readonly { readonly name: string; small(): VerifiableProgram }[];
  /** The programs of odd sizes, by a description of the size. */
  readonly odd: Readonly<Record<string, () => VerifiableProgram>>;
  /** The changes of a kernel's text that make a program's results wrong. */
  readonly broken: Readonly<
    Record<string, readonly [create: () => VerifiableProgram, from: string, to: string]>
  >;
}

/** Declares the tests. Returns a function that returns their device once they run. */
export function describePrograms({ programs, odd, broken }: ProgramSuite): () => GPUDevice {
  const { newDevice } = testDevices({ full: true });
  let device: GPUDevice;
  beforeAll(async () => {
    // Programs of all sizes run the same kernels. Most of the time is spent on compiling them.
    device = rememberPipelines(await newDevice());
  });
  afterAll(() => device.destroy());

  test.each(Object.keys(odd))("computes the right answer for %s", async (title) => {
    const program = odd[title]!();
    expect(program.verify(await program.workload(device))).toMatchObject({ ok: true });
  });

  describe.each(programs)("$name", ({ small }) => {
    test("is right, and the same bits again when reset and run again, and a wrong bit is found", async () => {
      const program = small();
      const run = program.prepare(device);
      const results = [];
      for (let i = 0; i < 2; i++) {
        if (i > 0) run.reset?.();
        const encoder = device.createCommandEncoder();
        run.encode(encoder);
        device.queue.submit([encoder.finish()]);
        results.push(await run.read());
      }
      run.destroy();
      expect(program.verify(results[0]!)).toMatchObject({ ok: true });
      expect(results[1]).toEqual(results[0]);
      for (const [output, view] of Object.entries(results[0]!)) {
        const words = new Uint32Array(view.buffer, view.byteOffset, view.byteLength / 4);
        words[words.length >> 1]! ^= 1 << 30;
        expect(program.verify(results[0]!), output).toMatchObject({ ok: false });
        words[words.length >> 1]! ^= 1 << 30;
      }
    });
  });

  test.each(Object.keys(broken))("tells a broken %s from a sound one", async (name) => {
    const [create, from, to] = broken[name]!;
    const program = create();
    const kernels = Object.keys(program.kernelSources).length > 1 ? "all" : "one";
    const { ok, message } = program.verify(await program.workload(changeKernel(device, from, to, kernels)));
    expect(ok).toBe(false);
    expect(message).toMatch(/ is .* instead of /);
  });

  return () => device;
}
