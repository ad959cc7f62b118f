import { flags, makeSilently } from "./nativeObjects.ts";
import { isTexture, type Resource, textureLike } from "./resources.ts";

interface Declared {
  readonly usage: number;
  /** A resource of that usage only, made when the program needs to be told of its mistake. */
  twin?: Resource;
}

/**
 * Remembers with which usages the program made its resources; really they have more, so that Belay can copy them.
 * Where the program uses a resource as it must not, a twin of just the declared usage goes to the device instead, whose
 * validation then finds the mistake.
 */
export class DeclaredUsages {
  readonly #device: GPUDevice;
  readonly #declared = new WeakMap<Resource, Declared>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  declare(resource: Resource, usage: number): void {
    this.#declared.set(resource, { usage });
  }

  /** What to hand to a native method that copies from `resource`. */
  source<T extends Resource>(resource: T): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopySrc : flags.bufferCopySrc);
  }

  /** What to hand to a native method that copies into `resource`. */
  target<T extends Resource>(resource: T): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopyDst : flags.bufferCopyDst);
  }

  #checked<T extends Resource>(resource: T, usage: number): T {
    const declared = this.#declared.get(resource);
    if (!declared || (declared.usage & usage) !== 0) return resource;
    declared.twin ??= makeSilently(this.#device, () => this.#twin(resource, declared.usage)).made;
    return declared.twin as T;
  }

  #twin(resource: Resource, usage: number): Resource {
    const { label } = resource;
    return isTexture(resource)
      ? this.#device.createTexture({ label, ...textureLike(resource, usage) })
      : this.#device.createBuffer({ label, size: resource.size, usage });
  }
}
