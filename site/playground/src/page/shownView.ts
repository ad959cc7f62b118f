/** A view that is on the page. */
export interface ShownView {
  /** Ends what the view has started: devices, animations, listeners. */
  close(): void;
}
