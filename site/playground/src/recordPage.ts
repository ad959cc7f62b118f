/** The page's side of `record.ts`: runs what the playground shows where there is no WebGPU. */
import { type RecordedTrials, tryAllDrivers } from "./device/deviceTrial.ts";
import { examples } from "./kernel/examples.ts";
import { Machine } from "./kernel/machine.ts";
import { packWords, type RecordedKernel } from "./kernel/recorded.ts";
import type { KernelProtection, StrikeFault } from "./kernel/results.ts";
import { readRunnable } from "./kernel/runnable.ts";
import { usualSite } from "./kernel/strikeControls.ts";
import { executeAllLoops, type RecordedLoops } from "./loop/loopResults.ts";
import { MemoryMachine } from "./memory/memoryMachine.ts";
import { type BitFlip, contents } from "./memory/memoryResults.ts";
import type { RecordedMemory } from "./memory/recordedMemory.ts";
import { adapterHere, describeAdapter } from "./page/adapter.ts";

async function about() {
  return { adapter: describeAdapter(await adapterHere()), date: new Date().toISOString().slice(0, 10) };
}

/** Records a run of the first kernel, and one strike with and without protection. */
export async function recordKernel(): Promise<RecordedKernel> {
  const [example] = examples;
  const { runnable } = readRunnable(example.source);
  const machine = new Machine();
  const protection: KernelProtection = {
    redundancy: "auto",
    check: "store",
    memory: "none",
    onFault: "recover",
  };
  const { words, sites } = await machine.run(runnable!, protection);
  const fault: StrikeFault = {
    site: usualSite(sites)!.id,
    pixel: 2079,
    bit: 22,
    replica: 1,
    permanent: false,
  };
  const { struck, heard } = await machine.strike(runnable!, protection, fault);
  const bare: KernelProtection = { ...protection, redundancy: "none" };
  const unprotected = await machine.run(runnable!, bare);
  const site = usualSite(unprotected.sites)!.id;
  const wrong = (await machine.strike(runnable!, bare, { ...fault, site, replica: 0 })).words!;
  machine.close();
  return {
    ...(await about()),
    example: example.name,
    protection,
    fault,
    words: packWords(words),
    sites,
    struck: { struck, heard },
    wrong: [...wrong.entries()].filter(([at, word]) => word !== unprotected.words[at]),
  };
}

/** Records the use of a buffer after no flip, one, and two in one code word. */
export async function recordMemory(): Promise<RecordedMemory> {
  const machine = new MemoryMachine();
  const flips: readonly BitFlip[] = [
    { word: 5, bit: 9 },
    { word: 6, bit: 19 },
  ];
  const uses = [];
  for (let count = 0; count <= flips.length; count++) {
    await machine.write("secded128", contents);
    for (const flip of flips.slice(0, count)) machine.flip(flip);
    uses.push(await machine.use());
  }
  machine.close();
  return { ...(await about()), code: "secded128", flips, uses };
}

/** Records the rounds of all loops. */
export async function recordLoops(): Promise<RecordedLoops> {
  return { ...(await about()), loops: await executeAllLoops() };
}

/** Records the trials of the device with all drivers. */
export async function recordDevice(): Promise<RecordedTrials> {
  return { ...(await about()), trials: await tryAllDrivers() };
}
