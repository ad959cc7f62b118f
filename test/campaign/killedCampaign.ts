/** A campaign in a process of its own, to be killed: `killedCampaign.ts DIRECTORY`. */
import { existsSync } from "node:fs";
import { storePath } from "../../src/campaign/store.ts";
import { campaignSettings, runTestCampaign } from "./settings.ts";

const directory = process.argv[2]!;
const resume = existsSync(storePath(directory));
await runTestCampaign(directory, campaignSettings(["sum"], { margin: 0.12, bound: 0.12 }), { resume });
process.stdout.write("done\n");
process.exit(0);
