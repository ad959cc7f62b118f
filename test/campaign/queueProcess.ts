/**
 * The planner or a worker of a campaign in a process of its own: `queueProcess.ts plan URL
 * DIRECTORY SETTINGS` or `queueProcess.ts work URL`. It ends as by `kill -9` after so many lines
 * of the store, or so many injections, which BELAY_TEST_DIES says.
 */

import { createRequire } from "node:module";
import { WatchedProcess } from "belay-cli/internal/campaign/processes/watchedProcess";
import { Store } from "belay-cli/internal/campaign/store/store";
import { planTestCampaign, workOnTestCampaign } from "./settings.ts";

// Node.js 20 cannot link the modules of BullMQ by import while a loader is registered.
createRequire(import.meta.url)("bullmq");

const [, , role, url = "", directory = "", settings = ""] = process.argv;
let left = Number(process.env.BELAY_TEST_DIES ?? "Infinity");
const isLast = () => --left < 0;

const { append } = Store.prototype;
Store.prototype.append = function (...args) {
  if (isLast()) process.kill(process.pid, "SIGKILL");
  append.apply(this, args);
};
const { ask } = WatchedProcess.prototype;
WatchedProcess.prototype.ask = function (kind, ...args) {
  if (kind === "inject" && isLast()) process.kill(process.pid, "SIGKILL");
  return ask.call(this, kind, ...args) as never;
};

const controller = new AbortController();
process.once("SIGINT", () => controller.abort());
const { signal } = controller;
if (role === "plan") await planTestCampaign(url, directory, JSON.parse(settings), { signal });
else await workOnTestCampaign(url, { signal });
process.exit(0);
