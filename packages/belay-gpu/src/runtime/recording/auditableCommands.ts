import type { AuditableCommands } from "../context/auditing.ts";
import type { CommandRecord } from "./commandRecord.ts";
import type { DispatchEffect } from "./dispatchUse.ts";

/** Returns the commands of a submission as an audit needs them. */
export function auditableCommands(records: readonly (CommandRecord | undefined)[]): AuditableCommands {
  const known = records.filter((record) => record !== undefined);
  let dispatches = 0;
  let unknownDispatches = 0;
  let hasUnknownEffects = known.length < records.length;
  for (const record of known) {
    dispatches += record.dispatches.total;
    unknownDispatches += record.unknownDispatches;
    if (record.obstacle !== undefined) hasUnknownEffects = true;
  }
  return {
    effects: known.length === 1 ? known[0]!.effects : known.flatMap(({ effects }) => effects),
    isRepeated: (dispatch) => known.some((record) => record.isRepeated(dispatch as DispatchEffect)),
    dispatches,
    unknownDispatches,
    hasUnknownEffects,
  };
}
