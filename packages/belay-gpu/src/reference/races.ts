/** Finds data races while a kernel is executed (WGSL specification, "Memory Model"). */
import { Undecided } from "./undecided.ts";

/** The memory that a barrier orders. */
export type OrderedSpace = "workgroup" | "storage" | "texture";

interface Access {
  readonly invocation: number;
  readonly workgroup: number;
  /** The number of barriers for the space that the workgroup has passed. */
  readonly phase: number;
}

/** The accesses of one kind to a memory location. */
interface Accesses {
  readonly last: Access;
  /** True if several invocations made them since the last barrier. */
  readonly areSeveral: boolean;
  /** True if several workgroups made them. */
  readonly isShared: boolean;
}

/**
 * Follows the accesses of a dispatch to memory that invocations share. Two invocations race if one
 * of them stores to a location that both access, and no barrier orders the accesses. Barriers order
 * the accesses of one workgroup only. Atomic accesses do not race, but their order decides results
 * if they are of two kinds: loads, sums, stores of one value.
 */
export class RaceDetector {
  /** The invocation that is executed: its number in the workgroup. */
  invocation = 0;
  #workgroup = 0;
  #phases = { workgroup: 0, storage: 0, texture: 0 };
  readonly #reached = new Set<OrderedSpace>();
  readonly #memories = new Map<object, Map<number, Map<string, Accesses>>>();

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

  /**
   * Notes an access: `load`, `store`, or a kind of atomic accesses that have one result in any
   * order. Throws `Undecided` if no barrier orders it after one that it conflicts with.
   */
  note(memory: object, location: number, space: OrderedSpace, kind: string): void {
    const locations = this.#memories.get(memory) ?? new Map<number, Map<string, Accesses>>();
    this.#memories.set(memory, locations);
    const kinds = locations.get(location) ?? new Map<string, Accesses>();
    locations.set(location, kinds);
    const { invocation } = this;
    const access = { invocation, workgroup: this.#workgroup, phase: this.#phases[space] };
    for (const [other, accesses] of kinds) {
      if ((other === kind && kind !== "store") || isOrdered(accesses, access)) continue;
      const isAtomic = kind.startsWith("atomic");
      throw new Undecided(
        isAtomic ? "the order of atomic operations may decide its results" : "invocations race for memory",
      );
    }
    const { last = access, areSeveral, isShared } = kinds.get(kind) ?? {};
    kinds.set(kind, {
      last: access,
      areSeveral: last.phase === access.phase && (areSeveral || last.invocation !== invocation),
      isShared: isShared || last.workgroup !== access.workgroup,
    });
  }
}

/** Returns true if the specification orders accesses before another one. */
function isOrdered({ last, areSeveral, isShared }: Accesses, later: Access): boolean {
  if (isShared || last.workgroup !== later.workgroup) return false;
  return last.phase < later.phase || (!areSeveral && last.invocation === later.invocation);
}
