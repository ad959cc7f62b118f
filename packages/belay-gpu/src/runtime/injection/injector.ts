import { faultExtent, injectionWords } from "../../compiler/contract.ts";
import { flag, oneOf, refuseUnknown, shown, type Values, wholeFrom } from "../../diagnostics/options.ts";
import type { ReportArena } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import {
  type Kernels,
  noStrike,
  type ObservedWords,
  type ProtectedKernel,
} from "../pipelines/protectedKernels.ts";
import { isWord } from "./bitFlips.ts";

/** One execution of a fault site. */
export interface Execution {
  /**
   * The number of the dispatch of the kernel, counted from 0 since the fault was armed. Default 0.
   */
  readonly dispatch?: number;
  /** The invocation, in the numbering of the unprotected kernel. */
  readonly workgroup: readonly [number, number, number];
  /** The index of the invocation in its workgroup. */
  readonly localIndex: number;
  /**
   * The number of the site's execution by that invocation in that dispatch, counted from 0. Default
   * 0.
   */
  readonly occurrence?: number;
  /** For a load: the number of the 128 bytes of the variable that it loads from. */
  readonly line?: number;
}

/** One fault to inject: its execution of a fault site, its effect and its extent. */
export interface ArmedFault extends Execution {
  /** The name of the kernel, from `faultSites`. */
  readonly kernel: string;
  /** The id of a `FaultSite`. */
  readonly site: number;
  /** The replica that is struck. */
  readonly replica: 0 | 1;
  /**
   * The effect on the struck word: bits flip (`xor`), or the word is replaced (`set`). A condition
   * is the word 0 or 1.
   */
  readonly effect: { readonly xor: number } | { readonly set: number };
  /** The component of a vector value; the last one if the vector is shorter. Default 0. */
  readonly component?: number;
  /**
   * `"invocation"` (default) strikes the replica of the invocation. `"subgroup"` strikes all
   * replicas in its subgroup. `"line"` strikes all that load from `line` at the site.
   */
  readonly extent?: "invocation" | "subgroup" | "line";
  /**
   * `"once"` (default) strikes one execution. `"launch"` also strikes all later executions in the
   * dispatch.
   */
  readonly duration?: "once" | "launch";
  /**
   * True if the fault also strikes later dispatches and re-executed work, as a broken part of a GPU
   * would. Default false.
   */
  readonly permanent?: boolean;
  /**
   * The number of loop iterations after which an invocation counts as hanging and leaves its loops.
   * Default: unlimited.
   */
  readonly fuel?: number;
}

/** The latest strike of the armed fault, and its effect. */
export interface Observed {
  /** The number of strikes. */
  readonly strikes: number;
  /** The struck word before the strike. Meaningless for a statement, or if nothing was struck. */
  readonly before: number;
  /** The struck word after the strike. Meaningless in the same cases. */
  readonly after: number;
  /** True if an invocation ran out of fuel. */
  readonly hung: boolean;
}

/** Arms at most one fault at a time in the kernels of a device. */
export class Injector {
  readonly #arena: ReportArena;
  readonly #kernels: Kernels;
  #armed: ArmedFault | undefined;
  /** The previously armed fault. */
  #disarmed: ArmedFault | undefined;

  constructor({ reports }: RuntimeContext, kernels: Kernels) {
    this.#arena = reports;
    this.#kernels = kernels;
  }

  /**
   * Arms a fault for work that is submitted from now on. Throws a `TypeError` for a fault that
   * could never strike.
   */
  arm(fault: ArmedFault): void {
    refuseImpossible(fault, this.#kernels);
    this.disarm();
    this.#armed = fault;
    for (const { kernel } of this.#kernels.choices) {
      if (kernel?.target !== fault.kernel || !kernel) continue;
      kernel.observed = noStrike;
      this.#arena.write(kernel.slot, injectionWords.strikes, wordsOf(fault, kernel));
    }
  }

  /** Disarms the fault for work that is submitted from now on, and removes the limit on loops. */
  disarm(): void {
    const struck = this.#armed?.kernel;
    this.#disarmed = this.#armed ?? this.#disarmed;
    this.#armed = undefined;
    for (const { kernel } of this.#kernels.choices) {
      if (kernel?.target !== struck || !kernel) continue;
      this.#arena.write(kernel.slot, injectionWords.armedSite, new Uint32Array(armedWords));
    }
  }

  /** Disarms a transient fault before the work that it struck is executed again. */
  workRunsAgain(): void {
    if (!this.#armed?.permanent) this.disarm();
  }

  /** Returns the latest strike of the armed fault, according to the reports that were read. */
  observed(): Observed {
    const fault = this.#armed ?? this.#disarmed;
    const found = [...this.#kernels.choices].find(({ kernel }) => kernel?.target === fault?.kernel)?.kernel
      ?.observed;
    const { strikes, struck, hung } = found ?? noStrike;
    const [clear, mask] = fault ? effectOf(fault) : [0, 0];
    return { strikes, before: struck, after: ((struck & ~clear) ^ mask) >>> 0, hung };
  }
}

const count = wholeFrom(0);

/** The members of a fault, with the values that they take. */
const members: { readonly [Name in keyof Required<ArmedFault>]: Values | null } = {
  kernel: null,
  site: null,
  replica: oneOf([0, 1]),
  effect: {
    what: "{ xor: bits } or { set: word }, with a number of 32 bits",
    has: (value) =>
      typeof value === "object" &&
      value !== null &&
      isWord("set" in value ? value.set : "xor" in value && value.xor),
  },
  workgroup: {
    what: "a workgroup such as [0, 0, 0]",
    has: (value) => Array.isArray(value) && value.length === 3 && value.every(count.has),
  },
  localIndex: count,
  component: count,
  occurrence: count,
  dispatch: count,
  line: count,
  fuel: count,
  extent: oneOf(Object.keys(faultExtent)),
  duration: oneOf(["once", "launch"]),
  permanent: flag,
};

/**
 * Throws a `TypeError` for a fault that could never strike as described. JavaScript callers are not
 * bound to the types.
 */
function refuseImpossible(fault: ArmedFault, kernels: Kernels): void {
  refuseUnknown(fault, members, " of a fault", ["replica", "effect", "workgroup", "localIndex"]);
  const made = [...kernels.choices].flatMap(({ kernel }) => kernel ?? []);
  const kernel = made.find(({ target }) => target === fault.kernel);
  if (!kernel) {
    const names = made.map(({ target }) => shown(target)).join(", ") || "none yet";
    throw new TypeError(
      `there is no kernel ${shown(fault.kernel)} in which a fault can be armed: the kernels are ${names}`,
    );
  }
  if (!kernel.protection.faultSites.some(({ id }) => id === fault.site))
    throw new TypeError(
      `the kernel "${kernel.target}" has no fault site ${shown(fault.site)}: faultSites() lists those that it has`,
    );
  if (fault.extent === "line" && fault.line === undefined)
    throw new TypeError(
      "a fault in a line of memory needs `line`, the number of its 128 bytes in the variable",
    );
}

export function observedIn(report: Uint32Array): ObservedWords {
  const [strikes, struck] = [report[injectionWords.strikes]!, report[injectionWords.struck]!];
  return { strikes, struck, hung: report[injectionWords.hangs] !== 0 };
}

/** The number of words that arm a fault. */
const armedWords = injectionWords.fuel + 1 - injectionWords.armedSite;

/** The words of a report about the armed fault, those that count its strikes included. */
export const armingWords = {
  first: injectionWords.strikes,
  count: injectionWords.fuel + 1 - injectionWords.strikes,
};

/** Returns the bits of a word that are cleared first, and those that flip then. */
const effectOf = ({ effect }: ArmedFault) =>
  "set" in effect ? ([-1, effect.set] as const) : ([0, effect.xor] as const);

/** Returns the consecutive words of a report from `strikes` on. */
function wordsOf(fault: ArmedFault, { protection }: ProtectedKernel): number[] {
  const { workgroup, localIndex, replica, component = 0, occurrence = 0, dispatch = 0, line = 0 } = fault;
  const { extent = "invocation", duration = "once", permanent = false, fuel = 0 } = fault;
  const site = protection.faultSites.find(({ id }) => id === fault.site);
  const all = 0xffff_ffff;
  const found = { strikes: 0, hangs: 0, struck: 0, dispatch: 0 };
  const [clear, mask] = effectOf(fault);
  // Kernels count dispatches from 1 on.
  const first = dispatch + 1;
  return [
    ...Object.values(found),
    fault.site,
    site?.isShared ? 2 : replica,
    faultExtent[extent],
    clear,
    mask,
    Math.min(component, Math.max(0, (site?.components ?? 1) - 1)),
    ...workgroup,
    localIndex,
    occurrence,
    duration === "once" ? 0 : all - occurrence,
    first,
    permanent ? all - first : 0,
    line,
    fuel,
  ];
}
