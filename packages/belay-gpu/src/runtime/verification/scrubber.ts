import { refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import type { VerificationOutcome, Verifier } from "./verifier.ts";

/** Scrubs the memory of a device, on request and at the interval of the policy. */
export class Scrubber {
  readonly #memory: DamageDetection;
  readonly #verifier: Verifier;
  /** True if damaged data is refused. */
  readonly #refuses: boolean;

  constructor({ device, policy }: RuntimeContext, memory: DamageDetection, verifier: Verifier) {
    this.#memory = memory;
    this.#verifier = verifier;
    this.#refuses = refusesFaults(policy);
    if (memory.canFindDamage && policy.scrubIntervalMs > 0) this.#repeat(device, policy.scrubIntervalMs);
  }

  /**
   * Verifies all memory. The outcome includes damage that was refused earlier and is still there.
   */
  async scrub(): Promise<VerificationOutcome> {
    this.#memory.scrub();
    const outcome = await this.#verifier.verifyAnyway();
    if (!this.#refuses || outcome.lost || outcome.refused) return outcome;
    // Damage that was refused earlier has matching check words by now.
    const [damaged] = this.#memory.acceptedDamage((place) => this.#verifier.taintOf(place) !== undefined);
    const refused = damaged && this.#verifier.taintOf(damaged);
    return refused ? { refused } : {};
  }

  /** Scrubs at intervals while the device lives. The timer does not keep a process alive. */
  #repeat(device: GPUDevice, milliseconds: number): void {
    let isScrubbing = false;
    const timer = setInterval(() => {
      if (isScrubbing) return;
      isScrubbing = true;
      void this.scrub().finally(() => {
        isScrubbing = false;
      });
    }, milliseconds);
    (timer as { unref?: () => void }).unref?.();
    void device.lost.then(() => clearInterval(timer));
  }
}
