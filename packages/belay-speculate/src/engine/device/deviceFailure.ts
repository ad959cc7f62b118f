import { BelayError } from "belay-gpu";

/**
 * An error of a device that did not execute its commands: it is lost, or has not enough memory.
 * Loops continue on the CPU. If they cannot, this error is the `cause` of a `SpeculationError`.
 */
export class DeviceFailure extends BelayError {
  override readonly name = "DeviceFailure";

  constructor(message: string, options?: ErrorOptions) {
    super("loop-device-failed", message, options);
  }
}
