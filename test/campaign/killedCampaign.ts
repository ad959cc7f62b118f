/**
 * A campaign in a process of its own, which dies after so many bytes: `killedCampaign.ts DIRECTORY
 * [PROGRAM [BYTES]]`.
 */
import fs, { existsSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { storePath } from "belay-cli/internal/campaign/store/store";
import { campaignSettings, runTestCampaign } from "./settings.ts";

const [, , directory = "", program = "sum", bytes = "Infinity"] = process.argv;

const write = fs.writeSync;
let left = Number(bytes);
/**
 * Writes what is left to be written, and ends as by `kill -9` where this is less than was to be
 * written.
 */
fs.writeSync = ((file: number, line: Buffer, offset: number, length: number, place: number) => {
  if (length <= left) {
    left -= length;
    return write(file, line, offset, length, place);
  }
  write(file, line, offset, left, place);
  process.kill(process.pid, "SIGKILL");
}) as typeof fs.writeSync;
syncBuiltinESMExports();

const resume = existsSync(storePath(directory));
await runTestCampaign(directory, campaignSettings([program], { margin: 0.12, bound: 0.12 }), { resume });
process.stdout.write("done\n");
process.exit(0);
