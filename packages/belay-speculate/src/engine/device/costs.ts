import type { Costs } from "../policy/placement.ts";
import { moving } from "../policy/tuning.ts";
import { readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/** Returns the costs of a workspace's device, measured once. */
export function costsOf(workspace: Workspace): Promise<Costs> {
  workspace.costs ??= measure(workspace);
  return workspace.costs;
}

async function measure(workspace: Workspace): Promise<Costs> {
  const { device } = workspace;
  const start = performance.now();
  await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: "@compute @workgroup_size(1) fn probe() {}" }) },
  });
  const compile = performance.now() - start;
  const buffer = workspace.borrow(moving.probe);
  const data = new Uint8Array(moving.probe);
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
  const downloaded = await fastest(() => download(moving.probe));
  workspace.giveBack(buffer);
  const perByte = (time: number) => Math.max(0, time - launch) / moving.probe;
  return { launch, uploadedByte: perByte(uploaded), downloadedByte: perByte(downloaded), compile };
}

/** Returns the milliseconds of the fastest of some runs. Slower runs were disturbed. */
async function fastest(work: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let run = 0; run < moving.probes; run++) {
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
