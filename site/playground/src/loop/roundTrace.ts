/** Observes the rounds of a loop on a device: after each decision of the scheduler, its state. */
import { type ControlWord, controlWords } from "belay-speculate/internal/loops/kernels/control";

/** One round: the iterations that it examined, and those that it executed for good. */
export interface Round {
  /** The plan by which the round was checked. */
  readonly plan: string;
  readonly examined: readonly number[];
  readonly executed: readonly number[];
}

/** A kernel that the loop was translated to. */
export interface TracedKernel {
  readonly name: string;
  readonly code: string;
}

/** The observations of one execution. */
export interface RoundTrace {
  readonly kernels: readonly TracedKernel[];
  /** Resolves to the rounds so far. */
  rounds(): Promise<readonly Round[]>;
}

const plans: Readonly<Record<string, string>> = {
  scheduleInPlace: "in place",
  scheduleProven: "proven",
  scheduleReserved: "by reservation",
  scheduleLogged: "logged",
  scheduleMultiVersion: "multi-version",
};

type State = Readonly<Record<ControlWord, number>>;

/** The state after a scheduler's decision, and the waiting iterations' distances from `base`. */
interface Decision {
  readonly scheduler: string;
  readonly state: State;
  readonly waiting: readonly number[];
}

/** The state with which the host starts a plan's rounds, or a decision whose words are copied. */
type Observation =
  | { readonly start: State }
  | { readonly scheduler: string; readonly copy: GPUBuffer; readonly controlBytes: number };

/**
 * Observes a device by properties of its own. After each dispatch of a scheduler, the control words
 * and the lists of waiting iterations are copied.
 */
export function traceRounds(device: GPUDevice): RoundTrace {
  const named = new Map<string, GPUBuffer>();
  const codes = new WeakMap<GPUShaderModule, string>();
  const kernels: TracedKernel[] = [];
  const observed: Observation[] = [];
  const { createBuffer, createShaderModule, createComputePipelineAsync, createCommandEncoder } =
    GPUDevice.prototype;
  const { writeBuffer } = GPUQueue.prototype;

  Object.assign(device, {
    createBuffer(descriptor: GPUBufferDescriptor) {
      const buffer = createBuffer.call(device, descriptor);
      if (descriptor.label) named.set(descriptor.label, buffer);
      return buffer;
    },
    createShaderModule(descriptor: GPUShaderModuleDescriptor) {
      const module = createShaderModule.call(device, descriptor);
      codes.set(module, descriptor.code);
      return module;
    },
    createComputePipelineAsync(descriptor: GPUComputePipelineDescriptor) {
      kernels.push({ name: descriptor.label!, code: codes.get(descriptor.compute.module)! });
      return createComputePipelineAsync.call(device, descriptor);
    },
    createCommandEncoder() {
      const encoder = createCommandEncoder.call(device);
      const { beginComputePass } = GPUCommandEncoder.prototype;
      return Object.assign(encoder, {
        beginComputePass: () => observedPass(encoder, () => beginComputePass.call(encoder), copyAfter),
      });
    },
  });
  Object.assign(device.queue, {
    writeBuffer(buffer: GPUBuffer, offset: number, data: Uint32Array<ArrayBuffer>, ...range: number[]) {
      if (buffer === named.get("control") && offset === 0) observed.push({ start: stateOf(data) });
      writeBuffer.call(device.queue, buffer, offset, data, ...range);
    },
  });

  function copyAfter(encoder: GPUCommandEncoder, scheduler: string): void {
    const [control, lists] = [named.get("control")!, named.get("lists")!];
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const copy = createBuffer.call(device, { size: control.size + lists.size, usage });
    encoder.copyBufferToBuffer(control, 0, copy, 0, control.size);
    encoder.copyBufferToBuffer(lists, 0, copy, control.size, lists.size);
    observed.push({ scheduler, copy, controlBytes: control.size });
  }

  return {
    kernels,
    async rounds() {
      const decisions = await Promise.all(
        observed.map(async (each): Promise<{ start: State } | Decision> => {
          if ("start" in each) return each;
          await each.copy.mapAsync(GPUMapMode.READ);
          const words = new Uint32Array(each.copy.getMappedRange().slice(0));
          each.copy.destroy();
          const state = stateOf(words);
          const lists = words.subarray(each.controlBytes / 4);
          const from = (state.list * lists.length) / listsPerBuffer;
          return {
            scheduler: each.scheduler,
            state,
            waiting: [...lists.subarray(from, from + state.listed)],
          };
        }),
      );
      return roundsOf(decisions);
    },
  };
}

/** Two lists of waiting iterations and one of held ones share a buffer. */
const listsPerBuffer = 3;

const stateOf = (words: Uint32Array): State =>
  Object.fromEntries(controlWords.map((word, place) => [word, words[place]!])) as Record<ControlWord, number>;

/** Returns a pass that begins anew after each dispatch of a scheduler. */
function observedPass(
  encoder: GPUCommandEncoder,
  begin: () => GPUComputePassEncoder,
  copyAfter: (encoder: GPUCommandEncoder, scheduler: string) => void,
): Pick<GPUComputePassEncoder, "setPipeline" | "setBindGroup" | "dispatchWorkgroups" | "end"> {
  let pass = begin();
  let kernel = "";
  return {
    setPipeline(pipeline) {
      kernel = pipeline.label;
      pass.setPipeline(pipeline);
    },
    setBindGroup(index: number, group: GPUBindGroup | null) {
      pass.setBindGroup(index, group);
    },
    dispatchWorkgroups(...grid) {
      pass.dispatchWorkgroups(...grid);
      if (!kernel.startsWith("schedule")) return;
      pass.end();
      copyAfter(encoder, kernel);
      pass = begin();
    },
    end() {
      pass.end();
    },
  };
}

/** Returns the rounds between states. A decision with no new round is one that does nothing. */
function roundsOf(decisions: readonly ({ readonly start: State } | Decision)[]): Round[] {
  const rounds: Round[] = [];
  let before: State | undefined;
  let waitingBefore: readonly number[] = [];
  for (const each of decisions) {
    if ("start" in each) {
      [before, waitingBefore] = [each.start, []];
      continue;
    }
    const { scheduler, state, waiting } = each;
    if (!before || state.rounds === before.rounds) continue;
    const base = before.base;
    // Some rounds continue iterations that wait from earlier ones.
    const fresh = range(base + before.fresh, base + before.fresh + before.slots - before.listed);
    const examined = [...waitingBefore.map((distance) => base + distance), ...fresh];
    const left = new Set(waiting.map((distance) => state.base + distance));
    const executed =
      scheduler === "scheduleReserved"
        ? examined.filter((one) => !left.has(one))
        : range(base, base + state.executing);
    if (examined.length > 0)
      rounds.push({ plan: plans[scheduler]!, examined: examined.toSorted((a, b) => a - b), executed });
    [before, waitingBefore] = [state, waiting];
  }
  return rounds;
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
