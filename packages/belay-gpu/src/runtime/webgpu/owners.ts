import { dataOf, dataOn } from "./attachedData.ts";
import { isIterable, makeSilently } from "./nativeObjects.ts";

/**
 * Creates an object of each class that the device finds invalid. Each rejected creation has an
 * error, which the caller hides.
 */
const invalid = {
  buffer: (device: GPUDevice, label: string): GPUBuffer => device.createBuffer({ label, size: 4, usage: 0 }),
  texture: (device: GPUDevice, label: string): GPUTexture =>
    device.createTexture({ label, size: [1], format: "rgba8unorm", usage: 0 }),
  textureView: (device: GPUDevice, label: string): GPUTextureView =>
    invalid.texture(device, label).createView({ label }),
  sampler: (device: GPUDevice, label: string): GPUSampler => device.createSampler({ label, lodMinClamp: -1 }),
  querySet: (device: GPUDevice, label: string): GPUQuerySet =>
    device.createQuerySet({ label, type: "occlusion", count: 2 ** 31 }),
  bindGroupLayout: (device: GPUDevice, label: string): GPUBindGroupLayout => {
    const twice = { binding: 0, visibility: 0, sampler: {} };
    return device.createBindGroupLayout({ label, entries: [twice, twice] });
  },
  bindGroup: (device: GPUDevice, label: string): GPUBindGroup =>
    device.createBindGroup({ label, layout: invalid.bindGroupLayout(device, label), entries: [] }),
  pipelineLayout: (device: GPUDevice, label: string): GPUPipelineLayout =>
    device.createPipelineLayout({ label, bindGroupLayouts: [invalid.bindGroupLayout(device, label)] }),
  shaderModule: (device: GPUDevice, label: string): GPUShaderModule =>
    device.createShaderModule({ label, code: "invalid" }),
  computePipeline: (device: GPUDevice, label: string): GPUComputePipeline => {
    const compute = { module: invalid.shaderModule(device, label) };
    return device.createComputePipeline({ label, layout: "auto", compute });
  },
  renderPipeline: (device: GPUDevice, label: string): GPURenderPipeline => {
    const vertex = { module: invalid.shaderModule(device, label) };
    return device.createRenderPipeline({ label, layout: "auto", vertex });
  },
  renderBundle: (device: GPUDevice, label: string): GPURenderBundle =>
    device.createRenderBundleEncoder({ label, colorFormats: [] }).finish({ label }),
  commandBuffer: (device: GPUDevice, label: string): GPUCommandBuffer => {
    const encoder = device.createCommandEncoder({ label });
    encoder.pushDebugGroup("open");
    return encoder.finish({ label });
  },
};

type Kind = keyof typeof invalid;

/** Tells which hardened device made an object. */
class Ownership {
  readonly by: Owners;
  readonly kind: Kind;

  constructor(by: Owners, kind: Kind) {
    this.by = by;
    this.kind = kind;
  }
}

/** The native devices of which several hardened devices were made. */
const shared = new WeakSet<GPUDevice>();
const hardened = new WeakSet<GPUDevice>();
/** True once a native device is shared. Most programs harden each device once. */
let isAnyShared = false;

/**
 * The objects of one hardened device. Several hardened devices can be made of one native device,
 * which accepts the objects of all of them. But each hardened device verifies only its own work. So
 * the device gets an invalid object in place of an object of another hardened device. It then
 * reports an error, as it does for objects of other devices.
 *
 * Objects that no hardened device made are accepted. The native device checks those of other native
 * devices.
 */
export class Owners {
  readonly #device: GPUDevice;
  readonly #ownerships: Readonly<Record<Kind, Ownership>>;
  readonly #standIns = new WeakMap<object, GPUObjectBase>();
  /** The invalid objects. Most devices need none. */
  #invalid: WeakSet<object> | undefined = undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    if (hardened.has(device)) {
      shared.add(device);
      isAnyShared = true;
    }
    hardened.add(device);
    const kinds = Object.keys(invalid) as Kind[];
    this.#ownerships = Object.fromEntries(kinds.map((kind) => [kind, new Ownership(this, kind)])) as never;
  }

  /** Records that the hardened device made an object, and returns the object. */
  own<T extends GPUObjectBase>(kind: Kind, made: T): T {
    dataOn(made).ownership = this.#ownerships[kind];
    return made;
  }

  /** Returns whether the hardened device made an object. */
  owns(object: object): boolean {
    const ownership = dataOf(object)?.ownership;
    return ownership instanceof Ownership && ownership.by === this;
  }

  /** Returns the object, or an invalid one in place of an object of another hardened device. */
  accept<T>(given: T): T {
    if (!isAnyShared || !shared.has(this.#device) || typeof given !== "object" || given === null)
      return given;
    const owner = dataOf(given)?.ownership;
    if (!(owner instanceof Ownership) || owner.by === this || owner.by.#device !== this.#device) return given;
    const known = this.#standIns.get(given);
    if (known) return known as T;
    const { label } = given as unknown as GPUObjectBase;
    const said = `${label || owner.kind}, which is associated with another device`;
    const { made } = makeSilently(this.#device, () => invalid[owner.kind](this.#device, said));
    this.#standIns.set(given, made);
    this.#invalid ??= new WeakSet();
    this.#invalid.add(made);
    return made as unknown as T;
  }

  /** Returns a list of objects, each accepted. */
  acceptAll<T>(given: Iterable<T>): T[] {
    return isAnyShared ? Array.from(given, (each) => this.accept(each)) : [...given];
  }

  /** True if there are invalid objects in place of others. */
  get hasInvalid(): boolean {
    return this.#invalid !== undefined;
  }

  /** Returns whether an object is an invalid one in place of another. */
  isInvalid(object: object): boolean {
    return this.#invalid?.has(object) ?? false;
  }

  /**
   * Returns a descriptor with accepted objects at these paths, such as `"entries.resource"`. A path
   * leads through all items of a list.
   */
  acceptIn<T>(descriptor: T, ...paths: readonly string[]): T {
    if (!shared.has(this.#device)) return descriptor;
    return paths.reduce((accepted, path) => this.#acceptAt(accepted, path.split(".")) as T, descriptor);
  }

  #acceptAt(value: unknown, path: readonly string[]): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (isIterable(value)) return [...value].map((each) => this.#acceptAt(each, path));
    const [name, ...rest] = path;
    if (name === undefined) return this.accept(value);
    const member: unknown = Reflect.get(value, name);
    const accepted = this.#acceptAt(member, rest);
    return accepted === member ? value : { ...value, [name]: accepted };
  }
}
