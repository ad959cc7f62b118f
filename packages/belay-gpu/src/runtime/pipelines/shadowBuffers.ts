import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** The costs of shadow buffers, which are second copies of buffers that kernels change in place. */
export interface ShadowReport {
  /** The GPU memory of all shadow buffers now, in bytes. */
  readonly held: number;
  /** The most that `held` has been. */
  readonly peak: number;
  /** The number of updates of shadow ranges. */
  readonly copies: number;
  /** The bytes that these updates copied. */
  readonly bytes: number;
}

/** A shadow buffer, which the second replica uses in place of the program's buffer. */
export interface Shadow {
  readonly buffer: GPUBuffer;
  /** The error if the device had no memory for the buffer, otherwise null. */
  readonly failed: Promise<GPUError | null>;
  /** The memory of the buffer in bytes; zero once it is destroyed. */
  held: number;
}

const COPY = /* wgsl */ `
@group(0) @binding(0) var<storage, read> original: array<u32>;
@group(0) @binding(1) var<storage, read_write> shadow: array<u32>;
@compute @workgroup_size(64)
fn bringUpToDate(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < arrayLength(&shadow); i += 64 * groups.x) {
    shadow[i] = original[i];
  }
}`;
const BYTES_PER_WORKGROUP = 4 * 64;
/**
 * The most workgroups of a dispatch, enough to fill a GPU. Invocations loop over the remaining
 * words.
 */
const MAX_WORKGROUPS = 16_384;

/**
 * The shadows of the program's buffers. If an Inter-Group kernel changes a buffer in place, its
 * second replica works on a copy. Otherwise it would load what the first replica has stored. A
 * shadow is as large as its buffer and is destroyed with it.
 */
export class ShadowBuffers {
  readonly #device: GPUDevice;
  readonly #copy: OwnKernel;
  readonly #shadows: Overlay<GPUBuffer, Shadow>;
  #held = 0;
  #peak = 0;
  #copies = 0;
  #bytes = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#copy = new OwnKernel(device, {
      label: "belay: shadow",
      code: COPY,
      buffers: ["read-only-storage", "storage"],
    });
    const discard = (shadow: Shadow) => this.#discard(shadow);
    this.#shadows = new Overlay((native, shadowOf) => ({
      destroy() {
        discard(shadowOf(this));
        native.destroy.call(this);
      },
    }));
  }

  get report(): ShadowReport {
    return { held: this.#held, peak: this.#peak, copies: this.#copies, bytes: this.#bytes };
  }

  /** Returns the shadow of a buffer. It is created on first use, with undefined contents. */
  of(original: GPUBuffer): Shadow {
    const known = this.#shadows.stateOf(original);
    if (known) return known;
    const size = 4 * Math.ceil(original.size / 4);
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createBuffer({ label: "belay: shadow", size, usage: flags.bufferStorage }),
    );
    const shadow = { buffer: made, failed, held: size };
    this.#shadows.attach(original, shadow);
    this.#held += size;
    this.#peak = Math.max(this.#peak, this.#held);
    return shadow;
  }

  /** Encodes a copy of a buffer range into its shadow. */
  bringUpToDate(commands: PassCommands, range: BufferRange): void {
    const shadow = { ...range, buffer: this.of(range.buffer).buffer };
    const workgroups = Math.min(MAX_WORKGROUPS, Math.ceil(range.size / BYTES_PER_WORKGROUP));
    this.#copy.encode(commands, [range, shadow], workgroups);
    this.#copies++;
    this.#bytes += range.size;
  }

  #discard(shadow: Shadow): void {
    this.#held -= shadow.held;
    shadow.held = 0;
    shadow.buffer.destroy();
  }
}
