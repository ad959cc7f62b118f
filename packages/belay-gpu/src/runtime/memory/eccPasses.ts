import type { MemoryScheme } from "../../codes/scheme.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import { encodeKernel, toggleKernel, verifyKernel, workgroupsFor } from "./checkKernels.ts";
import type { CheckWordPasses, Site } from "./checkWordEncoder.ts";
import type { Constants } from "./constants.ts";
import type { Granules } from "./granules.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

export interface EccPassesParts {
  readonly scheme: MemoryScheme;
  readonly buffers: ProtectedBuffers;
  readonly constants: Constants;
  /** The report that findings are recorded in. */
  readonly slot: ReportSlot;
  /** The check words, for commands recorded from now on. */
  readonly arenaAt: (site: Site) => GPUBuffer;
}

/** The passes of a code that has a check word for each granule. */
export class EccPasses implements CheckWordPasses {
  readonly #parts: EccPassesParts;
  readonly #encode: OwnKernel;
  readonly #verify: OwnKernel;
  readonly #toggle: OwnKernel;
  /**
   * Granules that can be bound at once: a multiple of 256, as every device accepts offsets of 256
   * bytes.
   */
  readonly #bindable: number;

  constructor(device: GPUDevice, parts: EccPassesParts) {
    const { scheme } = parts;
    this.#parts = parts;
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#encode = new OwnKernel(device, {
      label: "belay: encode",
      code: encodeKernel(scheme),
      buffers: [read, write, read],
    });
    this.#verify = new OwnKernel(device, {
      label: "belay: verify",
      code: verifyKernel(scheme),
      buffers: [write, write, read, write],
    });
    this.#toggle = new OwnKernel(device, {
      label: "belay: toggle",
      code: toggleKernel(scheme),
      buffers: [read, write, read],
    });
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / scheme.granuleBytes / 256) * 256;
  }

  encode(site: Site, granules: Granules): void {
    this.#overData(site, this.#encode, granules, []);
  }

  verify(site: Site, granules: Granules): void {
    this.#overData(site, this.#verify, granules, [rangeOf(this.#parts.slot)]);
  }

  beginParts(site: Site, granules: Granules, isVerified: boolean): void {
    if (!isVerified) this.verify(site, granules);
    this.#overData(site, this.#toggle, granules, []);
  }

  endParts(site: Site, granules: Granules): void {
    this.#overData(site, this.#toggle, granules, []);
  }

  /** Nothing is left to be written. */
  settle(): void {}

  #overData(
    site: Site,
    kernel: OwnKernel,
    { owner: { contents, granuleBytes, granules, first: base }, first, count }: Granules,
    more: readonly BufferRange[],
  ): void {
    const { arenaAt, constants } = this.#parts;
    const arena = arenaAt(site);
    site.run((commands) => {
      for (let at = first; at < first + count; ) {
        const start = at - (at % this.#bindable);
        const end = Math.min(first + count, start + this.#bindable);
        const bound = Math.min(this.#bindable, granules - start);
        const data = { buffer: contents, offset: start * granuleBytes, size: bound * granuleBytes };
        const span = constants.of([at - start, base + at, end - at]);
        kernel.encode(commands, [data, whole(arena), span, ...more], workgroupsFor(end - at));
        at = end;
      }
    });
  }
}
