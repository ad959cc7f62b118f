/** The transforms of a protection, in their order. */
import { functionsOf, reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { schemeOf } from "../codes/scheme.ts";
import { arrivalWords, arriveBeforeStores, mostArriving } from "../transforms/arriveBeforeStores.ts";
import { compareStores } from "../transforms/compareStores.ts";
import { Comparison } from "../transforms/comparison/comparison.ts";
import { declareReport } from "../transforms/declareReport.ts";
import { enableSubgroups } from "../transforms/enableSubgroups.ts";
import { executeAtomicsOnce } from "../transforms/executeAtomicsOnce.ts";
import { armedTrigger } from "../transforms/faults/armedTrigger.ts";
import { countedWords, countingTrigger } from "../transforms/faults/countingTrigger.ts";
import { FaultSites } from "../transforms/faults/faultSites.ts";
import { injectFaults } from "../transforms/faults/injectFaults.ts";
import { Strikes } from "../transforms/faults/strikes.ts";
import { strikeWorkgroupMemory } from "../transforms/faults/strikeWorkgroupMemory.ts";
import { keepBindings } from "../transforms/keepBindings.ts";
import { mailboxBytes, mailWords, patienceOf } from "../transforms/mailbox.ts";
import { protectMemory } from "../transforms/memory/protectMemory.ts";
import { sumAccesses } from "../transforms/memory/sumAccesses.ts";
import type { Names } from "../transforms/names.ts";
import { repeatInvocations } from "../transforms/repeatInvocations.ts";
import { replicateInvocations } from "../transforms/replicateInvocations.ts";
import { replicateWorkgroupMemory } from "../transforms/replicateWorkgroupMemory.ts";
import { doublingOf, replicateWorkgroups } from "../transforms/replicateWorkgroups.ts";
import { CheckSites, cellCount, type ReportLayout, reportWords } from "../transforms/reportBuffer.ts";
import { shadowBuffers } from "../transforms/shadowBuffers.ts";
import type { GlobalVariable, Module } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import type { EntryPointSummary, ProtectResult, Redundancy } from "./contract.ts";
import { shadowBindings, shadowsOf } from "./interGroupPlan.ts";
import { exchangesLanes, isSumming, memorySummary } from "./memoryPlan.ts";
import { checkedVersionsOf, type Prepared } from "./prepare.ts";
import type { Settings } from "./settings.ts";
import { invocationCount, lanesOf } from "./workgroupSize.ts";

export interface Transformed extends Omit<ProtectResult, "diagnostics" | "entryPoints"> {
  readonly entryPoints: readonly ProtectedEntryPoint[];
}

type ProtectedEntryPoint = Omit<EntryPointSummary, "bindings">;

/** The pipeline: each step takes a typed program and leaves a valid module, which is typed again for the next. */
export function transform(
  { program: normal, unique, entryPoints, plans, memory: memoryPlans, replicated }: Prepared,
  names: Names,
  { redundancy, check, pairing, channel, limits, report, injectFaults: inject, subgroups, memory }: Settings,
): Transformed {
  const sites = new CheckSites();
  const faultSites = new FaultSites();
  const checked = checkedVersionsOf(normal);
  let program = normal;
  const step = (module: Module) => {
    program = checked(module);
  };
  const kernels = (named: ReadonlySet<string> = entryPoints) =>
    functionsOf(program).filter((fn) => named.has(fn.name));
  /** The functions that run protected, as the program now has them. */
  const functions = (named?: ReadonlySet<string>) => reachableFrom(program, kernels(named));
  const lanes = lanesOf(program, kernels(), limits, pairing);
  const blocking = new Set([...plans].flatMap(([name, plan]) => (plan.blocking ? [name] : [])));
  const inTurn = new Set([...plans].flatMap(([name, plan]) => (plan.inTurn ? [name] : [])));
  const mail = mailWords(kernels(blocking).map((kernel) => invocationCount(program, kernel)));
  const cells = redundancy === "inter" && check === "signature" ? cellCount : 0;
  const arriving = new Map([...plans].flatMap(([name, { arrival }]) => (arrival ? [[name, arrival]] : [])));
  const arrivals = arriving.size > 0 ? arrivalWords : 0;
  const bytes = 4 * (reportWords.total + cells + arrivals) + mailboxBytes(mail);
  const isProfile = inject === "profile";
  const layout: ReportLayout = { ...report, bytes, cells, ...(isProfile && { counts: bytes }) };

  const replicas = redundancy === "none" ? 1 : 2;
  const exchanges = replicas === 2 && channel === "subgroup";
  const intra = redundancy.startsWith("intra");
  const comparison = new Comparison(names, {
    channel: redundancy === "inter" ? "mailbox" : channel,
    pairing,
    lanes,
    ...(cells > 0 && { cells: { count: cells, subgroups: exchanges } }),
  });

  // The report, where replicas arrive, and faults in the source.
  step(declareReport(program, names, { ...layout, mail, arrivals, pairs: redundancy === "inter" }));
  const trigger = isProfile
    ? countingTrigger(names)
    : armedTrigger(names, { redundancy, pairing, subgroups });
  const strikes = new Strikes(names, trigger);
  const struck = { sites: faultSites, strikes, entryPoints };
  const source = new Set([...functions()].map(({ name }) => name));
  if (exchanges || (intra && pairing === "half-subgroup") || (inject && subgroups))
    step(enableSubgroups(program));
  if (arriving.size > 0)
    step(
      arriveBeforeStores(program, names, {
        comparison,
        isCompared: check !== "none",
        subgroups: exchanges,
        kernels: [...arriving].map(([name, { at, inPlace, words }]) => ({
          ...{ arrival: at, inPlace, words },
          functions: functions(new Set([name])),
        })),
      }),
    );
  if (inject) {
    const struckFunctions = new Set([...functions()].filter(({ name }) => source.has(name)));
    step(injectFaults(program, names, { ...struck, functions: struckFunctions }));
  }

  // Redundancy: everything twice, one execution of atomics, comparison of what leaves, two copies of memory.
  if (redundancy === "inter")
    step(
      replicateWorkgroups(program, names, {
        ...{ entryPoints, blocking, inTurn, mail },
        arriving: new Set(arriving.keys()),
      }),
    );
  else if (pairing === "passes") step(repeatInvocations(program, names, { entryPoints, comparison }));
  else step(replicateInvocations(program, names, { replicas, pairing, entryPoints, subgroups: exchanges }));
  if (replicas === 2) {
    const isReplicated = ({ name }: GlobalVariable) => replicated.has(name);
    // A kernel with a plan has functions of its own; those without are treated alike.
    const parts =
      plans.size === 0
        ? [[entryPoints, null] as const]
        : [...plans].map(([name, plan]) => [new Set([name]), plan] as const);
    for (const [part, plan] of parts) {
      step(
        executeAtomicsOnce(program, names, {
          check,
          comparison,
          sites,
          functions: functions(part),
          isReplicated: plan ? ({ name }) => !plan.once.has(name) : isReplicated,
          mayWait: plan?.blocking ?? true,
        }),
      );
      step(
        compareStores(program, names, {
          check,
          comparison,
          sites,
          functions: functions(part),
          entryPoints: part,
          isReplicated,
          isShadowed: ({ name }) => plan?.shadowed.has(name) ?? false,
          mayWait: plan?.blocking ?? true,
        }),
      );
    }
    if (redundancy === "intra+lds" && pairing !== "passes")
      step(
        replicateWorkgroupMemory(program, names, {
          pairing,
          comparison,
          sites,
          functions: functions(),
          isReplicated,
        }),
      );
  }
  if (inject) {
    const isShared = (variable: string) => intra && pairing !== "passes" && !replicated.has(variable);
    step(strikeWorkgroupMemory(program, names, { ...struck, functions: functions(), isShared }));
  }
  const checking = [...memoryPlans].flatMap(([name, plan]) =>
    plan.arena ? [{ name, arena: plan.arena, plan }] : [],
  );
  const shadows = shadowBindings(
    unique,
    report,
    plans.values(),
    checking.length > 0 ? [memory.arena, memory.table] : [],
  );
  if (shadows.size > 0)
    step(
      shadowBuffers(program, names, {
        shadows,
        kernels: [...plans].map(([name, { shadowed }]) => ({
          functions: functions(new Set([name])),
          shadowed,
        })),
      }),
    );
  step(keepBindings(program, unique, { entryPoints }));

  // Codes around the accesses that there are now.
  if (checking.some(({ plan }) => exchangesLanes(plan))) step(enableSubgroups(program));
  if (checking.length > 0)
    step(
      protectMemory(program, names, {
        arena: memory.arena,
        table: memory.table,
        rows: memory.coded.length,
        kernels: checking.map(({ name, arena, plan }) => ({
          arena,
          entryPoint: name,
          functions: functions(new Set([name])),
          checked: new Map(
            plan.variables.flatMap(({ mode, index, scheme, variable: { name }, pieceBytes }) =>
              mode === "checked"
                ? [
                    [
                      name,
                      {
                        ...{ name, index, scheme: schemeOf(scheme) },
                        ...(pieceBytes && { pieceBytes }),
                      },
                    ] as const,
                  ]
                : [],
            ),
          ),
        })),
      }),
    );
  const summing = [...memoryPlans].filter(([, plan]) => isSumming(plan));
  if (summing.length > 0 && subgroups) step(enableSubgroups(program));
  if (summing.length > 0)
    step(
      sumAccesses(program, names, {
        ...{ slots: memory.arena, table: memory.table, rows: memory.coded.length, subgroups },
        kernels: summing.map(([name, { variables }]) => ({
          entryPoint: name,
          functions: functions(new Set([name])),
          summed: new Map(
            variables.flatMap(({ mode, index, variable }) =>
              mode === "summed" ? [[variable.name, index] as const] : [],
            ),
          ),
        })),
      }),
    );
  const summary = (name: string): ProtectedEntryPoint => {
    const plan = plans.get(name);
    const interGroup = redundancy === "inter" &&
      plan && {
        doubling: doublingOf(names),
        ...(plan.inTurn && { mostWorkgroups: mostArriving(plan.arrival?.words) }),
        shadows: shadowsOf(normal, plan, shadows),
        blocking: plan.blocking,
        ...(plan.blocking && { patience: patienceOf(names) }),
      };
    const coded = memoryPlans.get(name);
    return {
      ...protectedEntryPoint(name, redundancy, program, names, sites),
      ...(interGroup && { interGroup }),
      ...(coded && memory.coded.length > 0 && { memory: memorySummary(coded, memory) }),
    };
  };
  return {
    code: print(program.module),
    layout: isProfile ? { ...layout, bytes: bytes + 4 * countedWords(faultSites.all.length) } : layout,
    entryPoints: [...entryPoints].map(summary),
    checks: sites.all,
    faultSites: faultSites.all,
  };
}

function protectedEntryPoint(
  name: string,
  redundancy: Redundancy,
  program: Program,
  names: Names,
  sites: CheckSites,
): ProtectedEntryPoint {
  const reached = reachableFrom(
    program,
    functionsOf(program).filter((fn) => fn.name === name),
  );
  const functions = new Set([...reached].map((fn) => fn.name));
  const checks = sites.all.filter((site) => functions.has(site.functionName)).map((site) => site.id);
  const report = names.the("report");
  const usesReport = [...variablesOf(program, reached)].some((variable) => variable.name === report);
  return { name, redundancy, checks, usesReport };
}
