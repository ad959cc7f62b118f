/**
 * Loops that run as they are written. They were refused, or their data does not fit their
 * translation. They use the program's arrays, of which devices may have newer copies.
 */
import { speculationError } from "../diagnostics/speculation.ts";
import type { LoopData } from "../loops/javascript/sequential.ts";
import { deviceCopies } from "./transfer/deviceCopies.ts";
import { rescue } from "./transfer/downloads.ts";
import { combineUses, memoryOf, OrderedOperation } from "./transfer/operationOrder.ts";
import { ResidentArray, residentOf } from "./transfer/resident.ts";
import { isTypedArray } from "./transfer/typedArrays.ts";

/** The arrays and variables that a loop of the program uses. */
export interface LoopUses {
  /** The arrays that the loop may change. Other values are ignored. */
  readonly changed: readonly unknown[];
  readonly read: readonly unknown[];
  /**
   * The objects that stand for variables which several calls of functions share, and plain arrays
   * with what they hold. Other values are ignored.
   */
  readonly variables: readonly unknown[];
}

/** The turn of a loop of the program, translated or not. */
export class LoopTurn extends OrderedOperation {
  readonly #uses: LoopUses | null;

  /** Takes the next turn. Without `uses`, the loop may use anything. */
  constructor(uses: LoopUses | null) {
    super(uses ? mapped(uses) : "everything");
    this.#uses = uses;
  }

  /**
   * Resolves when the turn has come and the host has the current arrays. Arrays that may change
   * must be sent to devices again. No device may therefore use them before the loop has ended.
   * Rejects with a `SpeculationError` (BELAY540) if a device failed with data that only it had.
   */
  async toHost(): Promise<void> {
    if (this.comes) await this.comes;
    if (this.#uses) {
      for (const array of arraysIn(this.#uses.read)) await bringHome(array, false);
      for (const array of arraysIn([...this.#uses.changed, ...this.#uses.variables]))
        await bringHome(array, true);
      return;
    }
    const copies = deviceCopies.all();
    await rescue(copies);
    for (const copy of copies) copy.hostChanged();
  }
}

/** Takes the turn of a loop of the program. See {@link LoopTurn}. */
export const takeTurn = (uses: LoopUses | null = null): LoopTurn => new LoopTurn(uses);

/**
 * Lets a loop use the typed arrays among these values, in a function that is not async and cannot
 * wait. Throws a `SpeculationError` (BELAY544) if only a device has the contents that earlier loops
 * leave in an array. The error names the array.
 */
export function requireOnHost(values: Readonly<Record<string, unknown>>): void {
  const arrays = Object.entries(values).filter((entry): entry is [string, LoopData] =>
    isTypedArray(entry[1]),
  );
  const plain = Object.entries(values).filter((entry): entry is [string, object] => Array.isArray(entry[1]));
  const missing = [...arrays, ...plain].filter(
    ([, array]) =>
      (isTypedArray(array) && deviceCopies.areAhead(array)) || OrderedOperation.isAwaited(memoryOf(array)),
  );
  if (missing.length > 0) throw speculationError.notOnHost(missing.map(([name]) => name));
  for (const [, array] of arrays) for (const copy of deviceCopies.of(array)) copy.hostChanged();
}

function mapped({ changed, read, variables }: LoopUses): ReadonlyMap<object, boolean> {
  const isAlone = (array: LoopData) => residentOf(array) instanceof ResidentArray;
  return combineUses([
    ...arraysIn(read).map((array) => [memoryOf(array), isAlone(array)] as const),
    ...[...arraysIn(changed), ...variables.filter(isObject)]
      .map(memoryOf)
      .map((used) => [used, true] as const),
  ]);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const arraysIn = (values: readonly unknown[]): readonly LoopData[] => values.filter(isTypedArray);

async function bringHome(array: LoopData, isChanged: boolean): Promise<void> {
  const kept = residentOf(array);
  const own = kept instanceof ResidentArray ? kept : null;
  await deviceCopies.settle(array, own, isChanged);
  if (!own) return;
  await rescue([own]);
  if (isChanged) own.hostChanged();
}
