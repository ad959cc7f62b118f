import type { BindGroups } from "./bindGroups.ts";
import type { Kernel } from "./kernels.ts";
import { makeSilently } from "./nativeObjects.ts";

/**
 * Where a pipeline has its report: alone in a bind group; as one more entry of a group of an explicit layout, for which
 * each of the program's bind groups gets a counterpart; or as an entry of a default layout, with which the program makes
 * its bind groups without knowing.
 */
export type ReportPlace = "own group" | "added to the program's group" | "hidden in the program's group";

/** The report buffer as a pipeline sees it. */
export class ReportBinding {
  readonly kernel: Kernel;
  readonly group: number;
  readonly #device: GPUDevice;
  readonly #bindGroups: BindGroups;
  readonly #place: ReportPlace;
  readonly #counterparts = new WeakMap<GPUBindGroup, GPUBindGroup>();
  readonly #layout: GPUBindGroupLayout;
  #alone: GPUBindGroup | undefined;

  constructor(
    device: GPUDevice,
    bindGroups: BindGroups,
    pipeline: GPUComputePipeline,
    kernel: Kernel,
    place: ReportPlace,
  ) {
    this.#device = device;
    this.#bindGroups = bindGroups;
    this.#place = place;
    this.kernel = kernel;
    this.group = kernel.protection.layout!.group;
    // An invalid pipeline is reported to the program; what follows from it is not its concern.
    this.#layout = makeSilently(device, () => pipeline.getBindGroupLayout(this.group)).made;
  }

  /** Whether the bind group holds nothing of the program's. */
  get isAlone(): boolean {
    return this.#place === "own group";
  }

  /** The bind group to set in place of the program's own; undefined when that one may stay. */
  groupFor(own: GPUBindGroup | null): GPUBindGroup | undefined {
    if (this.#place === "hidden in the program's group") return undefined;
    if (this.isAlone) {
      this.#alone ??= this.#makeAlone();
      return this.#alone;
    }
    let counterpart = own && this.#counterparts.get(own);
    if (own && !counterpart) {
      counterpart = this.#bindGroups.extend(own, this.#layout, this.#entry());
      if (counterpart) this.#counterparts.set(own, counterpart);
    }
    return counterpart ?? undefined;
  }

  /** What the program gets for a group of a default layout, where the device has `layout`. */
  layoutFor(index: number, layout: GPUBindGroupLayout): GPUBindGroupLayout {
    if (index !== this.group) return layout;
    if (this.isAlone) return this.#device.createBindGroupLayout({ entries: [] });
    this.#bindGroups.hide(layout, this.#entry());
    return layout;
  }

  #makeAlone(): GPUBindGroup {
    const { made } = makeSilently(this.#device, () =>
      this.#device.createBindGroup({
        label: "belay: report",
        layout: this.#layout,
        entries: [this.#entry()],
      }),
    );
    return made;
  }

  #entry(): GPUBindGroupEntry {
    const { page, offset, bytes } = this.kernel.slot;
    const { binding } = this.kernel.protection.layout!;
    return { binding, resource: { buffer: page.buffer, offset, size: bytes } };
  }
}
