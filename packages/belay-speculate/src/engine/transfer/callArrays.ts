import { speculationError } from "../../diagnostics/speculation.ts";
import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { Workspace } from "../device/workspace.ts";
import type { BytesToMove } from "../policy/placement.ts";
import { deviceCopies } from "./deviceCopies.ts";
import { download, type Moved, rescue } from "./downloads.ts";
import { ResidentArray } from "./resident.ts";

interface CallArray {
  readonly name: string;
  readonly isWritten: boolean;
  /** True if the program gave the array for this call only. */
  readonly isOwn: boolean;
  readonly resident: ResidentArray;
  readonly length: number;
  /** True if the loop never loads from the array and overwrites all of it. */
  readonly isOverwritten: boolean;
}

/** The arrays of one call, on the host and on the device. */
export class CallArrays {
  readonly moved: Moved = { uploaded: 0, downloaded: 0 };
  /**
   * The program's arrays. They may be older than the device's copies, unless {@link toHost} was the
   * last transfer.
   */
  readonly hosts: Readonly<Record<string, LoopData>>;
  /** The numbers of elements as kernels access them: an array of doubles has twice as many. */
  readonly lengths: Readonly<Record<string, number>>;
  readonly #arrays: readonly CallArray[];
  /** True if the CPU has executed some iterations, whose stores must be kept. */
  #isBegun = false;

  /**
   * Takes the arrays of a call. `overwritten` names those that the call overwrites completely and
   * never loads from.
   */
  constructor(
    {
      loop,
      arrays,
    }: { readonly loop: Loop; readonly arrays: Readonly<Record<string, LoopData | ResidentArray>> },
    overwritten: readonly string[] = [],
  ) {
    const roles = new Map(loop.arrays.map(({ name, role }) => [name, role]));
    const doubles = new Set(loop.arrays.flatMap(({ name, element }) => (element === "f64" ? [name] : [])));
    this.#arrays = Object.entries(arrays).map(([name, given]) => {
      const isOwn = !(given instanceof ResidentArray);
      const resident = isOwn ? new ResidentArray(given) : given;
      return {
        name,
        isWritten: roles.get(name) !== "read",
        isOwn,
        resident,
        length: resident.host.length,
        isOverwritten: isOwn && overwritten.includes(name),
      };
    });
    this.hosts = Object.fromEntries(this.#arrays.map(({ name, resident }) => [name, resident.host]));
    this.lengths = Object.fromEntries(
      this.#arrays.map(({ name, length }) => [name, doubles.has(name) ? 2 * length : length]),
    );
  }

  /** True if all of the host's copies are up to date. */
  get areOnHost(): boolean {
    return !this.#arrays.some(({ resident }) => resident.isOnDevice);
  }

  /** The size of the arrays that stay on the device, in bytes. */
  get keptBytes(): number {
    return this.#sum(({ isOwn, resident }) => (isOwn ? 0 : resident.host.byteLength));
  }

  /** Returns the bytes that an execution on either side would move. */
  bytesToMove(workspace: Workspace): BytesToMove {
    const toSend = ({ resident }: CallArray) => resident.bytesToSend(workspace);
    return {
      lent: {
        uploaded: this.#sum((array) => (array.isOwn && !array.isOverwritten ? toSend(array) : 0)),
        downloaded: this.#sum(({ isOwn, isWritten, resident }) =>
          isOwn && isWritten ? resident.host.byteLength : 0,
        ),
      },
      toDevice: this.#sum((array) => (array.isOwn ? 0 : toSend(array))),
      toHost: {
        downloaded: this.#sum(({ resident }) => (resident.isOnDevice ? resident.host.byteLength : 0)),
        uploaded: this.#sum(({ isWritten, resident }) => (isWritten ? resident.bytesToKeep(workspace) : 0)),
      },
    };
  }

  /** The size of the arrays that the loop changes, in bytes. */
  get writtenBytes(): number {
    return this.#sum(({ isWritten, resident }) => (isWritten ? resident.host.byteLength : 0));
  }

  #sum(bytesOf: (array: CallArray) => number): number {
    return this.#arrays.reduce((bytes, array) => bytes + bytesOf(array), 0);
  }

  /** Uploads the arrays and returns their buffers, which the loop will change. */
  async toDevice(workspace: Workspace): Promise<Record<string, GPUBuffer>> {
    this.#checkLengths();
    const buffers: [string, GPUBuffer][] = [];
    for (const { name, resident, isOverwritten } of this.#arrays) {
      const isNeeded = !isOverwritten || this.#isBegun;
      buffers.push([name, await resident.upload(workspace, this.moved, isNeeded)]);
    }
    this.#checkLengths();
    for (const { isWritten, resident } of this.#arrays) if (isWritten) resident.deviceChanged();
    return Object.fromEntries(buffers);
  }

  /** Brings the program's arrays up to date, so that the CPU can change them. */
  async toHost(): Promise<void> {
    await this.#download(this.#arrays);
  }

  /**
   * Brings arrays up to date that only another device has, or only the copy of another view of
   * their memory.
   */
  async leaveOthers(workspace: Workspace): Promise<void> {
    for (const { resident, isWritten } of this.#arrays)
      await deviceCopies.settle(resident.host, resident, isWritten);
    const elsewhere = this.#arrays.filter(({ resident }) => resident.isElsewhere(workspace));
    await rescue(
      elsewhere.map(({ resident }) => resident),
      this.moved,
    );
  }

  /** Records that the CPU has executed iterations. */
  hostChanged(): void {
    this.#isBegun = true;
    for (const { isWritten, resident } of this.#arrays) if (isWritten) resident.hostChanged();
  }

  /** Downloads the arrays that do not stay on the device. */
  async finish(): Promise<void> {
    await this.#download(this.#arrays.filter(({ isOwn }) => isOwn));
  }

  /** Frees the device's memory of arrays that do not stay there. */
  giveBack(): void {
    for (const { isOwn, resident } of this.#arrays) if (isOwn) resident.giveBack();
  }

  /** Drops the device's copies and keeps the host's, because the device is lost. */
  forgetDevice(): void {
    for (const { resident } of this.#arrays) resident.drop();
  }

  /** Returns the error that names the arrays lost with the device. */
  lost(cause: unknown): Error {
    const names = this.#arrays.filter(({ resident }) => resident.isOnDevice).map(({ name }) => name);
    return speculationError.lostArrays(names, cause);
  }

  async #download(arrays: readonly CallArray[]): Promise<void> {
    this.#checkLengths();
    await download(
      arrays.map(({ resident }) => resident),
      this.moved,
    );
  }

  /** Throws if the program took an array's memory away or changed its size while the loop ran. */
  #checkLengths(): void {
    const changed = this.#arrays.filter(({ resident, length }) => resident.host.length !== length);
    if (changed.length > 0) throw speculationError.changedArrays(changed.map(({ name }) => name));
  }
}
