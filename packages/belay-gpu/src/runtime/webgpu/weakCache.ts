/** A node of the cache: the values for a list of objects, and the nodes for longer lists. */
interface Node<Value> {
  made: Map<string, Value> | undefined;
  next: WeakMap<object, Node<Value>> | undefined;
}

const newNode = <Value>(): Node<Value> => ({ made: undefined, next: undefined });

/**
 * A cache of values by a list of objects and a text. A value stays in it as long as all of these
 * objects live.
 */
export class WeakCache<Value extends object> {
  readonly #root = newNode<Value>();

  /**
   * Returns the value for these objects, in this order, and this text. Calls `make` if there is
   * none yet.
   */
  get(objects: readonly object[], text: string, make: () => Value): Value {
    let node = this.#root;
    for (const object of objects) {
      node.next ??= new WeakMap();
      let next = node.next.get(object);
      if (!next) {
        next = newNode();
        node.next.set(object, next);
      }
      node = next;
    }
    node.made ??= new Map();
    let made = node.made.get(text);
    if (!made) {
      made = make();
      node.made.set(text, made);
    }
    return made;
  }
}
