/**
 * Measures the codes on the host, in gigabytes of data per second of one core. It also counts the
 * operations of their WGSL.
 *
 *   node research/dist/scripts/codes.js [--schemes secded128,hsiao64,…] [--megabytes 16]
 *       [--runs 20] [--json FILE]
 *
 * Times are those of the processor, so that other programs on the machine hardly affect them. The
 * data that `verify` gets has no errors. Operations are WGSL's, per word of data. A rotation counts
 * as three, though many devices have an instruction.
 */
import { writeFileSync } from "node:fs";
import { cpuUsage } from "node:process";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { median } from "simple-statistics";
import { codeOperations } from "../ecc/codeOperations.ts";
import { type ComparedScheme, comparedSchemes } from "../ecc/index.ts";

const { values: flags } = parseArgs({
  options: {
    schemes: { type: "string", default: Object.keys(comparedSchemes).join() },
    megabytes: { type: "string", default: "16" },
    runs: { type: "string", default: "20" },
    json: { type: "string" },
  },
});

const words = Number(flags.megabytes) * 2 ** 18;
const data = Uint32Array.from({ length: words }, (_, i) => Math.imul(i, 0x9e3779b9));

/** Returns the median gigabytes per second of processor time. */
function throughput(pass: () => void): number {
  const microseconds = Array.from({ length: Number(flags.runs) + 3 }, () => {
    const start = cpuUsage();
    pass();
    const { user, system } = cpuUsage(start);
    return user + system;
  });
  // The engine compiles during the first runs.
  return (4 * words) / 1000 / median(microseconds.slice(3));
}

const results = flags.schemes.split(",").map((name) => {
  const scheme = comparedSchemes[name as ComparedScheme];
  const checks = new Uint32Array((4 * words) / scheme.granuleBytes);
  const encode = throughput(() => scheme.encode(data, checks));
  const verify = throughput(() => {
    if (scheme.verify(data, checks).corrected > 0)
      throw new Error(`${name} found errors where there are none`);
  });
  const perWord = 4 / scheme.granuleBytes;
  const operations = codeOperations(scheme);
  return {
    name,
    granuleBytes: scheme.granuleBytes,
    checkBits: scheme.checkBits,
    storage: perWord,
    encodeOperations: operations.encode * perWord,
    contributionOperations: operations.contribution,
    encode,
    verify,
  };
});

const table = results.map((each) => [
  each.name,
  String(each.granuleBytes),
  String(each.checkBits),
  `${(100 * each.storage).toFixed(1)} %`,
  each.encodeOperations.toFixed(1),
  String(each.contributionOperations),
  each.encode.toFixed(2),
  each.verify.toFixed(2),
]);
const heads = ["scheme", "granule", "check bits", "storage", "ops/word", "ops of a contribution"];
console.log(alignColumns([[...heads, "encode GB/s", "verify GB/s"], ...table]));
if (flags.json) writeFileSync(flags.json, JSON.stringify(results, null, 2));
