/** Records the memory accesses of a subgroup's lanes, and invents the values that they load. */
import type { GlobalVariable } from "../../wgsl/ast.ts";
import { alignOf, sizeOf } from "../../wgsl/layout.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Place } from "../places.ts";
import { allLanes, eachLane, guess, type Lanes, type LaneValue, laneCount, unknown } from "./laneValues.ts";
import { isInteger } from "./wordTypes.ts";

/** One access in the source to storage, uniform or workgroup memory. */
export interface LaneAccess {
  readonly variable: GlobalVariable;
  readonly kind: "load" | "store" | "atomic";
  /** The bytes that each lane accesses. */
  readonly width: number;
  /** The byte offset in the variable for each active lane, at the first execution. */
  readonly addresses: readonly number[];
  /** The number of times that an invocation executes the access. */
  times: number;
  /**
   * The iteration that the access belongs to: 0 outside of loops, and a different number for each
   * iteration of a loop.
   */
  readonly trip: number;
}

/** The assumed value of an unknown uniform, such as a length or a stride: large and aligned. */
const someUniform = 2 ** 24;
/**
 * The widest access in bytes. Wider values are accessed in parts of this size or of their
 * alignment.
 */
const widestAccess = 16;
/** The limit of the invented integers. */
const someNumber = 2 ** 20;

/** Memory as a subgroup sees it. The caller sets the active lanes and the iteration. */
export class LaneMemory {
  readonly accesses: LaneAccess[] = [];
  active: readonly boolean[] = new Array(laneCount).fill(true);
  trip = 0;

  /** The assumed length of a runtime-sized array. */
  get length(): LaneValue {
    return [guess(allLanes(someUniform))];
  }

  /** Returns invented integers for a value of which nothing is known. */
  numbers(words: number): LaneValue {
    return Array.from({ length: words }, (_, word) => guess(this.#scattered(word)));
  }

  #scattered(word = 0): Lanes {
    return eachLane((lane) => hash(lane + laneCount * (this.accesses.length + word)));
  }

  /**
   * Records an access, and returns a value that it might load. `index` evaluates the indices of the
   * place.
   */
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

/**
 * Returns invented contents of memory. Only integers are invented, because only they become
 * indices.
 */
function contents(type: Type, of: (lane: number, word: number) => number): LaneValue {
  if (!isInteger(type)) return unknown;
  const words = type.kind === "vector" ? type.size : 1;
  return Array.from({ length: words }, (_, word) => guess(eachLane((lane) => of(lane, word))));
}

/** Returns a number that depends on `value` in no simple way. */
function hash(value: number): number {
  const mixed = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 12)) & (someNumber - 1);
}
