/**
 * The engine's tuning constants. Times are milliseconds, sizes are bytes, unless a name or a
 * comment says otherwise.
 *
 * Each was set while `belay bench speculation` ran its twelve loops on an H200;
 * docs/measurements.md has the results of all of them together. Where one constant was measured by
 * itself, its comment names the measurement. None decides what a loop computes.
 */

/** Where a call is executed; see `placement.ts`. */
export const placing = {
  /**
   * Time that the CPU needs on a loop until its code is compiled well; asking a device what it
   * costs takes as long.
   */
  warmUp: 5,
  /** Time of one operation on a CPU that has not been measured: about one cycle. */
  assumedOperation: 5e-7,
  /** Turns that an inner loop is assumed to take, where operations are counted in the text. */
  assumedTurns: 8,
  /**
   * Operations below which a GPU takes longer to be asked than a CPU to execute them. A byte moves
   * in the time of one.
   */
  smallLoop: 2 ** 22,
  /**
   * Kernels that are compiled for a loop without conflicts, and launches that it takes: its rounds,
   * and what it moves.
   */
  kernels: 4,
  launches: 4,
  /** The part of the GPU's time that may be spent on finding out that the CPU is slower. */
  trial: 1 / 4,
  /**
   * Times that a CPU below `warmUp` must promise to take longer than the GPU to be taken for
   * slower.
   */
  clearlySlower: 4,
  /**
   * Times an empty call that a GPU is assumed to take while nobody knows how many conflicts it
   * meets.
   */
  assumedConflicts: 2,
  /**
   * Times the GPU's last loss that the CPU works before the GPU gets another chance: its data may
   * have become easier.
   */
  retryAfterLoss: 16,
  /** The part of a head that the CPU still takes when the GPU was fast enough after it. */
  shorterHead: 7 / 8,
} as const;

/**
 * Calls that the CPU executes at once, as the one before; deciding takes ten times as long when
 * caches are cold.
 */
export const repeating = {
  /** Calls in a row; the next one is decided about, as its data may differ. */
  calls: 64,
  /**
   * Times the decided call that a repeated one may take, and time that a pause of the system may
   * add to any.
   */
  times: 2,
  pause: 0.5,
} as const;

/** When the CPU takes over from a GPU that executes a loop; see `handover.ts`. */
export const handingOver = {
  /** Time on the GPU that says something about the rest. */
  observed: 1,
  /** Times that the CPU must promise to be faster. */
  margin: 1.5,
  /**
   * Iterations looked at for each one executed, above which a CPU of unknown speed is worth a try.
   */
  waste: 16,
  /**
   * Times the cost of handing over that the CPU works for, so that this cost stays a small part.
   */
  turn: 4,
  /**
   * The same as `waste` and `observed` where no clock may decide: iterations for each one executed,
   * and iterations.
   */
  countedWaste: 64,
  countedObserved: 2 ** 16,
} as const;

/** What executions of a loop leave to later ones. */
export const remembering = {
  /**
   * Executions after which a loop begins as it did at first; twice as many each time that this was
   * in vain.
   */
  executions: 16,
  /** Executions with different numbers whose findings are kept. */
  findings: 8,
} as const;

/** The rounds of a loop on the GPU. */
export const rounds = {
  /** Iterations executed for each one committed, above which the log is the wrong plan. */
  logWaste: 4,
  /** Elements from which on one bit for each is faster than a word: fewer words are as near. */
  fewestBits: 2 ** 16,
  /** Iterations of the first window of a plan whose windows depend on how iterations do. */
  firstWindow: 2 ** 16,
  /** Most iterations with inner loops that are executed at once before their time is known. */
  longestUntried: 2 ** 20,
  /** Most and least time of a round: systems reset a GPU that does not answer for seconds. */
  longestTime: 200,
  shortestTime: 20,
  /**
   * Most rounds that are encoded at once: reading the result takes about as long as two of them.
   */
  mostEncoded: 32,
  /** Times the window of now that the windows of encoded rounds may be. */
  mostGrowth: 4,
  /**
   * Elements of an iteration that are logged where the loop does not say; grows when that turns out
   * to be too little.
   */
  assumedAccesses: 16,
  /**
   * Turns of inner loops that one iteration may take on the GPU; the CPU executes an iteration that
   * needs more.
   */
  fuel: 2 ** 14,
  /** Most bytes that the iterations of one window may take up together. */
  mostWindowBytes: 2 ** 27,
  /**
   * Invocations of a workgroup. Iterations that take long may be few: small workgroups spread them
   * over the device.
   */
  workgroup: 256,
  longWorkgroup: 64,
} as const;

/**
 * Slices of a loop on the CPU: iterations of the first one, too few to take long even where each
 * has inner loops.
 */
export const firstSlice = 4;

/** Memory that moves, measured by `research/src/scripts/transfers.ts`. */
export const moving = {
  /**
   * A staging buffer. JavaScript engines collect their garbage, which takes long, when more is
   * mapped at once.
   */
  chunk: 2 ** 23,
  /**
   * Staging buffers for uploads: the device empties some while one is filled. Making one takes as
   * long as filling it six times.
   */
  uploadChunks: 4,
  /** Below this size the queue's own `writeBuffer` is as fast. */
  smallUpload: 2 ** 16,
  /** Staging buffers for downloads that are kept; those of very long arrays are longer instead. */
  downloadChunks: 16,
  /** Buffers of each usage that are kept when nobody needs them. */
  mostFree: 24,
  /**
   * Size of the probe for the costs of a device: enough to see its time beside a launch; and how
   * often it is moved.
   */
  probe: 2 ** 22,
  probes: 3,
} as const;
