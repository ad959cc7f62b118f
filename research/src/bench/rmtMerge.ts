import { nameOf } from "./configurations.ts";
import type { RmtResult } from "./rmt.ts";
import type { ProgramResult } from "./rmtProgram.ts";

/** What several runs have measured, together; of what more than one has, the last one counts. */
export function mergeRmt(results: readonly RmtResult[]): RmtResult {
  const programs = new Map<string, ProgramResult>();
  for (const program of results.flatMap((result) => result.programs)) {
    const before = programs.get(program.name);
    programs.set(program.name, before ? mergePrograms(before, program) : program);
  }
  const [ceilings] = results.flatMap((result) => result.ceilings ?? []);
  const [powerSource] = results.flatMap((result) => result.powerSource ?? []);
  return {
    ok: results.every(({ ok }) => ok),
    ...(ceilings && { ceilings }),
    powerSource: powerSource ?? null,
    programs: [...programs.values()],
  };
}

function mergePrograms(before: ProgramResult, after: ProgramResult): ProgramResult {
  const byFlavor = ({ redundancy }: { readonly redundancy: string }) => redundancy;
  return {
    ...before,
    ...after,
    verdict: before.verdict.ok ? after.verdict : before.verdict,
    overheads: union(before.overheads, after.overheads, nameOf),
    components: union(before.components, after.components, byFlavor),
    power: union(before.power, after.power, byFlavor),
    faultFree: union(before.faultFree, after.faultFree, nameOf),
    failures: [...before.failures, ...after.failures],
    left: [...before.left, ...after.left],
  };
}

function union<Each>(before: readonly Each[], after: readonly Each[], keyOf: (each: Each) => string): Each[] {
  return [...new Map([...before, ...after].map((each) => [keyOf(each), each])).values()];
}
