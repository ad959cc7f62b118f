/**
 * The measurements of Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014: speedups, their
 * ablations, speculation on the CPU beside it, misspeculation rates, and what each phase costs; and
 * how all this grows.
 */
import { type MeasuredProgram, measureProgram, type SpeculationProgram } from "./program.ts";
import { WarmUp } from "./programRuns.ts";
import { type Variant, variants } from "./variants.ts";

export interface SpeculationOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly programs: readonly MeasuredProgram[];
  /** The sizes of one program, to see how costs grow. */
  readonly growth: readonly MeasuredProgram[];
  readonly runs: number;
  readonly threads: number;
  /**
   * What is measured besides C and JavaScript; unless given everything but `hardened`, which is
   * only measured when asked for.
   */
  readonly variants?: readonly (Variant | "threads")[] | undefined;
  /**
   * What one variant of one program may take; it is given up, with what there is of it, when it
   * takes longer.
   */
  readonly seconds: number;
  /** Milliseconds after which nothing further is begun. */
  readonly timeLimit?: number;
  /** What was measured before, and is not measured again. */
  readonly earlier?: Pick<SpeculationResult, "programs" | "growth">;
  readonly progress: (doing: string) => void;
  /** A small program that warms the engines up. */
  readonly warmUp?: MeasuredProgram;
  /** Called with the result so far whenever there is more of it. */
  readonly save?: (result: SpeculationResult) => Promise<void>;
  /** Called when a program is done. */
  readonly measured?: (program: SpeculationProgram) => void;
}

export interface SpeculationResult {
  readonly ok: boolean;
  readonly programs: readonly SpeculationProgram[];
  readonly growth: readonly SpeculationProgram[];
}

const all = Object.keys(variants) as Variant[];
/** What is looked at as a loop grows. */
const growing: readonly Variant[] = ["default", "published", "unchecked"];

/**
 * Measures every program. A variant that fails, takes too long or is wrong is told, and makes the
 * result not `ok`.
 */
export async function measureSpeculation(options: SpeculationOptions): Promise<SpeculationResult> {
  const { earlier, timeLimit = Infinity, variants: wanted } = options;
  const [programs, growth] = [[...(earlier?.programs ?? [])], [...(earlier?.growth ?? [])]];
  const result = () => ({ ok: [...programs, ...growth].every(isRight), programs, growth });
  const end = performance.now() + timeLimit;
  const warmUp = options.warmUp && new WarmUp(await options.warmUp.load(), options.warmUp.create());
  const isWanted = (variant: Variant | "threads") => wanted?.includes(variant) ?? variant !== "hardened";
  const measure = async (
    into: SpeculationProgram[],
    program: MeasuredProgram,
    chosen: readonly Variant[],
  ) => {
    const known = into.findIndex(({ name, size }) => name === program.name && size === program.size);
    const place = known < 0 ? into.length : known;
    const before = into[place];
    await measureProgram(program, {
      ...options,
      before,
      warmUp,
      variants: chosen.filter(isWanted),
      withThreads: isWanted("threads"),
      save: async (sofar) => {
        into[place] = sofar;
        await options.save?.(result());
      },
      isOver: () => performance.now() > end,
    });
    if (into[place] && into[place] !== before) options.measured?.(into[place]);
  };
  for (const program of options.programs) await measure(programs, program, all);
  for (const program of options.growth) await measure(growth, program, growing);
  return result();
}

/**
 * The measurements of a loop without those that took too long. Where this is right, nothing is
 * wrong.
 */
export function inTime(program: SpeculationProgram): SpeculationProgram {
  const { javascript, threads, variants, ...rest } = program;
  const isInTime = (measured: object) => !("late" in measured);
  return {
    ...rest,
    ...(javascript && isInTime(javascript) && { javascript }),
    ...(threads && isInTime(threads) && { threads }),
    variants: Object.fromEntries(Object.entries(variants).filter(([, measured]) => isInTime(measured))),
  };
}

/**
 * Whether all results were right; that of a loop without checks, which nothing promises, does not
 * count.
 */
export function isRight({ javascript, threads, variants }: SpeculationProgram): boolean {
  const promised = Object.entries(variants).filter(([variant]) => variant !== "unchecked");
  return (
    !(javascript && "failed" in javascript) &&
    [...(threads ? [threads] : []), ...promised.map(([, measured]) => measured)].every(
      (measured) => "right" in measured && measured.right,
    )
  );
}
