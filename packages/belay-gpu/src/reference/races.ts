/** Finds data races while a kernel is executed (WGSL specification, "Memory Model"). */
import { Undecided } from "./undecided.ts";

/** The memory that a barrier orders. */
export type OrderedSpace = "workgroup" | "storage" | "texture";

/** The last accesses to a memory location. */
interface Accesses {
  /** The last invocation that stored to it, and when. */
  store?: Access;
  /** The last invocation that loaded it, and when. */
  load?: Access;
  /** True if further invocations loaded it since the last barrier. */
  hasOtherLoads: boolean;
  /** True if several workgroups loaded it. */
  hasOtherWorkgroups: boolean;
}

interface Access {
  readonly invocation: number;
  readonly workgroup: number;
  /** The number of barriers for the space that the workgroup has passed. */
  readonly phase: number;
}

/**
 * Follows the accesses of a dispatch to memory that invocations share. Two invocations race if one
 * of them stores to a location that both access, and no barrier orders the accesses. Barriers order
 * the accesses of one workgroup only. Atomic accesses do not race.
 */
export class RaceDetector {
  /** The invocation that is executed: its number in the workgroup. */
  invocation = 0;
  #workgroup = 0;
  #phases = { workgroup: 0, storage: 0, texture: 0 };
  readonly #reached = new Set<OrderedSpace>();
  readonly #memories = new Map<object, Map<number, Accesses>>();

  /** Forgets the accesses of earlier dispatches. */
  beginDispatch(): void {
    this.#memories.clear();
  }

  /** Begins a workgroup, whose own memory is new. */
  beginWorkgroup(memory: object): void {
    this.#workgroup++;
    this.#phases = { workgroup: 0, storage: 0, texture: 0 };
    this.#memories.delete(memory);
  }

  /** Notes that an invocation reaches a barrier. */
  reach(space: OrderedSpace): void {
    this.#reached.add(space);
  }

  /** Notes that all invocations of the workgroup leave a barrier. */
  leaveBarrier(): void {
    for (const space of this.#reached) this.#phases[space]++;
    this.#reached.clear();
  }

  /** Notes a load. Throws `Undecided` if it races with a store. */
  load(memory: object, location: number, space: OrderedSpace): void {
    const [accesses, access] = this.#accessesTo(memory, location, space);
    const { store, load } = accesses;
    if (store && !isOrdered(store, access)) throw racing();
    accesses.hasOtherWorkgroups ||= load !== undefined && load.workgroup !== access.workgroup;
    accesses.hasOtherLoads =
      load !== undefined &&
      load.phase === access.phase &&
      (accesses.hasOtherLoads || load.invocation !== access.invocation);
    accesses.load = access;
  }

  /** Notes a store. Throws `Undecided` if it races with another access. */
  store(memory: object, location: number, space: OrderedSpace): void {
    const [accesses, access] = this.#accessesTo(memory, location, space);
    const { store, load, hasOtherLoads, hasOtherWorkgroups } = accesses;
    if (store && !isOrdered(store, access)) throw racing();
    if (hasOtherWorkgroups || (load && !isOrdered(load, access, hasOtherLoads))) throw racing();
    accesses.store = access;
  }

  #accessesTo(memory: object, location: number, space: OrderedSpace): [Accesses, Access] {
    const locations = this.#memories.get(memory) ?? new Map<number, Accesses>();
    this.#memories.set(memory, locations);
    const accesses = locations.get(location) ?? { hasOtherLoads: false, hasOtherWorkgroups: false };
    locations.set(location, accesses);
    const access = {
      invocation: this.invocation,
      workgroup: this.#workgroup,
      phase: this.#phases[space],
    };
    return [accesses, access];
  }
}

/** Returns true if the specification orders an access, or several of one phase, before another. */
function isOrdered(earlier: Access, later: Access, areSeveral = false): boolean {
  if (earlier.workgroup !== later.workgroup) return false;
  return earlier.phase < later.phase || (!areSeveral && earlier.invocation === later.invocation);
}

function racing(): Undecided {
  return new Undecided("invocations race for memory");
}
