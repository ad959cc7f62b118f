/** An error of a device that did not execute its commands: it is lost, or has not enough memory. */
export class DeviceFailure extends Error {
  override readonly name = "DeviceFailure";
}
