/**
 * The measurements of Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014. They are
 * speedups, their ablations, speculation on the CPU, misspeculation rates, and the cost of each
 * phase. Further ones show how all this grows.
 */
import { measureProgram, type SpeculatedProgram, type SpeculationProgram } from "./program.ts";
import { WarmUp } from "./programRuns.ts";
import { type Variant, variants } from "./variants.ts";

export interface SpeculationOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly programs: readonly SpeculatedProgram[];
  /** The sizes of one program, to measure how costs grow. */
  readonly growth: readonly SpeculatedProgram[];
  readonly runs: number;
  readonly threads: number;
  /**
   * The variants that are measured besides C and JavaScript. The default is everything but
   * `hardened`.
   */
  readonly variants?: readonly (Variant | "threads")[] | undefined;
  /**
   * The time limit of one variant of one program. A longer one is abandoned, and its results so far
   * are kept.
   */
  readonly seconds: number;
  /** The milliseconds after which no further step begins. */
  readonly timeLimitMs?: number;
  /** The earlier measurements, which are not repeated. */
  readonly earlier?: Pick<SpeculationResult, "programs" | "growth">;
  readonly progress: (doing: string) => void;
  /** A small program that warms the engines up. */
  readonly warmUp?: SpeculatedProgram;
  /** Saves the result so far whenever it grows. */
  readonly save?: (result: SpeculationResult) => Promise<void>;
  /** Receives each finished program. */
  readonly measured?: (program: SpeculationProgram) => void;
}

export interface SpeculationResult {
  readonly ok: boolean;
  readonly programs: readonly SpeculationProgram[];
  readonly growth: readonly SpeculationProgram[];
}

const all = Object.keys(variants) as Variant[];
/** The variants that are measured as a loop grows. */
const growing: readonly Variant[] = ["default", "published", "unchecked"];

/**
 * Measures every program. The result names a variant that fails, takes too long or is wrong, and is
 * then not `ok`.
 */
export async function measureSpeculation(options: SpeculationOptions): Promise<SpeculationResult> {
  const { earlier, timeLimitMs = Infinity, variants: wanted } = options;
  const [programs, growth] = [[...(earlier?.programs ?? [])], [...(earlier?.growth ?? [])]];
  const result = () => ({ ok: [...programs, ...growth].every(isRight), programs, growth });
  const end = performance.now() + timeLimitMs;
  const warmUp = options.warmUp && new WarmUp(await options.warmUp.load(), options.warmUp.create());
  const isWanted = (variant: Variant | "threads") => wanted?.includes(variant) ?? variant !== "hardened";
  const measure = async (
    into: SpeculationProgram[],
    program: SpeculatedProgram,
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
 * Returns the measurements of a loop without those that took too long. If they are right, nothing
 * is wrong.
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
 * Returns true if all results were right. That of a loop without checks does not count, as nothing
 * promises it.
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
