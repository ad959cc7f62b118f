import { type Detection, invocationOf } from "../context/detectedFault.ts";
import { type Damage, distinct } from "../memory/memoryLog.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { type CheckResult, faultsIn, isHashed } from "./checkResult.ts";

/**
 * The faults and the damage found while work is executed again. Each is listed once, even if it is
 * found repeatedly.
 */
export class FaultLog {
  #faults: readonly Detection[];
  #damage: readonly Damage[];

  /** `result` is the result of checking the first execution. */
  constructor(result: CheckResult) {
    this.#faults = faultsIn(result);
    this.#damage = distinct(result.damage);
  }

  get faults(): readonly Detection[] {
    return this.#faults;
  }

  get damage(): readonly Damage[] {
    return this.#damage;
  }

  /** Records the result of another check of a first execution. */
  record(result: CheckResult): void {
    this.#faults = [...this.#faults, ...faultsIn(result)];
    this.#recordDamage(result);
  }

  /**
   * Records the result of checking a re-execution, without the faults that were found before. If a
   * fault was known by hashes and is now known by a store, the store replaces the hashes.
   */
  recordReturned(result: CheckResult): void {
    const faults = [...this.#faults];
    const known = new Set(faults.map(invocationOf));
    for (const fault of faultsIn(result)) {
      const hashed = isHashed(fault)
        ? -1
        : faults.findIndex((each) => isHashed(each) && canBeSame(each, fault));
      if (hashed >= 0) faults[hashed] = fault;
      else if (!known.has(invocationOf(fault))) faults.push(fault);
      known.add(invocationOf(fault));
    }
    this.#faults = faults;
    this.#recordDamage(result);
  }

  /** Records the stores of a kernel's faults if its replicas were compared by hashes. */
  recordStored(kernel: ProtectedKernel, stored: Detection["stored"]): void {
    this.#faults = this.#faults.map((fault) =>
      fault.kernel === kernel.name && isHashed(fault) ? { ...fault, stored } : fault,
    );
  }

  #recordDamage({ damage }: CheckResult): void {
    this.#damage = distinct([...this.#damage, ...damage]);
  }
}

/**
 * Returns whether a fault known by hashes, of an invocation or a workgroup, may be the same as
 * another fault.
 */
function canBeSame(hashed: Detection, { kernel, workgroup, localIndex }: Detection): boolean {
  if (hashed.kernel !== kernel) return false;
  if (hashed.localIndex !== null && hashed.localIndex !== localIndex) return false;
  if (!("index" in hashed.workgroup)) return hashed.workgroup.join() === String(workgroup);
  // The grid is unknown, so the index of a workgroup in another row or plane is unknown too.
  const [x, y, z] = workgroup as readonly [number, number, number];
  return y + z > 0 || x % hashed.workgroup.modulo === hashed.workgroup.index;
}
