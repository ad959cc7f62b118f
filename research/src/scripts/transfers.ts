/**
 * Measures the transfer of arrays to the GPU and back, beside a copy from one array to another. No
 * kernel shortens this part of a speculated loop.
 *
 *   node research/dist/scripts/transfers.js [--megabytes 1,8,64,256] [--runs 10] [--json FILE]
 *
 * The host's arrays are written before each run, as a program's are. Each result is compared with
 * the data that was sent.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { ResidentArray } from "belay-speculate/internal/engine/transfer/resident";
import Table from "cli-table3";
import { summarize } from "../bench/measuring/timing.ts";

const { values: flags } = parseArgs({
  options: {
    megabytes: { type: "string", default: "1,8,64,256" },
    runs: { type: "string", default: "10" },
    json: { type: "string" },
  },
});

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const workspace = Workspace.of(device);
console.log(opened.choice.description);

const results = [];
for (const megabytes of flags.megabytes.split(",").map(Number)) {
  const source = new Uint8Array(megabytes * 2 ** 20);
  const array = new Uint8Array(source.length);
  const kept = new ResidentArray(array);
  const times: Record<"copied" | "sent" | "queued" | "fetched", number[]> = {
    copied: [],
    sent: [],
    queued: [],
    fetched: [],
  };
  // The first run creates staging memory.
  for (let run = -1; run < Number(flags.runs); run++) {
    for (let i = 0; i < source.length; i += 64) source[i] = i + run;
    const copied = await timed(() => array.set(source));
    kept.hostChanged();
    let buffer!: GPUBuffer;
    const sent = await timed(async () => {
      buffer = await kept.upload(workspace, { uploaded: 0, downloaded: 0 });
      await device.queue.onSubmittedWorkDone();
    });
    const queued = await timed(() => {
      device.queue.writeBuffer(buffer, 0, source);
      return device.queue.onSubmittedWorkDone();
    });
    array.fill(0);
    kept.deviceChanged();
    const fetched = await timed(() => kept.read());
    if (!Buffer.from(array.buffer).equals(source)) throw new Error(`${megabytes} MB came back changed`);
    if (run < 0) continue;
    for (const [way, time] of Object.entries({ copied, sent, queued, fetched }))
      times[way as keyof typeof times].push(time);
  }
  kept.drop();
  results.push({ megabytes, ...mapValues(times) });
}
device.destroy();
opened.close();

const table = new Table({
  head: ["MB", "copied on the host", "sent", "sent by writeBuffer", "fetched"],
  style: { head: [], border: [] },
});
for (const { megabytes, copied, sent, queued, fetched } of results)
  table.push([
    megabytes,
    ...[copied, sent, queued, fetched].map((each) => `${each.median.toPrecision(3)} ms`),
  ]);
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, results }, null, 2));

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function mapValues<Key extends string>(times: Record<Key, readonly number[]>) {
  const all = Object.entries<readonly number[]>(times).map(([key, values]) => [key, summarize(values)]);
  return Object.fromEntries(all) as Record<Key, ReturnType<typeof summarize>>;
}
