/** A campaign in a process of its own, to be killed: `killedCampaign.ts DIRECTORY [PROGRAM]`. */
import { existsSync } from "node:fs";
import { storePath } from "../../src/campaign/store.ts";
import { campaignSettings, runTestCampaign } from "./settings.ts";

const [, , directory = "", program = "sum"] = process.argv;
const resume = existsSync(storePath(directory));
await runTestCampaign(directory, campaignSettings([program], { margin: 0.12, bound: 0.12 }), { resume });
process.stdout.write("done\n");
process.exit(0);
