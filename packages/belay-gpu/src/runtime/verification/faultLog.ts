import { type Detection, invocationOf } from "../context/detectedFault.ts";
import { type Damage, distinct } from "../memory/memoryLog.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { type CheckResult, faultsIn, isHashed } from "./checkResult.ts";

/**
 * The faults and the damage seen while work is run again: each once, however often it comes back.
 */
export class FaultLog {
  #faults: readonly Detection[];
  #damage: readonly Damage[];

  /** `result`: of the check of work that ran for the first time. */
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

  /** Records the result of another check of work that ran for the first time. */
  record(result: CheckResult): void {
    this.#faults = [...this.#faults, ...faultsIn(result)];
    this.#recordDamage(result);
  }

  /**
   * Records the result of a check of work that has run again, less the faults that came back. Of a
   * fault that was known by its hashes, and now by a store, the store is kept.
   */
  recordReturned(result: CheckResult): void {
    const faults = [...this.#faults];
    const known = new Set(faults.map(invocationOf));
    for (const fault of faultsIn(result)) {
      const hashed = isHashed(fault)
        ? -1
        : faults.findIndex((each) => isHashed(each) && mayBeOf(each, fault));
      if (hashed >= 0) faults[hashed] = fault;
      else if (!known.has(invocationOf(fault))) faults.push(fault);
      known.add(invocationOf(fault));
    }
    this.#faults = faults;
    this.#recordDamage(result);
  }

  /** Records what a kernel's faults have stored, where replicas were compared as hashes. */
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
 * Whether what is known by hashes of an invocation, or of a whole workgroup, may be of the same as
 * a fault.
 */
function mayBeOf(hashed: Detection, { kernel, workgroup, localIndex }: Detection): boolean {
  if (hashed.kernel !== kernel) return false;
  if (hashed.localIndex !== null && hashed.localIndex !== localIndex) return false;
  if (!("index" in hashed.workgroup)) return hashed.workgroup.join() === String(workgroup);
  // The grid is not known, which says how workgroups of other rows are numbered.
  const [x, y, z] = workgroup as readonly [number, number, number];
  return y + z > 0 || x % hashed.workgroup.modulo === hashed.workgroup.index;
}
