import type { MemoryScheme } from "../../ecc/scheme.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import { encodeKernel, toggleKernel, verifyKernel, workgroupsFor } from "./checkKernels.ts";
import type { CheckWordPasses, EncodingPoint } from "./checkWordEncoder.ts";
import type { Constants } from "./constants.ts";
import type { GranuleRange } from "./granules.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

export interface EccPassesParts {
  readonly scheme: MemoryScheme;
  readonly buffers: ProtectedBuffers;
  readonly constants: Constants;
  /** The report in which errors are recorded. */
  readonly slot: ReportSlot;
  /** Returns the arena of check words, for commands that are recorded from now on. */
  readonly arenaAt: (point: EncodingPoint) => GPUBuffer;
}

/** The passes of a code with check words for each granule. */
export class EccPasses implements CheckWordPasses {
  readonly #parts: EccPassesParts;
  readonly #encode: OwnKernel;
  readonly #verify: OwnKernel;
  readonly #toggle: OwnKernel;
  /**
   * The most granules of one binding: a multiple of 256, so that each binding begins at an offset
   * that every device accepts.
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
    // Most programs need both.
    this.#encode.begin();
    this.#verify.begin();
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / scheme.granuleBytes / 256) * 256;
  }

  encode(point: EncodingPoint, granules: GranuleRange): void {
    this.#overData(point, this.#encode, granules, []);
  }

  verify(point: EncodingPoint, granules: GranuleRange): void {
    this.#overData(point, this.#verify, granules, [rangeOf(this.#parts.slot)]);
  }

  verifyLater(point: EncodingPoint, granules: GranuleRange): void {
    this.verify(point, granules);
  }

  encodeLater(point: EncodingPoint, granules: GranuleRange): void {
    this.encode(point, granules);
  }

  /** Does nothing: these passes never wait. */
  runWaiting(): void {}

  beginParts(point: EncodingPoint, granules: GranuleRange, isVerified: boolean): void {
    if (!isVerified) this.verify(point, granules);
    this.#overData(point, this.#toggle, granules, []);
  }

  endParts(point: EncodingPoint, granules: GranuleRange): void {
    this.#overData(point, this.#toggle, granules, []);
  }

  /** Does nothing: these passes write check words at once. */
  settle(): void {}

  #overData(
    point: EncodingPoint,
    kernel: OwnKernel,
    { owner: { contents, granuleBytes, granules, first: base }, first, count }: GranuleRange,
    more: readonly BufferRange[],
  ): void {
    const { arenaAt, constants } = this.#parts;
    const arena = arenaAt(point);
    point.run((commands) => {
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
