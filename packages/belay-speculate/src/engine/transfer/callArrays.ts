import { speculationError } from "../../diagnostics/speculation.ts";
import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { Workspace } from "../device/workspace.ts";
import type { BytesToMove } from "../policy/placement.ts";
import { deviceCopies } from "./deviceCopies.ts";
import { download, type Moved, rescue } from "./downloads.ts";
import { Resident } from "./resident.ts";

interface CallArray {
  readonly name: string;
  readonly isWritten: boolean;
  /** Whether the program gave it for this call only. */
  readonly isOwn: boolean;
  readonly resident: Resident;
  readonly length: number;
  /** Whether the loop never loads from it and overwrites all of it. */
  readonly isOverwritten: boolean;
}

/** The arrays of one call, here and on the device. */
export class CallArrays {
  readonly moved: Moved = { uploaded: 0, downloaded: 0 };
  /**
   * As the program has them; older than what the device has, unless {@link toHost} was the last to
   * move them.
   */
  readonly hosts: Readonly<Record<string, LoopData>>;
  readonly lengths: Readonly<Record<string, number>>;
  readonly #arrays: readonly CallArray[];
  /** Whether the CPU has executed some of the iterations, what these stored having to be kept. */
  #isBegun = false;

  /**
   * The arrays of a call that overwrites those of these names completely, and never loads from
   * them.
   */
  constructor(
    { loop, arrays }: { readonly loop: Loop; readonly arrays: Readonly<Record<string, LoopData | Resident>> },
    overwritten: readonly string[] = [],
  ) {
    const roles = new Map(loop.arrays.map(({ name, role }) => [name, role]));
    this.#arrays = Object.entries(arrays).map(([name, given]) => {
      const isOwn = !(given instanceof Resident);
      const resident = isOwn ? new Resident(given) : given;
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
    this.lengths = Object.fromEntries(this.#arrays.map(({ name, length }) => [name, length]));
  }

  /** Whether the host has everything as it is now. */
  get areOnHost(): boolean {
    return !this.#arrays.some(({ resident }) => resident.isOnDevice);
  }

  /** Bytes of the arrays that stay on the device. */
  get keptBytes(): number {
    return this.#sum(({ isOwn, resident }) => (isOwn ? 0 : resident.host.byteLength));
  }

  /** Bytes that a decision about where the loop is executed moves. */
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

  /** Bytes of the arrays that loops change. */
  get writtenBytes(): number {
    return this.#sum(({ isWritten, resident }) => (isWritten ? resident.host.byteLength : 0));
  }

  #sum(bytesOf: (array: CallArray) => number): number {
    return this.#arrays.reduce((bytes, array) => bytes + bytesOf(array), 0);
  }

  /** The arrays in the device's memory, where the loop will change them. */
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

  /** Brings the program's arrays up to date, to be changed there. */
  async toHost(): Promise<void> {
    await this.#download(this.#arrays);
  }

  /**
   * Brings those up to date that only another device has, or the copy of another view of their
   * memory.
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

  /** Says that the CPU has executed iterations. */
  hostChanged(): void {
    this.#isBegun = true;
    for (const { isWritten, resident } of this.#arrays) if (isWritten) resident.hostChanged();
  }

  /** Gives the program back the arrays that do not stay on the device. */
  async finish(): Promise<void> {
    await this.#download(this.#arrays.filter(({ isOwn }) => isOwn));
  }

  /** Frees what the device has of arrays that do not stay there. */
  giveBack(): void {
    for (const { isOwn, resident } of this.#arrays) if (isOwn) resident.giveBack();
  }

  /** Takes what the host has as the truth: the device is lost. */
  forgetDevice(): void {
    for (const { resident } of this.#arrays) resident.drop();
  }

  /** The error that says what was lost with the device. */
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

  /** While a loop runs, a program can take an array's memory away, or change its size. */
  #checkLengths(): void {
    const changed = this.#arrays.filter(({ resident, length }) => resident.host.length !== length);
    if (changed.length > 0) throw speculationError.changedArrays(changed.map(({ name }) => name));
  }
}
