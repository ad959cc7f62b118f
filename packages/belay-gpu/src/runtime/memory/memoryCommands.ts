import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder } from "./checkWordEncoder.ts";
import { EncoderSite, type RecordedCommands } from "./encoderSite.ts";
import { allOf } from "./granules.ts";
import { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** The command buffers that keep check words besides the program's: those of their own, and those around one of the program's. */
export class MemoryCommands {
  readonly #device: GPUDevice;
  readonly #buffers: ProtectedBuffers;
  readonly #words: CheckWordEncoder;

  constructor(device: GPUDevice, buffers: ProtectedBuffers, words: CheckWordEncoder) {
    this.#device = device;
    this.#buffers = buffers;
    this.#words = words;
  }

  submit(encode: (site: EncoderSite) => void): void {
    this.#device.queue.submit([this.#encode(encode)]);
  }

  /** What to submit for commands: what has to happen before them, they themselves, and what has to happen after. */
  around(commands: GPUCommandBuffer, record: RecordedCommands | undefined): readonly GPUCommandBuffer[] {
    if (!record) return [commands];
    const { firstArena, arena, drawn } = record.memory;
    const { buffer } = this.#buffers.arena;
    const isOutdated = firstArena !== undefined && firstArena !== buffer;
    const drawnFrom = [...drawn].flatMap((each) => this.#buffers.of(each) ?? []);
    const before = (site: EncoderSite) => {
      for (const owner of drawnFrom) this.#words.ensureVerified(site, allOf(owner));
      if (isOutdated) site.copy(common(buffer, firstArena), firstArena, 0);
    };
    const after = (site: EncoderSite) => site.copy(common(arena!, buffer), buffer, 0);
    return [
      ...(isOutdated || drawnFrom.length > 0 ? [this.#encode(before)] : []),
      commands,
      ...(arena !== undefined && arena !== buffer ? [this.#encode(after)] : []),
    ];
  }

  #encode(encode: (site: EncoderSite) => void): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder({ label: "belay: memory" });
    const site = new EncoderSite(encoder, encoder, { memory: new MemoryState(), steps: [] });
    encode(site);
    this.#words.finish(site);
    return encoder.finish();
  }
}

/** What two arenas have in common. */
function common(from: GPUBuffer, to: GPUBuffer): BufferRange {
  return { buffer: from, offset: 0, size: Math.min(from.size, to.size) };
}
