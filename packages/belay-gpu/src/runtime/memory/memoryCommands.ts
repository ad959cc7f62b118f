import { PassCommands, type RecordedStep } from "../webgpu/passCommands.ts";
import { type BufferRange, type GpuResource, isTexture } from "../webgpu/resources.ts";
import type { CheckWordEncoder, EncodingPoint } from "./checkWordEncoder.ts";
import { allOf, type GranuleRange } from "./granules.ts";
import { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** The state and the recorded steps of one command buffer. */
export interface RecordedCommands {
  readonly memory: MemoryState;
  readonly steps: RecordedStep[];
  readonly written: Iterable<GpuResource>;
  /** True if the program has not ended a pass. The device then rejects all other commands. */
  readonly isInPass: boolean;
}

/**
 * An encoding point in a command encoder of the program. It records each command so that the
 * command can be encoded again. While a pass of the program is open it encodes nothing, so that the
 * device's error is about a command of the program.
 */
export class EncoderPoint implements EncodingPoint {
  readonly state: MemoryState;
  readonly #encoder: GPUCommandEncoder;
  readonly #native: GPUCommandEncoder;
  readonly #steps: RecordedStep[];
  readonly #isLocked: boolean;

  /** `native` has the encoder's original methods. */
  constructor(
    encoder: GPUCommandEncoder,
    native: GPUCommandEncoder,
    { memory, steps, isInPass }: Omit<RecordedCommands, "written">,
  ) {
    this.#encoder = encoder;
    this.#native = native;
    this.#steps = steps;
    this.#isLocked = isInPass;
    this.state = memory;
  }

  run(encode: (commands: PassCommands) => void): void {
    if (this.#isLocked) return;
    const pass = this.#native.beginComputePass.call(this.#encoder, { label: "belay" });
    const commands = new PassCommands(pass);
    const { recorded } = commands;
    encode(commands);
    pass.end();
    this.#steps.push((again) => {
      const passAgain = again.beginComputePass({ label: "belay" });
      recorded.encodeIn(passAgain);
      passAgain.end();
    });
  }

  copy({ buffer, offset, size }: BufferRange, to: GPUBuffer, toOffset: number): void {
    if (this.#isLocked) return;
    this.#native.copyBufferToBuffer.call(this.#encoder, buffer, offset, to, toOffset, size);
    this.#steps.push((again) => again.copyBufferToBuffer(buffer, offset, to, toOffset, size));
  }

  clear({ buffer, offset, size }: BufferRange): void {
    if (this.#isLocked) return;
    this.#native.clearBuffer.call(this.#encoder, buffer, offset, size);
    this.#steps.push((again) => again.clearBuffer(buffer, offset, size));
  }
}

interface MemoryCommandParts {
  readonly buffers: ProtectedBuffers;
  readonly words: CheckWordEncoder;
  /** Copies data and check words into a buffer that the host is going to read. */
  readonly flush: (point: EncoderPoint, granules: GranuleRange) => void;
  /** Makes the device ignore sums of commands from a point on, or not. */
  readonly ignoreSums: (point: EncoderPoint, isIgnored: boolean) => void;
}

/**
 * The command buffers that update check words: some of their own, and some before or after one of
 * the program's.
 */
export class MemoryCommands {
  readonly #device: GPUDevice;
  readonly #parts: MemoryCommandParts;

  constructor(device: GPUDevice, parts: MemoryCommandParts) {
    this.#device = device;
    this.#parts = parts;
  }

  submit(encode: (point: EncoderPoint) => void): void {
    this.#device.queue.submit([this.#encode(encode)]);
  }

  /**
   * Returns the command buffers to submit for one of the program's: updates before it, the
   * commands, and updates after it.
   */
  withUpdates(commands: GPUCommandBuffer, record: RecordedCommands | undefined): readonly GPUCommandBuffer[] {
    if (!record) return [commands];
    const { firstArena, arena, verifiedFirst, ignoresSums } = record.memory;
    const { buffers, words, ignoreSums } = this.#parts;
    const { buffer } = buffers.arena;
    const isOutdated = firstArena !== undefined && firstArena !== buffer;
    const owners = [...verifiedFirst].flatMap((each) => buffers.of(each) ?? []);
    const before = (point: EncoderPoint) => {
      for (const owner of owners) words.ensureVerified(point, allOf(owner));
      if (isOutdated) point.copy(common(buffer, firstArena), firstArena, 0);
    };
    const after = (point: EncoderPoint) => point.copy(common(arena!, buffer), buffer, 0);
    return [
      ...(isOutdated || owners.length > 0 ? [this.#encode(before)] : []),
      ...(ignoresSums ? [this.#encode((point) => ignoreSums(point, true))] : []),
      commands,
      ...(arena !== undefined && arena !== buffer ? [this.#encode(after)] : []),
      ...(ignoresSums ? [this.#encode((point) => this.#encodeWritten(point, record))] : []),
    ];
  }

  /** Encodes all that commands wrote whose sums the device ignored. */
  #encodeWritten(point: EncoderPoint, { written }: RecordedCommands): void {
    const { buffers, words, flush, ignoreSums } = this.#parts;
    ignoreSums(point, false);
    for (const each of written) {
      const owner = isTexture(each) ? undefined : buffers.of(each);
      if (!owner) continue;
      words.encode(point, allOf(owner));
      if (owner.mapped) flush(point, allOf(owner));
    }
  }

  #encode(encode: (point: EncoderPoint) => void): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder({ label: "belay: memory" });
    const point = new EncoderPoint(encoder, encoder, {
      memory: new MemoryState(),
      steps: [],
      isInPass: false,
    });
    encode(point);
    this.#parts.words.finish(point);
    return encoder.finish();
  }
}

/** Returns the range of words that both arenas have room for. */
function common(from: GPUBuffer, to: GPUBuffer): BufferRange {
  return { buffer: from, offset: 0, size: Math.min(from.size, to.size) };
}
