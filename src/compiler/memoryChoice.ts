/** `memory: "auto"`: which code promises to protect the memory of kernels at the lowest cost, and why. */
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import type { SchemeName } from "../codes/scheme.ts";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import type { ProtectOptions } from "./contract.ts";
import { estimateMemoryCost, type Rates } from "./memoryCost.ts";
import { protect } from "./protect.ts";

export interface RankedScheme {
  readonly scheme: SchemeName;
  /** Predicted time of all kernels with protected memory, that with unprotected memory being 1. */
  readonly predicted: number;
  readonly kernels: readonly RankedKernel[];
}

export interface RankedKernel {
  readonly name: string;
  readonly predicted: number;
  /** Why it costs that, in a sentence. */
  readonly reason: string;
  readonly checked: number;
  readonly bracketed: number;
}

/** The codes that correct, one for each size of granule. */
export const correctingSchemes: readonly SchemeName[] = ["secded128", "secded64", "secded32"];

export interface MemoryChoiceOptions extends Pick<ProtectOptions, "features" | "limits" | "redundancy"> {
  /** Default `correctingSchemes`. */
  readonly candidates?: readonly SchemeName[];
  /** Of the device. Default: those of an NVIDIA H200. */
  readonly rates?: Rates;
}

/**
 * The codes for the memory that some modules work on, the one with the lowest predicted cost first; of equals, the one that
 * takes less memory. Modules that are not valid do not count.
 */
export function rankSchemes(sources: readonly string[], options: MemoryChoiceOptions = {}): RankedScheme[] {
  const { candidates = correctingSchemes, rates, ...others } = options;
  return candidates
    .map((scheme): RankedScheme => {
      const costs = sources.flatMap((wgsl) => {
        const { entryPoints } = protect(wgsl, { redundancy: "none", ...others, memory: scheme });
        const program = resolve(parse(wgsl).module);
        return functionsOf(program)
          .filter((fn) => stageOf(fn) === "compute")
          .flatMap((fn) => {
            const bindings = entryPoints.find(({ name }) => name === fn.name)?.memory?.bindings;
            return bindings ? [{ fn, bindings, ...estimateMemoryCost(program, fn, bindings, rates) }] : [];
          });
      });
      const sum = (of: (cost: (typeof costs)[number]) => number) =>
        costs.reduce((total, cost) => total + of(cost), 0);
      const plain = sum(({ time }) => time);
      return {
        scheme,
        predicted: plain === 0 ? 1 : sum(({ time, predicted }) => time * predicted) / plain,
        kernels: costs.map(({ fn, bindings, predicted, reason }) => ({
          name: fn.name,
          ...{ predicted, reason },
          checked: bindings.filter(({ mode }) => mode === "checked").length,
          bracketed: bindings.filter(({ mode }) => mode === "bracketed").length,
        })),
      };
    })
    .sort((a, b) => a.predicted - b.predicted);
}
