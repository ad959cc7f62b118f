import type { Loop } from "../../loops/tree/ir.ts";
import { LoopProfile } from "../policy/loopProfile.ts";
import type { Costs } from "../policy/placement.ts";
import { moving } from "../policy/tuning.ts";
import { DeviceFailure } from "./deviceFailure.ts";
import { LoopPipelines } from "./pipelines.ts";
import { Uploads } from "./uploads.ts";

const workspaces = new WeakMap<GPUDevice, Workspace>();

/**
 * The state that speculation keeps for a device between loops: compiled kernels, loop profiles and
 * working memory. The memory grows to the needs of the largest loop and serves one loop at a time.
 */
export class Workspace {
  readonly device: GPUDevice;
  readonly uploads: Uploads;
  readonly pipelines: LoopPipelines;
  /** The last round that marked elements in the buffer `marks`; 0 if the buffer has no marks. */
  epoch = 0;
  /** The costs of the device, once measured; see `costs.ts`. */
  costs: Promise<Costs> | null = null;
  readonly #profiles = new WeakMap<Loop, LoopProfile>();
  readonly #buffers = new Map<string, GPUBuffer>();
  readonly #free: GPUBuffer[] = [];
  readonly #written = new WeakMap<GPUBuffer, Uint32Array<ArrayBuffer>>();
  /** The error scopes of buffers created since the last call of `allocated`. */
  readonly #allocations: Promise<GPUError | null>[] = [];
  #executionId = 0;
  #last: Promise<unknown> = Promise.resolve();
  #working = 0;
  #isLost = false;

  /** Returns the workspace of a device. */
  static of(device: GPUDevice): Workspace {
    const known = workspaces.get(device);
    if (known) return known;
    const workspace = new Workspace(device);
    workspaces.set(device, workspace);
    return workspace;
  }

  private constructor(device: GPUDevice) {
    this.device = device;
    this.uploads = new Uploads(device);
    this.pipelines = new LoopPipelines(device);
    void device.lost.then(() => {
      this.#isLost = true;
    });
  }

  /** Returns the profile of a loop on this device. */
  profileOf(loop: Loop): LoopProfile {
    const profile = this.#profiles.get(loop) ?? new LoopProfile(loop);
    this.#profiles.set(loop, profile);
    return profile;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Returns a number that tells an execution of a loop from earlier ones. It is never 0, the
   * contents of new memory.
   */
  nextExecutionId(): number {
    this.#executionId = (this.#executionId % 0xffffffff) + 1;
    return this.#executionId;
  }

  /** Runs `work` after all earlier work has ended, successfully or not. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#working++;
    const result = this.#last.then(work).finally(() => this.#working--);
    this.#last = result.catch(() => {});
    return result;
  }

  /** True if all work has ended. */
  get isIdle(): boolean {
    return this.#working === 0;
  }

  /**
   * Returns the working buffer of a name, with at least so many bytes. A buffer that has to grow is
   * created anew, with zeros.
   */
  buffer(name: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const known = this.#buffers.get(name);
    if (known && known.size >= bytes) return known;
    known?.destroy();
    const buffer = this.#allocate({ label: name, size: Math.max(16, bytes), usage });
    this.#buffers.set(name, buffer);
    if (name === "marks") this.epoch = 0;
    return buffer;
  }

  /**
   * Writes words into a buffer that nothing else writes to, from the word `start` on. Words that
   * are already there are not written again.
   */
  update(buffer: GPUBuffer, words: Uint32Array<ArrayBuffer>, start = 0): void {
    const known = this.#written.get(buffer);
    if (known && words.every((word, n) => known[start + n] === word)) return;
    const all = known ?? new Uint32Array(buffer.size / 4);
    all.set(words, start);
    this.#written.set(buffer, all);
    this.device.queue.writeBuffer(buffer, 4 * start, words);
  }

  /** Returns a buffer with any contents for the data of an array. Call `giveBack` after use. */
  borrow(bytes: number): GPUBuffer {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    return this.#borrow(bytes, STORAGE | COPY_SRC | COPY_DST);
  }

  /** Returns a buffer for reading data back. Unmap it and call `giveBack` after use. */
  borrowStaging(bytes: number): GPUBuffer {
    return this.#borrow(bytes, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  }

  #borrow(bytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const fits = (free: GPUBuffer) =>
      free.usage === usage && free.size >= bytes && free.size <= 2 * bytes + 4096;
    const place = this.#free.findIndex(fits);
    if (place >= 0) return this.#free.splice(place, 1)[0]!;
    return this.#allocate({ size: Math.max(16, bytes), usage });
  }

  /**
   * Throws a `DeviceFailure` if there was no memory for a buffer since the last call, and frees all
   * memory.
   */
  async allocated(): Promise<void> {
    const errors = await Promise.all(this.#allocations.splice(0));
    if (errors.every((error) => error === null)) return;
    this.release();
    throw new DeviceFailure("it has not enough memory");
  }

  #allocate(descriptor: GPUBufferDescriptor): GPUBuffer {
    this.device.pushErrorScope("out-of-memory");
    const buffer = this.device.createBuffer(descriptor);
    this.#allocations.push(this.device.popErrorScope());
    return buffer;
  }

  /** Takes a borrowed buffer back. A few of each kind are kept for the next loop. */
  giveBack(buffer: GPUBuffer): void {
    this.#free.push(buffer);
    const alike = this.#free.filter(({ usage }) => usage === buffer.usage);
    if (alike.length <= moving.mostFree) return;
    this.#free.splice(this.#free.indexOf(alike[0]!), 1);
    alike[0]!.destroy();
  }

  /** Frees all memory on the device. Later loops allocate it anew. */
  release(): void {
    this.uploads.destroy();
    for (const buffer of [...this.#buffers.values(), ...this.#free]) buffer.destroy();
    this.#buffers.clear();
    this.#free.length = 0;
    this.epoch = 0;
  }
}
