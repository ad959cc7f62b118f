/**
 * Canvases and hardened devices. A canvas accepts only a native device, and shows its textures
 * without waiting for verification. So this file changes the prototype of canvas contexts, the only
 * global object that Belay changes.
 */
import type { Textures } from "../webgpu/resources.ts";

interface Shown {
  readonly native: GPUDevice;
  readonly textures: Textures;
}

const devices = new WeakMap<GPUDevice, Shown>();
/** The hardened device with which each context is configured. */
const configured = new WeakMap<GPUCanvasContext, GPUDevice>();
const changed = new WeakSet<object>();

/** Lets the program pass a hardened device to `GPUCanvasContext.configure`. */
export function showOnCanvases(hardened: GPUDevice, native: GPUDevice, textures: Textures): void {
  devices.set(hardened, { native, textures });
  const context: { prototype: GPUCanvasContext } | undefined = Reflect.get(globalThis, "GPUCanvasContext");
  if (context && !changed.has(context.prototype)) {
    changed.add(context.prototype);
    acceptHardenedDevices(context.prototype);
  }
}

function acceptHardenedDevices(prototype: GPUCanvasContext): void {
  const { configure, unconfigure, getConfiguration, getCurrentTexture } = prototype;
  const members: Partial<GPUCanvasContext> & ThisType<GPUCanvasContext> = {
    configure(configuration) {
      const shown = devices.get(configuration?.device);
      configure.call(this, shown ? { ...configuration, device: shown.native } : configuration);
      if (shown) configured.set(this, configuration.device);
      else configured.delete(this);
    },
    unconfigure() {
      configured.delete(this);
      unconfigure.call(this);
    },
    getConfiguration() {
      const configuration = getConfiguration.call(this);
      const device = configured.get(this);
      return configuration && device ? { ...configuration, device } : configuration;
    },
    getCurrentTexture() {
      const texture = getCurrentTexture.call(this);
      const device = configured.get(this);
      if (device) devices.get(device)?.textures.show(texture);
      return texture;
    },
  };
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}
