import { PassCommands } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { Step } from "../webgpu/steps.ts";
import type { Site } from "./checkWordEncoder.ts";
import type { MemoryState } from "./memoryState.ts";

/** What encoding needs to know of a command buffer. */
export interface RecordedCommands {
  readonly memory: MemoryState;
  readonly steps: Step<GPUCommandEncoder>[];
}

/** Encodes into a command encoder what the program does not know of, and remembers each command to be encoded again. */
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
