/** The accesses of a subgroup's lanes to memory, and what they might find there. */
import type { GlobalVariable } from "../../wgsl/ast.ts";
import { alignOf, sizeOf } from "../../wgsl/layout.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Place } from "../places.ts";
import { allLanes, eachLane, guess, type Lanes, type LaneValue, laneCount, unknown } from "./laneValues.ts";
import { isInteger } from "./wordTypes.ts";

/** An access in the text to storage, uniform or workgroup memory. */
export interface LaneAccess {
  readonly variable: GlobalVariable;
  readonly kind: "load" | "store" | "atomic";
  /**
   * Bytes that a lane accesses, and where they begin in the variable for each lane that takes part,
   * the first time.
   */
  readonly width: number;
  readonly addresses: readonly number[];
  /** How often an invocation does it. */
  times: number;
  /**
   * Accesses that go together have the same: 0 outside of loops, another number in each trip of a
   * loop.
   */
  readonly trip: number;
}

/** A uniform that nothing is known of, such as a length or a stride: large, and aligned. */
const someUniform = 2 ** 24;
/** Wider values are accessed in parts, and so are those that may begin anywhere. */
const widestAccess = 16;
/** Numbers that memory might hold are below. */
const someNumber = 2 ** 20;

/** Who uses it says which lanes take part, and in which trip of a loop. */
export class LaneMemory {
  readonly accesses: LaneAccess[] = [];
  active: readonly boolean[] = new Array(laneCount).fill(true);
  trip = 0;

  /** The length of a runtime-sized array. */
  get length(): LaneValue {
    return [guess(allLanes(someUniform))];
  }

  /** Integers that are made of what nothing is known of. */
  numbers(words: number): LaneValue {
    return Array.from({ length: words }, (_, word) => guess(this.#scattered(word)));
  }

  #scattered(word = 0): Lanes {
    return eachLane((lane) => hash(lane + laneCount * (this.accesses.length + word)));
  }

  /** Notes an access, with the values of the indices of its place; gives what might be there. */
  access(
    place: Place,
    kind: LaneAccess["kind"],
    index: (of: Place["steps"][number]) => LaneValue,
  ): LaneValue {
    const { variable, type, space, steps } = place;
    let addresses = allLanes(0);
    for (const step of steps) {
      const [offsets] = step.kind === "member" ? [allLanes(step.offset)] : index(step);
      const known = offsets ?? this.#scattered();
      const stride = step.kind === "member" ? 1 : step.stride;
      const before = addresses;
      addresses = eachLane((lane) => before[lane]! + Math.imul(known[lane]!, stride));
    }
    const width = type.kind === "array" && typeof type.count !== "number" ? 0 : sizeOf(type);
    const taken = [...addresses].filter((_, lane) => this.active[lane]);
    const widest = Math.min(widestAccess, alignOf(type));
    for (let part = 0; part < width; part += widest) {
      this.accesses.push({
        variable,
        kind,
        times: 1,
        trip: this.trip,
        width: Math.min(widest, width - part),
        addresses: taken.map((address) => address + part),
      });
    }
    return kind === "store"
      ? unknown
      : contents(type, (lane, word) => {
          const address = addresses[lane]! + 4 * word;
          return space === "uniform" ? someUniform + (address << 14) : hash(address);
        });
  }
}

/** What memory might hold: only integers matter. */
function contents(type: Type, of: (lane: number, word: number) => number): LaneValue {
  if (!isInteger(type)) return unknown;
  const words = type.kind === "vector" ? type.size : 1;
  return Array.from({ length: words }, (_, word) => guess(eachLane((lane) => of(lane, word))));
}

/** A number that depends on another in no simple way. */
function hash(value: number): number {
  const mixed = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 12)) & (someNumber - 1);
}
