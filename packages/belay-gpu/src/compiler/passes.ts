/** The passes of a protection in their order, each with its requirements and guarantees. */

import type { Span } from "../diagnostics/diagnostic.ts";
import type { FaultSites } from "../transforms/faults/faultSites.ts";
import { injectFaults } from "../transforms/faults/injectFaults.ts";
import { injectionMembers } from "../transforms/faults/injectionWords.ts";
import { nodesOf, strikeMachinery } from "../transforms/faults/strikeMachinery.ts";
import type { Strikes } from "../transforms/faults/strikes.ts";
import { strikeWorkgroupMemory } from "../transforms/faults/strikeWorkgroupMemory.ts";
import type { CheckedVariable } from "../transforms/memory/checkedVariable.ts";
import { protectMemory } from "../transforms/memory/protectMemory.ts";
import { sumAccesses } from "../transforms/memory/sumAccesses.ts";
import { desugarAllLoops, desugarLoops } from "../transforms/normalize/desugarLoops.ts";
import { dropUnusedFunctions } from "../transforms/normalize/dropUnusedFunctions.ts";
import { expandSwizzles } from "../transforms/normalize/expandSwizzles.ts";
import { keepBindings } from "../transforms/normalize/keepBindings.ts";
import { normalizeAccesses } from "../transforms/normalize/normalizeAccesses.ts";
import { resolvePointers } from "../transforms/normalize/resolvePointers.ts";
import { splitSharedFunctions } from "../transforms/normalize/splitSharedFunctions.ts";
import { stageMatrices } from "../transforms/normalize/stageMatrices.ts";
import { uniqueNames } from "../transforms/normalize/uniqueNames.ts";
import { uniteSubgroups } from "../transforms/normalize/uniteSubgroups.ts";
import { compareStores } from "../transforms/redundancy/compareStores.ts";
import type { Comparison } from "../transforms/redundancy/comparison/comparison.ts";
import { declareReport } from "../transforms/redundancy/declareReport.ts";
import { duplicateValues } from "../transforms/redundancy/duplicateValues.ts";
import { enableSubgroups } from "../transforms/redundancy/enableSubgroups.ts";
import { executeAtomicsOnce } from "../transforms/redundancy/executeAtomicsOnce.ts";
import { keepSums, resultStores, variableAt } from "../transforms/redundancy/keepSums.ts";
import { lastArriverCommit } from "../transforms/redundancy/lastArriverCommit.ts";
import { repeatInvocations } from "../transforms/redundancy/repeatInvocations.ts";
import { replicateInvocations } from "../transforms/redundancy/replicateInvocations.ts";
import { replicateWorkgroupMemory } from "../transforms/redundancy/replicateWorkgroupMemory.ts";
import { replicateWorkgroups } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CheckSites } from "../transforms/redundancy/reportBuffer.ts";
import { shadowBuffers } from "../transforms/redundancy/shadowBuffers.ts";
import { skipWorkgroups } from "../transforms/redundancy/skipWorkgroups.ts";
import { splitChains } from "../transforms/redundancy/splitChains.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { AnyNode } from "../wgsl/traverse.ts";
import type { Invariant } from "./invariants.ts";
import { exchangesLanes, isSumming, type MemoryPlan } from "./memoryPlan.ts";
import { checkingKernels, kernelsWhere, type ProtectionPlan } from "./plan.ts";
import type { Settings } from "./settings.ts";

/** The input of every pass: the program after the previous one. */
interface Input {
  readonly program: Program;
  readonly names: Names;
}

/** The input of a pass over the source. */
export interface SourceInput extends Input {
  readonly settings: Settings;
  /** Receives the new names of the entry points and overrides that the host knows by name. */
  readonly renamed: Map<string, string>;
}

/** The input of a pass that establishes access normal form. */
export interface FormInput extends Input {
  /** The sets of entry points that need functions of their own. */
  readonly groups: readonly ReadonlySet<string>[];
  /** The most subgroups in a workgroup. */
  readonly subgroups: number;
}

/** The input of a pass that protects. */
export interface ProtectionInput extends Input {
  readonly plan: ProtectionPlan;
  /** The program in which resources have all their uses. */
  readonly source: Program;
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** Receives the chosen values that are computed twice. */
  readonly twice: Set<Span>;
  readonly faults: Faults;
  /** The kernel that a pass over kernels applies to. Undefined if all kernels share functions. */
  readonly kernel: string | undefined;
  /** Returns the functions that an entry point reaches, or all protected ones. */
  functions(entryPoint?: string): ReadonlySet<FunctionDeclaration>;
}

/** The state that passes with fault sites share. */
export interface Faults {
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  readonly entryPoints: ReadonlySet<string>;
  /** Receives the nodes of the module right after faults were injected into the source. */
  readonly sourceNodes: Set<AnyNode>;
}

interface Described {
  readonly name: string;
  /** The invariants that must hold before the pass. */
  readonly requires: readonly Invariant[];
  /** The invariants that hold after the pass, until another pass ends them. */
  readonly ensures: readonly Invariant[];
  /** The invariants that may no longer hold after the pass. */
  readonly ends?: readonly Invariant[];
}

/** A pass that runs once for a module. */
interface SourcePass extends Described {
  readonly phase: "source";
  /** Returns true if the pass runs. Default: always. */
  when?(settings: Settings): boolean;
  run(input: SourceInput): Module;
}

/** A pass that runs before planning, for each set of entry points for which a plan is tried. */
interface FormPass extends Described {
  readonly phase: "normal form";
  run(input: FormInput): Module;
}

/** A pass that runs according to the plan. */
interface ProtectionPass extends Described {
  readonly phase: "protection";
  /** Set for consecutive passes of the list that run together, for one kernel after the other. */
  readonly scope?: "each kernel";
  /** Returns true if the pass runs. Default: always. */
  when?(plan: ProtectionPlan): boolean;
  run(input: ProtectionInput): Module;
}

export type Pass = SourcePass | FormPass | ProtectionPass;

const isSelective = ({ settings }: ProtectionPlan) => settings.redundancy === "selective";
const isDoubled = (plan: ProtectionPlan) => plan.settings.redundancy !== "none" && !isSelective(plan);
const isDiverse = (plan: ProtectionPlan) => isDoubled(plan) && plan.settings.diversity !== undefined;
const injects = ({ settings }: ProtectionPlan) => settings.injectFaults !== false;

/** Returns the pairing of replicas that run at the same time. */
const doubledPairing = ({ pairing }: Settings) => (pairing === "passes" ? undefined : pairing);

export const passes: readonly Pass[] = [
  // The program's own declarations
  {
    // Drops functions that no entry point reaches.
    name: "dropUnusedFunctions",
    phase: "source",
    requires: [],
    ensures: [],
    run: ({ program }) => dropUnusedFunctions(program),
  },
  {
    // Renames declarations that shadow a name of the module or of the language.
    name: "uniqueNames",
    phase: "source",
    requires: [],
    ensures: ["uniqueNames"],
    run: ({ program, names, settings, renamed }) => {
      const unique = uniqueNames(program, names, { hasCodes: settings.memory.coded.length > 0 });
      for (const [name, other] of unique.knownToHost) renamed.set(name, other);
      return unique.module;
    },
  },
  {
    // Stores values beside the results that are functions of them.
    name: "keepSums",
    phase: "source",
    requires: ["uniqueNames"],
    ensures: [],
    when: ({ sums }) => sums !== undefined,
    run: ({ program, names, settings: { sums } }) => {
      const stores = resultStores(program, variableAt(program, sums!.of)!);
      return keepSums(program, names, stores!, [sums!]);
    },
  },

  // Access normal form
  {
    // Gives groups of entry points their own copies of shared functions and workgroup variables.
    name: "splitSharedFunctions",
    phase: "normal form",
    requires: ["uniqueNames"],
    ensures: ["separateKernels"],
    run: ({ program, names, groups }) => splitSharedFunctions(program, names, groups),
  },
  {
    // Splits long chains of `else if`.
    name: "splitChains",
    phase: "normal form",
    requires: [],
    ensures: ["shortChains"],
    run: ({ program, names }) => splitChains(program.module, names),
  },
  {
    // Turns `for` and `while` loops whose header accesses shared memory into `loop`.
    name: "desugarLoops",
    phase: "normal form",
    requires: [],
    ensures: ["plainHeaders"],
    run: ({ program }) => desugarLoops(program),
  },
  {
    // Replaces pointers to shared memory by the variables that they point to.
    name: "resolvePointers",
    phase: "normal form",
    requires: ["uniqueNames"],
    ensures: ["resolvedPointers"],
    run: ({ program, names }) => resolvePointers(program, names),
  },
  {
    // Gives every store and every memory operation a statement of its own.
    name: "normalizeAccesses",
    phase: "normal form",
    requires: ["uniqueNames", "plainHeaders", "resolvedPointers"],
    ensures: ["accessNormalForm", "namedValues"],
    run: ({ program, names }) => normalizeAccesses(program, names),
  },
  {
    // Splits a store to several components of a vector into one store for each.
    name: "expandSwizzles",
    phase: "normal form",
    requires: ["accessNormalForm"],
    ensures: ["wholeStores"],
    run: ({ program, names }) => expandSwizzles(program, names),
  },
  {
    // Stores the numbers of subgroup matrices one by one, through workgroup memory.
    name: "stageMatrices",
    phase: "normal form",
    requires: ["accessNormalForm", "wholeStores"],
    ensures: [],
    run: ({ program, names, subgroups, groups }) =>
      stageMatrices(program, names, {
        turns: subgroups,
        kernels: new Set(groups.flatMap((group) => [...group])),
      }),
  },
  {
    // Lets subgroups decide as a whole where operations on matrices depend on it.
    name: "uniteSubgroups",
    phase: "normal form",
    requires: ["accessNormalForm"],
    ensures: [],
    run: ({ program, groups }) => uniteSubgroups(program, new Set(groups.flatMap((group) => [...group]))),
  },

  // Report, arrivals, and faults in the source
  {
    // Declares the report buffer and the variables that identify replicas.
    name: "declareReport",
    phase: "protection",
    requires: [],
    ensures: ["report"],
    run: ({ program, names, plan: { settings, report } }) =>
      declareReport(program, names, {
        ...report.layout,
        mail: report.mail,
        arrivals: report.arrivals,
        pairs: settings.redundancy === "inter",
        ...(settings.injectFaults !== false && { injection: injectionMembers }),
      }),
  },
  {
    // Enables the exchange of registers between lanes, and the check of subgroups.
    name: "enableSubgroups",
    phase: "protection",
    requires: [],
    ensures: [],
    when: (plan) => {
      const { channel, pairing, redundancy, subgroups } = plan.settings;
      const exchanges = isDoubled(plan) && channel === "subgroup";
      const isIntra = redundancy.startsWith("intra");
      const isApart = isIntra && pairing === "half-subgroup";
      const checksSubgroups = isIntra && pairing === "subgroups" && plan.seeingSubgroups.size > 0;
      return exchanges || isApart || checksSubgroups || (injects(plan) && subgroups);
    },
    run: ({ program }) => enableSubgroups(program),
  },
  {
    // Lets the last-arriving replica store in place.
    name: "lastArriverCommit",
    phase: "protection",
    requires: ["accessNormalForm", "report"],
    ensures: [],
    when: ({ report }) => report.arrivals > 0,
    run: ({ program, names, plan, comparison, functions }) =>
      lastArriverCommit(program, names, {
        comparison,
        isCompared: !plan.settings.uncompared,
        subgroups: isDoubled(plan) && plan.settings.channel === "subgroup",
        kernels: [...plan.kernels].flatMap(([name, { arrival }]) =>
          arrival
            ? [
                {
                  arrival: arrival.at,
                  inPlace: arrival.inPlace,
                  words: arrival.words,
                  functions: functions(name),
                },
              ]
            : [],
        ),
      }),
  },
  {
    // Makes fault sites of the values that the source computes.
    name: "injectFaults",
    phase: "protection",
    requires: ["accessNormalForm", "namedValues", "report"],
    ensures: [],
    when: injects,
    run: ({ program, names, plan, faults, functions }) => {
      const own = [...functions()].filter(({ name }) => plan.functions.has(name));
      const module = injectFaults(program, names, { ...faults, functions: new Set(own) });
      if (plan.settings.strikeMachinery) for (const node of nodesOf(module)) faults.sourceNodes.add(node);
      return module;
    },
  },

  // Selective protection: values computed twice in one lane
  {
    // Gives each statement of a loop's header a place beside which another one fits.
    name: "desugarAllLoops",
    phase: "protection",
    requires: [],
    ensures: [],
    when: isSelective,
    run: ({ program }) => desugarAllLoops(program),
  },
  {
    // Computes chosen values of an invocation twice, and compares them where they matter.
    name: "duplicateValues",
    phase: "protection",
    requires: ["accessNormalForm", "report"],
    ensures: [],
    when: isSelective,
    run: ({ program, names, plan, comparison, sites, twice, functions }) =>
      duplicateValues(program, names, {
        chosen: plan.settings.chosen,
        twice,
        functions: functions(),
        entryPoints: plan.entryPoints,
        comparison,
        sites,
      }),
  },

  // Redundancy: replicas, atomic operations executed once, output comparison, copies of workgroup
  // memory
  {
    // Executes each workgroup twice, on a doubled grid.
    name: "replicateWorkgroups",
    phase: "protection",
    requires: ["report"],
    ensures: ["ids"],
    when: ({ settings }) => settings.redundancy === "inter",
    run: ({ program, names, plan }) =>
      replicateWorkgroups(program, names, {
        entryPoints: plan.entryPoints,
        mail: plan.report.mail,
        blocking: kernelsWhere(plan, ({ blocking }) => blocking),
        sequentialReplicas: kernelsWhere(plan, ({ sequentialReplicas }) => sequentialReplicas),
        arriving: kernelsWhere(plan, ({ arrival }) => arrival),
        texts: isDiverse(plan),
      }),
  },
  {
    // Executes each invocation twice, one replica after the other, on lanes that swap if they can.
    name: "repeatInvocations",
    phase: "protection",
    requires: ["report"],
    ensures: ["ids"],
    when: ({ settings }) => settings.redundancy !== "inter" && settings.pairing === "passes",
    run: ({ program, names, plan, comparison }) =>
      repeatInvocations(program, names, {
        entryPoints: plan.entryPoints,
        keepingLanes: kernelsWhere(plan, ({ keepsLanes }) => keepsLanes),
        comparison,
        texts: isDiverse(plan),
      }),
  },
  {
    // Gives each invocation its replica and its index in a doubled workgroup.
    name: "replicateInvocations",
    phase: "protection",
    requires: ["report"],
    ensures: ["ids"],
    when: ({ settings }) => settings.redundancy !== "inter" && doubledPairing(settings) !== undefined,
    run: ({ program, names, plan }) =>
      replicateInvocations(program, names, {
        replicas: isDoubled(plan) ? 2 : 1,
        pairing: doubledPairing(plan.settings)!,
        entryPoints: plan.entryPoints,
        ...(isDoubled(plan) && { seeingSubgroups: plan.seeingSubgroups }),
        subgroups: isDoubled(plan) && plan.settings.channel === "subgroup",
      }),
  },
  {
    // Lets one replica execute atomic operations on memory with one copy, and gives the other the
    // result.
    name: "executeAtomicsOnce",
    phase: "protection",
    requires: ["accessNormalForm", "ids"],
    ensures: [],
    scope: "each kernel",
    when: isDoubled,
    run: ({ program, names, plan, comparison, sites, functions, kernel }) => {
      const own = kernel === undefined ? undefined : plan.kernels.get(kernel);
      return executeAtomicsOnce(program, names, {
        check: plan.settings.check,
        comparison,
        sites,
        mayWait: own?.blocking ?? true,
        keptResults: own?.keptResults ?? 0,
        functions: functions(kernel),
        isReplicated: ({ name }) => (own ? !own.once.has(name) : plan.replicated.has(name)),
      });
    },
  },
  {
    // Compares the outputs of an invocation, at each store or at its end, and lets one replica
    // store them.
    name: "compareStores",
    phase: "protection",
    requires: ["accessNormalForm", "namedValues", "wholeStores", "ids"],
    ensures: [],
    scope: "each kernel",
    when: isDoubled,
    run: ({ program, names, plan, comparison, sites, functions, kernel }) => {
      const own = kernel === undefined ? undefined : plan.kernels.get(kernel);
      return compareStores(program, names, {
        check: plan.settings.check,
        comparison,
        sites,
        mayWait: own?.blocking ?? true,
        functions: functions(kernel),
        isReplicated: ({ name }) => plan.replicated.has(name),
        entryPoints: kernel === undefined ? plan.entryPoints : new Set([kernel]),
        isShadowed: ({ name }) => own?.shadowed.has(name) ?? false,
      });
    },
  },
  {
    // Gives each replica its own copy of workgroup memory.
    name: "replicateWorkgroupMemory",
    phase: "protection",
    requires: ["accessNormalForm", "report"],
    ensures: [],
    when: ({ settings }) => settings.redundancy === "intra+lds" && doubledPairing(settings) !== undefined,
    run: ({ program, names, plan, comparison, sites, functions }) =>
      replicateWorkgroupMemory(program, names, {
        pairing: doubledPairing(plan.settings)!,
        comparison,
        sites,
        functions: functions(),
        isReplicated: ({ name }) => plan.replicated.has(name),
      }),
  },
  {
    // Makes fault sites of the contents of workgroup memory.
    name: "strikeWorkgroupMemory",
    phase: "protection",
    requires: ["ids"],
    ensures: [],
    ends: ["namedValues"],
    when: injects,
    run: ({ program, names, plan: { settings, replicated }, faults, functions }) => {
      const isIntra = settings.redundancy.startsWith("intra") && settings.pairing !== "passes";
      const isShared = (variable: string) => isIntra && !replicated.has(variable);
      return strikeWorkgroupMemory(program, names, { ...faults, functions: functions(), isShared });
    },
  },

  // Copies of buffers, and the bindings of the program's layouts
  {
    // Gives the second replica copies of buffers that a kernel changes in place.
    name: "shadowBuffers",
    phase: "protection",
    requires: ["accessNormalForm", "ids"],
    ensures: [],
    when: ({ shadows }) => shadows.size > 0,
    run: ({ program, names, plan: { kernels, shadows }, comparison, functions }) =>
      shadowBuffers(program, names, {
        comparison,
        shadows,
        kernels: [...kernels].map(([name, { shadowed }]) => ({ functions: functions(name), shadowed })),
      }),
  },
  {
    // Keeps the resources that an entry point used before in use.
    name: "keepBindings",
    phase: "protection",
    requires: [],
    ensures: [],
    run: ({ program, source, plan: { entryPoints } }) => keepBindings(program, source, { entryPoints }),
  },

  // ECC around all accesses
  {
    // Enables the exchange of registers for lanes that check memory together.
    name: "enableSubgroupsForLines",
    phase: "protection",
    requires: [],
    ensures: [],
    when: ({ memory }) => checkingKernels(memory).some(({ plan }) => exchangesLanes(plan)),
    run: ({ program }) => enableSubgroups(program),
  },
  {
    // Lets kernels check their loads and update check words.
    name: "protectMemory",
    phase: "protection",
    requires: ["accessNormalForm", "report"],
    ensures: [],
    ends: ["namedValues"],
    when: ({ memory }) => checkingKernels(memory).length > 0,
    run: ({ program, names, plan, functions }) => {
      const { arena, table, coded } = plan.settings.memory;
      return protectMemory(program, names, {
        arena,
        table,
        rows: coded.length,
        kernels: checkingKernels(plan.memory).map(({ name, arena, plan }) => ({
          arena,
          entryPoint: name,
          functions: functions(name),
          checked: checkedVariables(plan),
        })),
      });
    },
  },
  {
    // Adds up checksums of the words that kernels load and store.
    name: "sumAccesses",
    phase: "protection",
    requires: ["accessNormalForm", "report"],
    ensures: [],
    when: ({ memory }) => [...memory.values()].some(isSumming),
    run: ({ program, names, plan, functions }) => {
      const { arena, table, coded } = plan.settings.memory;
      const summing = [...plan.memory].filter(([, plan]) => isSumming(plan));
      return sumAccesses(program, names, {
        slots: arena,
        table,
        rows: coded.length,
        kernels: summing.map(([name, plan]) => ({
          entryPoint: name,
          functions: functions(name),
          summed: summedVariables(plan),
        })),
      });
    },
  },
  {
    // Makes fault sites of the code that passes added.
    name: "strikeMachinery",
    phase: "protection",
    requires: ["report", "ids"],
    ensures: [],
    ends: ["accessNormalForm"],
    when: (plan) => injects(plan) && plan.settings.strikeMachinery,
    run: ({ program, names, plan, faults, functions }) =>
      strikeMachinery(program, names, {
        ...faults,
        functions: functions(),
        source: faults.sourceNodes,
        isReplicated: (variable) => isDoubled(plan) && plan.replicated.has(variable),
      }),
  },

  {
    // Lets the device skip dispatches.
    name: "skipWorkgroups",
    phase: "protection",
    requires: ["report", "ids"],
    ensures: [],
    when: (plan) => isDoubled(plan) && plan.settings.skippable,
    run: ({ program, names, plan: { entryPoints } }) => skipWorkgroups(program, names, { entryPoints }),
  },

  // Another text for the second replica, with the places that all other passes have numbered
  {
    // Makes each operation on floats round by itself.
    name: "keepRounding",
    phase: "protection",
    requires: ["ids"],
    ensures: [],
    ends: ["accessNormalForm"],
    when: isDiverse,
    run: ({ program, names, plan: { settings, entryPoints } }) =>
      settings.diversity!.keepRounding(program, names, { entryPoints }),
  },
  {
    // Gives the second replica another text with the same meaning.
    name: "diversifyReplicas",
    phase: "protection",
    requires: ["ids"],
    ensures: [],
    ends: ["shortChains"],
    when: isDiverse,
    run: ({ program, names, plan }) =>
      plan.settings.diversity!.diversifyReplicas(program, names, {
        entryPoints: plan.entryPoints,
        roomy: kernelsWhere(plan, ({ isRoomy }) => isRoomy),
      }),
  },
];

/** Returns the variables that a kernel checks, by name. */
function checkedVariables({ variables }: MemoryPlan): Map<string, CheckedVariable> {
  const checked = variables.filter(({ mode }) => mode === "checked");
  return new Map(
    checked.map(({ index, code, variable: { name }, pieceBytes }) => [
      name,
      { name, index, scheme: code!, ...(pieceBytes && { pieceBytes }) },
    ]),
  );
}

/** Returns the variables that a kernel sums, by name. */
function summedVariables({ variables }: MemoryPlan) {
  return new Map(
    variables.flatMap(({ mode, index: row, site, isKnown = false, variable }) =>
      mode === "summed" ? [[variable.name, { row, site, isCounted: !isKnown }] as const] : [],
    ),
  );
}
