/**
 * `belay-node`: WebGPU in Node.js, where no browser brings it. In a browser, `navigator.gpu` is all
 * that is needed.
 */
export {
  type AdapterAttempt,
  type AdapterChoice,
  type AdapterKind,
  NoAdapterError,
  type OpenedGpu,
  type OpenGpuOptions,
  openGpu,
} from "./adapter.ts";
