/** Bind groups that belong to `objects`, by the rest of what they were made from. */
interface Node {
  readonly made: Map<string, GPUBindGroup>;
  readonly next: WeakMap<object, Node>;
}

const newNode = (): Node => ({ made: new Map(), next: new WeakMap() });

/**
 * Keeps bind groups to be used again, each as long as all the objects live that it was made for.
 */
export class BindGroupCache {
  readonly #root = newNode();

  /**
   * The bind group for these objects, in this order, and these numbers; made when there is none
   * yet.
   */
  get(objects: readonly object[], numbers: readonly number[], make: () => GPUBindGroup): GPUBindGroup {
    let node = this.#root;
    for (const object of objects) {
      const next = node.next.get(object) ?? newNode();
      node.next.set(object, next);
      node = next;
    }
    const key = numbers.join();
    const made = node.made.get(key) ?? make();
    node.made.set(key, made);
    return made;
  }
}
