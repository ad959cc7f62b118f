/**
 * Resolves overloads of predeclared functions and operators. Source: WGSL specification, "Overload
 * Resolution".
 */
import { conversionRank } from "../conversion.ts";
import type { Type } from "../types.ts";
import { instantiate, type Overload } from "./instantiate.ts";
import { signaturesOf } from "./signatures.ts";

/**
 * Returns the preferred overload for arguments of the given types, after the load rule, or
 * undefined. Abstract parameter types are possible only if every argument is a const-expression.
 */
export function selectOverload(name: string, args: readonly Type[], allConst: boolean): Overload | undefined {
  let selected = (allConst ? selectedForConstants : selectedForOthers).after(name);
  for (const arg of args) selected = selected.after(arg);
  selected.overload ??= select(name, args, allConst) ?? "none";
  return selected.overload === "none" ? undefined : selected.overload;
}

/**
 * A tree of selected overloads, by name and then by each argument type. Programs use few overloads
 * often.
 */
class Selected {
  overload?: Overload | "none";
  readonly #names = new Map<string, Selected>();
  readonly #types = new WeakMap<Type, Selected>();

  after(next: string | Type): Selected {
    const known = typeof next === "string" ? this.#names.get(next) : this.#types.get(next);
    if (known) return known;
    const selected = new Selected();
    if (typeof next === "string") this.#names.set(next, selected);
    else this.#types.set(next, selected);
    return selected;
  }
}

const selectedForConstants = new Selected();
const selectedForOthers = new Selected();

function select(name: string, args: readonly Type[], allConst: boolean): Overload | undefined {
  let best: Overload | undefined;
  let bestRanks: readonly number[] = [];
  let ambiguous = false;
  for (const signature of signaturesOf(name)) {
    if (signature.parameters.length !== args.length) continue;
    const candidate = instantiate(signature, args, allConst);
    if (!candidate) continue;
    const ranks = candidate.parameters.map((parameter, i) => conversionRank(args[i]!, parameter));
    if (!ranks.every(Number.isFinite)) continue;
    if (!best || isPreferred(ranks, bestRanks)) {
      best = candidate;
      bestRanks = ranks;
      ambiguous = false;
    } else if (!isPreferred(bestRanks, ranks)) {
      ambiguous = true;
    }
  }
  return ambiguous ? undefined : best;
}

function isPreferred(a: readonly number[], b: readonly number[]): boolean {
  return a.every((rank, i) => rank <= b[i]!) && a.some((rank, i) => rank < b[i]!);
}
