/** Runs passes over a program, and records their results. */
import type { Span } from "../diagnostics/diagnostic.ts";
import { armedTrigger } from "../transforms/faults/armedTrigger.ts";
import { countingTrigger } from "../transforms/faults/countingTrigger.ts";
import { FaultSites } from "../transforms/faults/faultSites.ts";
import { Strikes } from "../transforms/faults/strikes.ts";
import { Comparison } from "../transforms/redundancy/comparison/comparison.ts";
import { CheckSites } from "../transforms/redundancy/reportBuffer.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { versionsOf } from "../wgsl/resolve/index.ts";
import { ProgramFacts } from "./facts.ts";
import type { Invariant, Verified } from "./invariants.ts";
import { type Pass, type ProtectionInput, passes } from "./passes.ts";
import type { ProtectionPlan } from "./plan.ts";
import { type Experiment, plansEachKernel, type Settings } from "./settings.ts";

/** The module after a pass, and the time that the pass took. */
export interface PassRecord {
  readonly pass: string;
  readonly module: Module;
  readonly milliseconds: number;
}

/** The actions besides running passes, and the changes that experiments make to passes. */
export interface PassOptions extends Experiment {
  /** True to keep the module after each pass. */
  readonly records?: boolean;
  /** Verifies, after a pass, the invariants that the list declares; see `verifyInvariants`. */
  readonly verify?: (pass: string, held: ReadonlySet<Invariant>, verified: Verified) => void;
}

/**
 * A program to which passes are applied. Each pass receives it typed and returns a valid module,
 * which is typed again.
 */
export class PassRunner {
  readonly #options: PassOptions;
  readonly #names: Names;
  readonly #held: Set<Invariant>;
  /** The results so far, one record for each pass that ran. */
  readonly records: PassRecord[];
  #facts: ProgramFacts;
  #versionOf: ((module: Module) => Program) | undefined;
  #entryPoints: ReadonlySet<string> | undefined;
  #groups: readonly ReadonlySet<string>[] = [];

  constructor(facts: ProgramFacts, names: Names, options: PassOptions, before?: PassRunner) {
    this.#facts = facts;
    this.#names = names;
    this.#options = options;
    this.#held = new Set(before ? before.#held : []);
    this.records = [...(before?.records ?? [])];
  }

  /** The facts about the program after the last pass. */
  get facts(): ProgramFacts {
    return this.#facts;
  }

  get program(): Program {
    return this.#facts.program;
  }

  /**
   * Runs the passes that precede the choice of entry points. Returns the new names of the entry
   * points and overrides that the host knows by name.
   */
  runSourcePasses(settings: Settings): ReadonlyMap<string, string> {
    const renamed = new Map<string, string>();
    for (const pass of passes)
      if (pass.phase === "source" && (pass.when?.(settings) ?? true))
        this.#run(pass, () => pass.run({ program: this.program, names: this.#names, settings, renamed }));
    return renamed;
  }

  /**
   * Returns a runner for the program with the accesses of entry points in normal form. This runner
   * stays as it is.
   */
  normalized(entryPoints: ReadonlySet<string>, settings: Settings): PassRunner {
    const runner = new PassRunner(this.#facts, this.#names, this.#options, this);
    const isApart = plansEachKernel(settings) || settings.memory.coded.length > 0;
    const groups = isApart ? [...entryPoints].map((name) => new Set([name])) : [entryPoints];
    runner.#entryPoints = entryPoints;
    runner.#groups = groups;
    // Each invocation is a lane, and a kernel with matrices knows how many it has.
    const invocations = this.#facts.kernels(entryPoints).map((kernel) => kernel.invocations ?? 1);
    const subgroups = Math.ceil(Math.max(...invocations) / Math.max(1, settings.subgroupSize));
    for (const pass of passes)
      if (pass.phase === "normal form")
        runner.#run(pass, () => pass.run({ program: runner.program, names: this.#names, groups, subgroups }));
    return runner;
  }

  /**
   * Protects the program, in normal form, according to a plan. `source` is the program in which
   * resources have all their uses.
   */
  protect(plan: ProtectionPlan, source: Program): Protected {
    const shared = sharedBy(plan, this.#names, source);
    // A kernel with a plan has functions of its own; those without one are treated alike.
    const kernels = plan.kernels.size === 0 ? [undefined] : [...plan.kernels.keys()];
    for (const together of neighbors(passes.filter((pass) => pass.phase === "protection")))
      for (const kernel of together[0]!.scope ? kernels : [undefined])
        for (const pass of together)
          if (pass.when?.(plan) ?? true)
            this.#run(pass, () =>
              pass.run({
                ...shared,
                program: this.program,
                kernel,
                functions: (entryPoint) => this.functions(entryPoint ? new Set([entryPoint]) : undefined),
              }),
            );
    return { sites: shared.sites, faultSites: shared.faults.sites, twice: shared.twice };
  }

  /**
   * Returns the functions that run protected, or those that the entry points of these names reach.
   */
  functions(named = this.#entryPoints): ReadonlySet<FunctionDeclaration> {
    return new Set(this.#facts.kernels(named).flatMap(({ functions }) => [...functions]));
  }

  #run(pass: Pass, run: () => Module): void {
    const begun = this.#options.records ? performance.now() : 0;
    const module = run();
    if (module !== this.program.module) this.#facts = new ProgramFacts(this.#typed(module, pass));
    if (this.#options.records) this.#record(pass.name, performance.now() - begun);
    for (const ended of pass.ends ?? []) this.#held.delete(ended);
    for (const ensured of pass.ensures) this.#held.add(ensured);
    this.#options.verify?.(pass.name, this.#held, {
      program: this.program,
      names: this.#names,
      entryPoints: this.#entryPoints,
      groups: this.#groups,
    });
  }

  /** Types the result of a pass. A pass that returns an invalid module violates its contract. */
  #typed(module: Module, pass: Pass): Program {
    this.#versionOf ??= versionsOf(this.program);
    const program = this.#versionOf(module);
    const error = program.diagnostics.find(({ severity }) => severity === "error");
    if (error) throw new Error(`${pass.name} left an invalid module: ${error.message}\n${print(module)}`);
    return program;
  }

  /** Adds to the record of a pass, which may run for several kernels. */
  #record(pass: string, milliseconds: number): void {
    const { module } = this.program;
    const known = this.records.findIndex((record) => record.pass === pass);
    if (known < 0) this.records.push({ pass, module, milliseconds });
    else
      this.records[known] = {
        pass,
        module,
        milliseconds: this.records[known]!.milliseconds + milliseconds,
      };
  }
}

/** The sites that passes numbered while they protected a program. */
interface Protected {
  readonly sites: CheckSites;
  readonly faultSites: FaultSites;
  /** The chosen values that are computed twice. */
  readonly twice: ReadonlySet<Span>;
}

/** Returns the state that the passes of one protection share. */
function sharedBy(
  plan: ProtectionPlan,
  names: Names,
  source: Program,
): Omit<ProtectionInput, "program" | "kernel" | "functions"> {
  const { redundancy, check, uncompared, pairing, channel, subgroups, injectFaults, diversity } =
    plan.settings;
  const { cells } = plan.report.layout;
  const trigger =
    injectFaults === "profile"
      ? countingTrigger(names)
      : armedTrigger(names, { redundancy, pairing, subgroups });
  return {
    names,
    plan,
    source,
    comparison: new Comparison(names, {
      channel: redundancy === "inter" ? "mailbox" : channel,
      check,
      uncompared,
      pairing,
      lanes: plan.lanes,
      isCanonical: diversity !== undefined,
      ...(cells > 0 && { cells: { count: cells } }),
    }),
    sites: new CheckSites(),
    twice: new Set(),
    faults: {
      sites: new FaultSites(),
      strikes: new Strikes(names, trigger),
      entryPoints: plan.entryPoints,
      sourceNodes: new Set(),
    },
  };
}

/**
 * Groups passes in their order: consecutive passes that run for one kernel after the other are
 * together.
 */
function neighbors<Each extends { readonly scope?: "each kernel" }>(listed: readonly Each[]): Each[][] {
  const groups: Each[][] = [];
  for (const pass of listed) {
    const last = groups.at(-1);
    if (pass.scope && last?.[0]?.scope) last.push(pass);
    else groups.push([pass]);
  }
  return groups;
}
