import type { AuditableCommands } from "../context/auditing.ts";
import type { CommandRecord } from "./commandRecord.ts";

/** Returns the commands of a submission as an audit needs them. */
export function auditableCommands(records: readonly (CommandRecord | undefined)[]): AuditableCommands {
  const known = records.filter((record) => record !== undefined);
  const sum = (of: (record: CommandRecord) => number) => known.reduce((all, each) => all + of(each), 0);
  return {
    effects: known.flatMap((record) =>
      record.effects.map(({ written, dispatch }) => ({
        written,
        call: dispatch?.call,
        isRepeated: dispatch !== undefined && record.isRepeated(dispatch),
      })),
    ),
    dispatches: sum(({ dispatches }) => dispatches.total),
    unknownDispatches: sum(({ unknownDispatches }) => unknownDispatches),
    hasUnknownEffects: known.length < records.length || known.some(({ obstacle }) => obstacle !== undefined),
  };
}
