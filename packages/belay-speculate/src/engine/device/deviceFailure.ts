/** The device did not do what it was told to: it is lost, or has not enough memory. */
export class DeviceFailure extends Error {
  override readonly name = "DeviceFailure";
}
