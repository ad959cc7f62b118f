import { reportWords } from "../compiler/contract.ts";
import type { Kernel, Kernels } from "./kernels.ts";
import type { ReportArena } from "./reportArena.ts";

/** One fault to inject: which word of which value, of which replica of which invocation, is struck how. */
export interface ArmedFault {
  /** The kernel's name, as `faultSites` gives it. */
  readonly kernel: string;
  /** A `FaultSite`'s id. */
  readonly site: number;
  readonly replica: 0 | 1;
  /** XORed into the struck word. */
  readonly mask: number;
  /** Component of a vector value. Default 0. */
  readonly component?: number;
  readonly workgroup: readonly [number, number, number];
  readonly localIndex: number;
  /** Which execution of the site by that invocation, counted from 0. Default 0. */
  readonly occurrence?: number;
  /** Strikes again when work is run again, as a broken part of a GPU would. Default false. */
  readonly permanent?: boolean;
}

/** Arms at most one fault at a time in the kernels of a device. */
export class Injector {
  readonly #arena: ReportArena;
  #armed: ArmedFault | undefined;

  constructor(arena: ReportArena) {
    this.#arena = arena;
  }

  /** Arms a fault for work submitted from now on, in a kernel that exists or is yet to be made. */
  arm(kernels: Kernels, fault: ArmedFault): void {
    this.disarm(kernels);
    this.#armed = fault;
    for (const { kernel } of kernels.choices) if (kernel) this.kernelMade(kernel);
  }

  disarm(kernels: Kernels): void {
    const struck = this.#armed?.kernel;
    this.#armed = undefined;
    for (const { kernel } of kernels.choices) {
      if (kernel?.name === struck && kernel) this.#arena.write(kernel.slot, reportWords.armedSite, [0]);
    }
  }

  /** A transient fault has been, when the work it struck runs again. */
  workRunsAgain(kernels: Kernels): void {
    if (!this.#armed?.permanent) this.disarm(kernels);
  }

  kernelMade(kernel: Kernel): void {
    const fault = this.#armed;
    if (fault?.kernel !== kernel.name) return;
    const { site, replica, mask, component = 0, workgroup, localIndex, occurrence = 0 } = fault;
    kernel.strikes = 0;
    // The words follow each other from `strikes` on.
    const words = [0, site, replica, mask, component, ...workgroup, localIndex, occurrence];
    this.#arena.write(kernel.slot, reportWords.strikes, words);
  }
}
