/** `belay-node`: WebGPU in Node.js. Browsers have it in `navigator.gpu`. */
export {
  type AdapterAttempt,
  type AdapterChoice,
  type AdapterKind,
  NoAdapterError,
  type OpenedGpu,
  type OpenGpuOptions,
  openGpu,
} from "./adapter.ts";
