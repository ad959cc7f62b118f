import { plural } from "belay-gpu/internal/diagnostics/plural";
import type { Verdict } from "./report.ts";

/**
 * What a benchmark has measured: of what kind, and the names of those that are wrong, and of those
 * that are incomplete.
 */
export interface Measurements {
  readonly count: number;
  readonly kind: string;
  readonly wrong: readonly string[];
  /** Nothing is wrong with these, but the machine was too slow, or the time was up. */
  readonly incomplete: readonly string[];
  /** What can be said when nothing is wrong, such as "every result right". */
  readonly right: string;
}

/**
 * Returns the verdict on measurements in words. What is wrong, and what a slow machine did not
 * finish, are kept apart.
 */
export function judge({
  count,
  kind,
  wrong,
  incomplete,
  right,
}: Measurements): Pick<Verdict, "ok" | "headline"> {
  const parts = [
    wrong.length > 0
      ? `${plural(wrong.length, kind)} of ${count} went wrong: ${wrong.join(", ")}`
      : `${plural(count, kind)} measured, ${right}`,
    ...(incomplete.length > 0
      ? [`not measured in full, as that took too long or the time was up: ${incomplete.join(", ")}`]
      : []),
  ];
  return { ok: wrong.length > 0 ? false : incomplete.length > 0 ? null : true, headline: parts.join("; ") };
}
