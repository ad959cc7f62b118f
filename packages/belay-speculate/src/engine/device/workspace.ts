import type { Loop } from "../../loops/tree/ir.ts";
import { LoopProfile } from "../policy/loopProfile.ts";
import type { Costs } from "../policy/placement.ts";
import { moving } from "../policy/tuning.ts";
import { DeviceFailure } from "./deviceFailure.ts";
import { LoopPipelines } from "./pipelines.ts";
import { Uploads } from "./uploads.ts";

const workspaces = new WeakMap<GPUDevice, Workspace>();

/**
 * Everything that speculation keeps of a device from one loop to the next: compiled kernels, what
 * is known of each loop, and working memory, which grows to what the largest loop needs and is used
 * by one loop at a time.
 */
export class Workspace {
  readonly device: GPUDevice;
  readonly uploads: Uploads;
  readonly pipelines: LoopPipelines;
  /** The last round that marked elements in the buffer `marks`; 0 when it has no marks. */
  epoch = 0;
  /** The costs of the device, once something has asked for them; see `costs.ts`. */
  costs: Promise<Costs> | null = null;
  readonly #profiles = new WeakMap<Loop, LoopProfile>();
  readonly #buffers = new Map<string, GPUBuffer>();
  readonly #free: GPUBuffer[] = [];
  readonly #written = new WeakMap<GPUBuffer, Uint32Array<ArrayBuffer>>();
  /** What came of buffers that were made since it was last looked at. */
  readonly #allocations: Promise<GPUError | null>[] = [];
  #executionId = 0;
  #last: Promise<unknown> = Promise.resolve();
  #working = 0;
  #isLost = false;

  /** The workspace of a device. */
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

  /** Returns what executions of a loop on this device have shown. */
  profileOf(loop: Loop): LoopProfile {
    const profile = this.#profiles.get(loop) ?? new LoopProfile(loop);
    this.#profiles.set(loop, profile);
    return profile;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * A number that tells one execution of a loop from the ones before it; not 0, which is what new
   * memory holds.
   */
  nextExecutionId(): number {
    this.#executionId = (this.#executionId % 0xffffffff) + 1;
    return this.#executionId;
  }

  /** Runs `work` after all work that came before has ended, well or not. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#working++;
    const result = this.#last.then(work).finally(() => this.#working--);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Whether all work has ended. */
  get isIdle(): boolean {
    return this.#working === 0;
  }

  /**
   * The working buffer of a name, at least as large as asked. It is made anew, and zero, when it
   * has to grow.
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
   * Writes words into a buffer that nothing else writes to, from the word `start` on; they may be
   * there already.
   */
  update(buffer: GPUBuffer, words: Uint32Array<ArrayBuffer>, start = 0): void {
    const known = this.#written.get(buffer);
    if (known && words.every((word, n) => known[start + n] === word)) return;
    const all = known ?? new Uint32Array(buffer.size / 4);
    all.set(words, start);
    this.#written.set(buffer, all);
    this.device.queue.writeBuffer(buffer, 4 * start, words);
  }

  /** A buffer with any contents for the data of an array; give it back after use. */
  borrow(bytes: number): GPUBuffer {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    return this.#borrow(bytes, STORAGE | COPY_SRC | COPY_DST);
  }

  /** A buffer to read data back through; give it back, unmapped, after use. */
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
   * Throws a `DeviceFailure` when there was no memory for a buffer that was asked for, and frees
   * what there is.
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

  /** Frees all memory on the device. Later loops start anew. */
  release(): void {
    this.uploads.destroy();
    for (const buffer of [...this.#buffers.values(), ...this.#free]) buffer.destroy();
    this.#buffers.clear();
    this.#free.length = 0;
    this.epoch = 0;
  }
}
