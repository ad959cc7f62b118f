import { PassCommands } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { Step } from "../webgpu/steps.ts";
import type { CheckWordEncoder, Site } from "./checkWordEncoder.ts";
import { allOf } from "./granules.ts";
import { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** What encoding needs to know of a command buffer. */
export interface RecordedCommands {
  readonly memory: MemoryState;
  readonly steps: Step<GPUCommandEncoder>[];
}

/**
 * Encodes into a command encoder what the program does not know of, and remembers each command to
 * be encoded again.
 */
export class EncoderSite implements Site {
  readonly state: MemoryState;
  readonly #encoder: GPUCommandEncoder;
  readonly #native: GPUCommandEncoder;
  readonly #steps: Step<GPUCommandEncoder>[];

  /** `native`: where the encoder's original methods are. */
  constructor(encoder: GPUCommandEncoder, native: GPUCommandEncoder, { memory, steps }: RecordedCommands) {
    this.#encoder = encoder;
    this.#native = native;
    this.#steps = steps;
    this.state = memory;
  }

  run(encode: (commands: PassCommands) => void): void {
    const pass = this.#native.beginComputePass.call(this.#encoder, { label: "belay" });
    const commands = new PassCommands(pass);
    encode(commands);
    pass.end();
    this.#steps.push((again) => {
      const passAgain = again.beginComputePass({ label: "belay" });
      for (const step of commands.steps) step(passAgain);
      passAgain.end();
    });
  }

  copy({ buffer, offset, size }: BufferRange, to: GPUBuffer, toOffset: number): void {
    this.#native.copyBufferToBuffer.call(this.#encoder, buffer, offset, to, toOffset, size);
    this.#steps.push((again) => again.copyBufferToBuffer(buffer, offset, to, toOffset, size));
  }

  clear({ buffer, offset, size }: BufferRange): void {
    this.#native.clearBuffer.call(this.#encoder, buffer, offset, size);
    this.#steps.push((again) => again.clearBuffer(buffer, offset, size));
  }
}

/**
 * The command buffers that keep check words besides the program's: those of their own, and those
 * around one of the program's.
 */
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

  /**
   * What to submit for commands: what has to happen before them, they themselves, and what has to
   * happen after.
   */
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
