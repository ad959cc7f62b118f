/**
 * A node of the cache: the bind groups for a list of objects, by their numbers, and the nodes for
 * longer lists.
 */
interface Node {
  readonly made: Map<string, GPUBindGroup>;
  readonly next: WeakMap<object, Node>;
}

const newNode = (): Node => ({ made: new Map(), next: new WeakMap() });

/**
 * A cache of bind groups. A bind group stays in it as long as all objects live that it was created
 * for.
 */
export class BindGroupCache {
  readonly #root = newNode();

  /**
   * Returns the bind group for these objects, in this order, and these numbers. Calls `make` if
   * there is none yet.
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
