/**
 * Decides how a module is protected. The plan is plain data, made from the accesses in normal form
 * before anything else is changed.
 */
import { type BindingPoint, bindingPointOf, bindingPointsOf } from "../analysis/bindings.ts";
import { containsAtomic } from "../analysis/places.ts";
import { replicaSyncPoints } from "../analysis/replicaSyncPoints.ts";
import { waitsOf } from "../analysis/waits.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { arrivalWords } from "../transforms/redundancy/lastArriverCommit.ts";
import { mailboxBytes, mailWords, ranOutOffset } from "../transforms/redundancy/mailbox.ts";
import { cellCount, type ReportLayout, reportWords } from "../transforms/redundancy/reportBuffer.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { ShadowBinding } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import { interGroupPlan, type KernelPlan, namesOf, passesPlan } from "./kernelPlan.ts";
import { isSumming, type MemoryPlan, memoryPlan, passVerifiedMemory } from "./memoryPlan.ts";
import { plansEachKernel, type Settings } from "./settings.ts";
import { lanesOf, replicatedVariables } from "./workgroups.ts";

/**
 * The plan of a module's protection. Kernels, functions and variables are identified by their names
 * in access normal form.
 */
export interface ProtectionPlan {
  readonly settings: Settings;
  /** The entry points that are protected. */
  readonly entryPoints: ReadonlySet<string>;
  /** The functions that run protected. */
  readonly functions: ReadonlySet<string>;
  /** The entry points that see their neighbors in a subgroup. */
  readonly seeingSubgroups: ReadonlySet<string>;
  /** The plan of each kernel that is Inter-Group or runs in passes; empty for others. */
  readonly kernels: ReadonlyMap<string, KernelPlan>;
  /** The plan for the protected memory of each kernel. */
  readonly memory: ReadonlyMap<string, MemoryPlan>;
  /** The workgroup variables with one copy per replica. Stores to them are not compared. */
  readonly replicated: ReadonlySet<string>;
  /** The invocations of the largest workgroup, as a WGSL expression. */
  readonly lanes: string;
  readonly report: ReportPlan;
  /** The binding points of buffer copies, by the buffer's variable. */
  readonly shadows: ReadonlyMap<string, BindingPoint>;
  /** The copies that each kernel binds, as reported to the host. */
  readonly shadowsOf: ReadonlyMap<string, readonly ShadowBinding[]>;
}

/** The contents of the report buffer. */
export interface ReportPlan {
  /**
   * The layout. Its size lacks the counts of a profile, which depend on the number of fault sites.
   */
  readonly layout: ReportLayout;
  /** The mailbox's size in words, for kernels whose replicas wait for each other. */
  readonly mail: number;
  /** The words for the arrivals of replicas. */
  readonly arrivals: number;
}

/**
 * The kernels that fit, the plan if all of them do, and the reasons for leaving others unprotected.
 */
export interface PlannedProtection {
  readonly fit: ReadonlySet<string>;
  readonly plan?: ProtectionPlan;
  readonly diagnostics: readonly Diagnostic[];
}

/** Plans the protection of some entry points of a program in access normal form. */
export function planProtection(
  facts: ProgramFacts,
  entryPoints: ReadonlySet<string>,
  settings: Settings,
): PlannedProtection {
  const kernels = facts.kernels(entryPoints);
  const replicated = namesOf(replicatedVariables(facts, kernels, settings));
  const fit = new Set(entryPoints);
  const plans = new Map<string, KernelPlan>();
  const diagnostics: Diagnostic[] = [];
  for (const kernel of kernels) {
    const plan = kernelPlan(kernel, settings);
    const obstacles = [
      ...(settings.redundancy === "none" || settings.redundancy === "selective" ? [] : waits(kernel)),
      ...(plan ? plan.obstacles : replicaSyncObstacles(kernel, settings, replicated)),
    ];
    if (obstacles.length > 0) fit.delete(kernel.name);
    else if (plan) plans.set(kernel.name, plan);
    diagnostics.push(...obstacles);
  }
  const isPlain = settings.redundancy === "none" && !settings.injectFaults && !settings.sums;
  const memory = memoryPlans(kernels, plans, isPlain, settings);
  // A kernel that checks nothing is left unchanged.
  if (isPlain) for (const [name, plan] of memory) if (!plan.arena && !isSumming(plan)) fit.delete(name);
  const isWhole = fit.size === entryPoints.size;
  diagnostics.push(...passVerifiedMemory([...memory].filter(([name]) => isWhole || !fit.has(name))));
  if (!isWhole) return { fit, diagnostics };

  const shadows = shadowBindings(facts.program, settings, plans.values(), checkingKernels(memory).length > 0);
  const { limits, pairing } = settings;
  const plan: ProtectionPlan = {
    settings,
    entryPoints,
    functions: new Set(kernels.flatMap(({ functions }) => [...functions].map(({ name }) => name))),
    seeingSubgroups: new Set(
      kernels.flatMap(({ name, subgroupUses }) => (subgroupUses.length > 0 ? [name] : [])),
    ),
    kernels: plans,
    memory,
    replicated,
    lanes: lanesOf(kernels, limits, pairing),
    report: reportPlan(kernels, plans, settings),
    shadows,
    shadowsOf: new Map(
      [...plans].map(([name, { shadowed }]) => [name, shadowsOf(facts.program, shadowed, shadows)]),
    ),
  };
  return { fit, plan, diagnostics };
}

function kernelPlan(kernel: KernelFacts, settings: Settings): KernelPlan | undefined {
  if (!plansEachKernel(settings)) return undefined;
  return settings.pairing === "passes" ? passesPlan(kernel, settings) : interGroupPlan(kernel, settings);
}

function memoryPlans(
  kernels: readonly KernelFacts[],
  plans: ReadonlyMap<string, KernelPlan>,
  isPlain: boolean,
  { redundancy, subgroupSize, limits, memory }: Settings,
): Map<string, MemoryPlan> {
  const lanes = redundancy.startsWith("intra") ? 0 : subgroupSize;
  return new Map(
    kernels.map((kernel) => {
      const others = 1 + (plans.get(kernel.name)?.shadowed.size ?? 0);
      return [kernel.name, memoryPlan(kernel, memory.coded, { limits, others, lanes, isPlain })];
    }),
  );
}

/** Returns the kernels that check a buffer themselves, with their access to the check words. */
export function checkingKernels(plans: ReadonlyMap<string, MemoryPlan>) {
  return [...plans].flatMap(([name, plan]) => (plan.arena ? [{ name, arena: plan.arena, plan }] : []));
}

/** Returns the names of the kernels whose plan has a property. */
export function kernelsWhere(
  { kernels }: Pick<ProtectionPlan, "kernels">,
  has: (plan: KernelPlan) => unknown,
): ReadonlySet<string> {
  return new Set([...kernels].flatMap(([name, plan]) => (has(plan) ? [name] : [])));
}

function reportPlan(
  kernels: readonly KernelFacts[],
  plans: ReadonlyMap<string, KernelPlan>,
  { redundancy, uncompared, report, injectFaults }: Settings,
): ReportPlan {
  const blocking = kernels.filter(({ name }) => plans.get(name)?.blocking);
  const mail = mailWords(blocking.map(({ invocations }) => invocations));
  const cells = redundancy === "inter" && !uncompared ? cellCount : 0;
  const arrivals = kernelsWhere({ kernels: plans }, ({ arrival }) => arrival).size > 0 ? arrivalWords : 0;
  const mailbox = 4 * (reportWords.total + cells);
  const bytes = mailbox + mailboxBytes(mail) + 4 * arrivals;
  const layout = { ...report, bytes, cells, ...(mail > 0 && { ranOut: mailbox + ranOutOffset }) };
  return { layout: injectFaults === "profile" ? { ...layout, counts: bytes } : layout, mail, arrivals };
}

/**
 * Returns the binding points of copies: after the report, where neither the module nor ECC binds
 * anything.
 */
function shadowBindings(
  program: Program,
  { free, memory }: Settings,
  plans: Iterable<KernelPlan>,
  hasChecks: boolean,
): Map<string, BindingPoint> {
  const points = [...bindingPointsOf(program), ...(hasChecks ? [memory.arena, memory.table] : [])];
  const inGroup = points.filter(({ group }) => group === free.group);
  const taken = new Set(inGroup.map(({ binding }) => binding));
  let binding = free.binding;
  const next = () => {
    do binding++;
    while (taken.has(binding));
    return { group: free.group, binding };
  };
  const shadowed = new Set([...plans].flatMap((plan) => [...plan.shadowed]));
  const declared = program.module.declarations.filter((d) => d.kind === "globalVariable");
  return new Map(declared.flatMap(({ name }) => (shadowed.has(name) ? [[name, next()]] : [])));
}

function shadowsOf(
  program: Program,
  shadowed: ReadonlySet<string>,
  shadows: ReadonlyMap<string, BindingPoint>,
): ShadowBinding[] {
  return program.module.declarations.flatMap((variable) => {
    if (variable.kind !== "globalVariable" || !shadowed.has(variable.name)) return [];
    const [of, at] = [bindingPointOf(program, variable), shadows.get(variable.name)];
    const hasAtomics = containsAtomic(program.declaredTypeOf(variable));
    return of && at ? [{ of, at, ...(hasAtomics && { hasAtomics }) }] : [];
  });
}

/**
 * Returns warnings about loops that wait for other invocations. With two replicas of each, these
 * need not run at the same time.
 */
function waits({ program, declaration, name }: KernelFacts): Diagnostic[] {
  return waitsOf(program, declaration).map(({ span, variable }) =>
    leftAlone(
      "waits-for-invocations",
      span,
      name,
      `this loop waits until another invocation changes "${variable.name}", and replicas change which invocations run at the same time`,
      "end the kernel where it waits, and dispatch the rest",
    ),
  );
}

/**
 * Returns warnings about places at which replicas in different subgroups would have to synchronize
 * before the end.
 */
function replicaSyncObstacles(
  { program, declaration }: KernelFacts,
  { pairing, uncompared }: Settings,
  replicated: ReadonlySet<string>,
): Diagnostic[] {
  if (pairing !== "subgroups") return [];
  const help = "use the pairing adjacent or half-subgroup";
  // Stores need no sync point if nothing is compared.
  const isFree = ({ name }: GlobalVariable) => uncompared !== undefined || replicated.has(name);
  return replicaSyncPoints(program, declaration, isFree).map(({ span, why }) =>
    leftAlone(
      "replicas-must-wait",
      span,
      declaration.name,
      `${why}, and its replicas meet only at the end`,
      help,
    ),
  );
}
