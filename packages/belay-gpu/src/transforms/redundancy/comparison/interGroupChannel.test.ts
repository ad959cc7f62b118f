import { it } from "vitest";
import { goldens, type Step } from "../../../../../../test/support/wgsl/goldens.ts";
import { quote } from "../../../wgsl/quote.ts";
import { declareReport } from "../declareReport.ts";
import { mailWords } from "../mailbox.ts";
import { replicateWorkgroups } from "../replicateWorkgroups.ts";
import { reportWords } from "../reportBuffer.ts";
import { Comparison } from "./comparison.ts";
import type { Words } from "./valueWords.ts";

const golden = goldens("interGroupChannel", { withLibrary: true });
const kernel = "@compute @workgroup_size(64) fn main() {}";
const mail = mailWords([64]);
const prepared: Step[] = [
  (program, names) =>
    declareReport(program, names, {
      group: 0,
      binding: 0,
      bytes: 4 * reportWords.total,
      cells: 64,
      mail,
      pairs: true,
    }),
  (program, names) =>
    replicateWorkgroups(program, names, {
      entryPoints: new Set(["main"]),
      blocking: new Set(["main"]),
      mail,
    }),
];
/** Adds what `use` asks of a comparison. */
const library =
  (use: (comparison: Comparison) => void): Step =>
  (program, names) => {
    const comparison = new Comparison(names, {
      channel: "mailbox",
      lanes: "64u",
      cells: { count: 64 },
    });
    use(comparison);
    return {
      ...program.module,
      declarations: [...program.module.declarations, ...comparison.takeDeclarations()],
    };
  };
const words = (count: 1 | 2): Words => ({
  expression: quote().expression`vec2<u32>()`,
  count,
  scalar: "u32",
});

it("lets twins agree and share over the mailbox", () =>
  golden(
    "the mailbox channel",
    kernel,
    ...prepared,
    library((comparison) => {
      const index = quote().expression`4u`;
      const address = { expression: index, dynamic: true, indices: [index] };
      comparison.agree({ site: 1, address, words: words(2) });
      comparison.agree({ site: 1, address: null, words: null });
      comparison.share(1, words(2));
      comparison.leads();
    }),
  ));

it("balances signatures, one by one", () =>
  golden(
    "cells",
    kernel,
    ...prepared,
    library((comparison) => comparison.conclude(1, { start: 0, end: 0 })),
  ));
