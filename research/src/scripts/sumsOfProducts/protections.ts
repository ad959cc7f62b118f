import { harden } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import type { NewDevice } from "./products.js";

/** The times of a dispatch under each protection, and what became of its checks by algebra. */
interface ComparedProtections<Times> {
  readonly plain: Times;
  readonly redundant: Times;
  readonly checked: Times;
  readonly isChecked: boolean;
  readonly repaired: number;
  readonly refuted: number;
  readonly undecided: number;
  /** The messages about sums that are not checked. */
  readonly reasons: readonly string[];
}

/**
 * Times a dispatch on a plain device, under redundancy, and with checks by algebra. The function
 * `time` calls `findSums` after its first run.
 */
export async function compareProtections<Times>(
  newDevice: NewDevice,
  leastMultiplications: number,
  time: (device: GPUDevice, findSums: () => Promise<void>) => Promise<Times>,
): Promise<ComparedProtections<Times>> {
  const timeWithoutSums = async (device: GPUDevice) => {
    const times = await time(device, async () => {});
    device.destroy();
    return times;
  };
  const plain = await timeWithoutSums(await newDevice());
  const redundant = await timeWithoutSums(harden(await newDevice()));
  const device = harden(await newDevice(), { algebra: algebra({ leastMultiplications }) });
  // A report waits until the sums are found.
  const checked = await time(device, async () => void (await device.belay.report()));
  const { kernels } = await device.belay.report();
  device.destroy();
  const sumOf = (name: "checked" | "repaired" | "refuted" | "undecided") =>
    kernels.reduce((sum, { sums }) => sum + sums![name], 0);
  return {
    plain,
    redundant,
    checked,
    isChecked: sumOf("checked") > 0,
    repaired: sumOf("repaired"),
    refuted: sumOf("refuted"),
    undecided: sumOf("undecided"),
    reasons: kernels.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message)),
  };
}
