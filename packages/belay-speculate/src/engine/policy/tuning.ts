/**
 * The engine's tuning constants. Times are milliseconds and sizes are bytes, unless a name or a
 * comment says otherwise.
 * Each was set while `belay bench speculation` ran its twelve loops on an H200.
 * docs/design/measurements/speculation.md has the results of all constants together. If a constant
 * was measured by itself, its comment names the measurement. None changes a loop's results.
 */

/** The placement of a call; see `placement.ts`. */
export const placing = {
  /**
   * The CPU's time on a loop until its code is compiled well. Measuring a device's costs takes as
   * long.
   */
  warmUp: 5,
  /** The assumed time of one operation on an unmeasured CPU: about one cycle. */
  assumedOperation: 5e-7,
  /** The assumed number of an inner loop's iterations, where operations are counted in the text. */
  assumedIterations: 8,
  /**
   * The number of operations below which starting a GPU takes longer than executing them on a CPU.
   * A byte moves in the time of one operation.
   */
  smallLoop: 2 ** 22,
  /** The kernels compiled for a loop without conflicts, and its launches: rounds and transfers. */
  kernels: 4,
  launches: 4,
  /** The part of the GPU's time that may be spent to find out that the CPU is slower. */
  trial: 1 / 4,
  /** The factor by which a CPU below `warmUp` must seem slower than the GPU to count as slower. */
  clearlySlower: 4,
  /** The time of a GPU with an unknown number of conflicts, as a multiple of an empty call. */
  assumedConflicts: 2,
  /**
   * The CPU's work before the GPU is tried again, as a multiple of the GPU's last loss. The data
   * may need fewer rounds by then.
   */
  retryAfterLoss: 16,
  /** The part of the head that the CPU keeps if the GPU was fast enough after it. */
  shorterHead: 7 / 8,
} as const;

/**
 * Calls that the CPU executes at once, like the call before. A decision takes ten times as long
 * when caches are cold.
 */
export const repeating = {
  /**
   * The number of such calls in a row. The next one is decided again, because its data may differ.
   */
  calls: 64,
  /**
   * The largest time of such a call, as a multiple of the decided call's time, and an allowance for
   * pauses of the system.
   */
  times: 2,
  pause: 0.5,
} as const;

/**
 * The conditions under which the CPU takes over from a GPU that executes a loop; see `handover.ts`.
 */
export const handingOver = {
  /** The GPU time from which the rest can be estimated. */
  observed: 1,
  /** The factor by which the CPU must seem faster. */
  margin: 1.5,
  /**
   * The number of evaluated iterations per executed one above which a CPU of unknown speed is
   * tried.
   */
  waste: 16,
  /**
   * The CPU's working time as a multiple of the cost of a handover, so that this cost stays a small
   * part.
   */
  cpuShare: 4,
  /**
   * The counterparts of `waste` and `observed` without a clock: evaluated iterations per executed
   * one, and iterations.
   */
  countedWaste: 64,
  countedObserved: 2 ** 16,
} as const;

/** The findings that executions of a loop leave to later ones. */
export const remembering = {
  /**
   * The number of executions after which a loop begins as at first. It doubles each time that the
   * plan stays the same.
   */
  executions: 16,
  /** The number of executions with different numbers whose findings are kept. */
  findings: 8,
} as const;

/** The rounds of a loop on the GPU. */
export const rounds = {
  /** The number of evaluated iterations per committed one above which the log is the wrong plan. */
  logWaste: 4,
  /**
   * The number of elements from which a bit for each is faster than a word, because words are
   * farther apart in memory.
   */
  fewestBits: 2 ** 16,
  /** The iterations of the first window, for plans whose windows adapt to conflicts. */
  firstWindow: 2 ** 16,
  /**
   * The largest number of iterations with inner loops that are executed at once before their time
   * is known.
   */
  longestUntried: 2 ** 20,
  /**
   * The longest and the shortest time of a round. Systems reset a GPU that does not answer for
   * seconds.
   */
  longestTime: 200,
  shortestTime: 20,
  /**
   * The largest number of rounds encoded at once. Reading the result takes about as long as two of
   * them.
   */
  mostEncoded: 32,
  /** The largest growth of windows within the rounds encoded at once. */
  mostGrowth: 4,
  /**
   * The number of elements logged of an iteration if the loop does not bound it. It grows if it is
   * too small.
   */
  assumedAccesses: 16,
  /**
   * The number of inner iterations that one iteration may run on the GPU. An iteration that needs
   * more bails out to the CPU.
   */
  fuel: 2 ** 14,
  /** The largest memory for the iterations of one window together. */
  mostWindowBytes: 2 ** 27,
  /**
   * The invocations of a workgroup. Long iterations may be few, and small workgroups spread them
   * over the device.
   */
  workgroup: 256,
  longWorkgroup: 64,
} as const;

/**
 * The iterations of a loop's first slice on the CPU. They are few enough to end soon even with
 * inner loops.
 */
export const firstSlice = 4;

/** Transfers of memory, measured by `research/src/scripts/transfers.ts`. */
export const moving = {
  /**
   * The size of a staging buffer. JavaScript engines run a long garbage collection if more is
   * mapped at once.
   */
  chunk: 2 ** 23,
  /**
   * The number of staging buffers for uploads. The device empties some while one is filled.
   * Creating one takes as long as filling it six times.
   */
  uploadChunks: 4,
  /** The size below which the queue's own `writeBuffer` is as fast. */
  smallUpload: 2 ** 16,
  /**
   * The number of staging buffers for downloads that are kept. Very long arrays get longer buffers,
   * not more.
   */
  downloadChunks: 16,
  /** The number of unused buffers of each usage that are kept. */
  mostFree: 24,
  /**
   * The size of the probe for a device's costs, large enough for its time to show beside a launch,
   * and the number of probes.
   */
  probe: 2 ** 22,
  probes: 3,
} as const;
