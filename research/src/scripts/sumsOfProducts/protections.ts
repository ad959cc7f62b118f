import { harden } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { median } from "simple-statistics";
import { takeTurns } from "../../bench/measuring/takeTurns.js";
import type { CapturedDispatch } from "./captured.js";
import type { NewDevice } from "./products.js";
import { type DispatchTimes, type RunSize, TimedDispatch } from "./timedDispatch.js";

/** The median times of a dispatch under each protection, and the outcome of its checks. */
interface ComparedProtections {
  readonly plain: DispatchTimes;
  readonly redundant: DispatchTimes;
  readonly checked: DispatchTimes;
  readonly isChecked: boolean;
  readonly repaired: number;
  readonly refuted: number;
  readonly undecided: number;
  /** The number of words in which checked results differ from plain ones. */
  readonly wrong: number;
  /** The messages about sums that are not checked. */
  readonly reasons: readonly string[];
}

interface ComparisonOptions extends RunSize {
  /** The checker's least number of multiplications. */
  readonly leastMultiplications: number;
  readonly seconds: number;
}

/**
 * Times a dispatch on a plain device, under redundancy, and with checks by algebra. The devices
 * take turns after the search for sums.
 */
export async function compareProtections(
  newDevice: NewDevice,
  dispatch: CapturedDispatch,
  { leastMultiplications, seconds, ...size }: ComparisonOptions,
): Promise<ComparedProtections> {
  const plain = await newDevice();
  const redundant = harden(await newDevice());
  const checked = harden(await newDevice(), { algebra: algebra({ leastMultiplications }) });
  const devices = [plain, redundant, checked];
  const timed = devices.map((device) => new TimedDispatch(device, dispatch, size));
  for (const each of timed) await each.time();
  // A report waits until the sums are found.
  await checked.belay.report();
  const runs = timed.map((each) => () => each.time());
  const [ofPlain, ofRedundant, ofChecked] = (await takeTurns(plain, runs, { rounds: 3, seconds })).map(
    medians,
  );
  const [expected, , results] = await Promise.all(timed.map((each) => each.results()));
  const { kernels } = await checked.belay.report();
  for (const device of devices) device.destroy();
  const sumOf = (name: "checked" | "repaired" | "refuted" | "undecided") =>
    kernels.reduce((sum, { sums }) => sum + sums![name], 0);
  return {
    plain: ofPlain!,
    redundant: ofRedundant!,
    checked: ofChecked!,
    isChecked: sumOf("checked") > 0,
    repaired: sumOf("repaired"),
    refuted: sumOf("refuted"),
    undecided: sumOf("undecided"),
    wrong: results!.filter((word, i) => word !== expected![i]).length,
    reasons: kernels.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message)),
  };
}

const medians = (times: readonly DispatchTimes[]): DispatchTimes => ({
  gpu: median(times.map(({ gpu }) => gpu)),
  waiting: median(times.map(({ waiting }) => waiting)),
  host: median(times.map(({ host }) => host)),
});
