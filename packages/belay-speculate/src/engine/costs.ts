import { readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/** What a device takes for things that the CPU does not have to do, in milliseconds. */
export interface Costs {
  /** To start something and to see its result. */
  readonly launch: number;
  readonly uploadedByte: number;
  readonly downloadedByte: number;
  /** To compile a kernel. */
  readonly compile: number;
}

const measured = new WeakMap<Workspace, Promise<Costs>>();

/** The costs of a workspace's device, measured once. */
export function costsOf(workspace: Workspace): Promise<Costs> {
  const known = measured.get(workspace) ?? measure(workspace);
  measured.set(workspace, known);
  return known;
}

/** Enough to see the time that it takes beside a launch. */
const probedBytes = 2 ** 22;
const runs = 3;

async function measure(workspace: Workspace): Promise<Costs> {
  const { device } = workspace;
  const start = performance.now();
  await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: "@compute @workgroup_size(1) fn probe() {}" }) },
  });
  const compile = performance.now() - start;
  const buffer = workspace.borrow(probedBytes);
  const data = new Uint8Array(probedBytes);
  const upload = () => workspace.uploads.write(buffer, 0, data);
  const download = async (bytes: number) => {
    const read = await readBuffers(workspace, [{ buffer, bytes }]);
    read((read, _) => data.set(read));
  };
  const launch = await fastest(() => download(4));
  const uploaded = await fastest(async () => {
    await upload();
    await download(4);
  });
  const downloaded = await fastest(() => download(probedBytes));
  workspace.giveBack(buffer);
  const perByte = (time: number) => Math.max(0, time - launch) / probedBytes;
  return { launch, uploadedByte: perByte(uploaded), downloadedByte: perByte(downloaded), compile };
}

/** Milliseconds of the fastest of some runs: the others have met something else. */
async function fastest(work: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
