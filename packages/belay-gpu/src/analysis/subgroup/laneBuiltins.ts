/** What entry points are told of where they are, for the lanes of a subgroup. */
import { allLanes, eachLane, type LaneValue, laneCount, unknown } from "./laneValues.ts";

/** The second workgroup of many. */
const workgroup = 1;
const workgroups = 2 ** 12;

/** A built-in value in a workgroup of a size, from the lane on that has an index in it. */
export function builtinValue(
  name: string,
  [x, y]: readonly [number, number, number],
  first: number,
): LaneValue {
  const index = eachLane((lane) => first + lane);
  const local = [
    eachLane((lane) => index[lane]! % x),
    eachLane((lane) => Math.floor(index[lane]! / x) % y),
    eachLane((lane) => Math.floor(index[lane]! / x / y)),
  ];
  switch (name) {
    case "local_invocation_index":
      return [index];
    case "local_invocation_id":
      return local;
    case "global_invocation_id":
      return local.map((lanes, i) => (i === 0 ? eachLane((lane) => workgroup * x + lanes[lane]!) : lanes));
    case "workgroup_id":
      return [workgroup, 0, 0].map(allLanes);
    case "num_workgroups":
      return [workgroups, workgroups, 1].map(allLanes);
    case "subgroup_invocation_id":
      return [eachLane((lane) => lane)];
    case "subgroup_size":
      return [allLanes(laneCount)];
    default:
      return unknown;
  }
}
