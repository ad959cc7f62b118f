/** Compute nodes of three.js, which does not know Belay. */
import { dispatchesPerRun, type UsedProgram } from "./program.ts";

/** A node of the library's shading language: an expression or a statement. */
interface Node {
  readonly value: unknown;
  element(index: Node): Node;
  assign(value: Node): void;
  add(value: Node): Node;
  mul(value: Node | number): Node;
  abs(): Node;
  greaterThan(value: number): Node;
  negate(): Node;
  select(ifTrue: Node, ifFalse: Node): Node;
  toFloat(): Node;
  compute(count: number): object;
}
/** The parts of the library that are used. The library has no types. */
interface Library {
  readonly WebGPURenderer: new (options: {
    readonly device: GPUDevice;
    readonly canvas: object;
  }) => {
    init(): Promise<void>;
    compute(node: object): void;
    getArrayBufferAsync(value: unknown): Promise<ArrayBuffer>;
  };
}
interface ShadingLanguage {
  Fn(body: () => void): () => Node;
  instancedArray(count: number, type: string): Node;
  uniform(value: number): Node;
  readonly instanceIndex: Node;
}

/** The library and its shading language. */
export type Three = Library & ShadingLanguage;

/** The number of results that are read. */
const READ = 16;

/**
 * Returns a program that moves particles with `numbers` numbers in each of two buffers. A page
 * hands in the `loaded` library.
 */
export function threePrograms(numbers: number, loaded?: Three): UsedProgram[] {
  return [
    {
      name: "bouncing",
      source: "three.js",
      prepare: async (device) => {
        const { WebGPURenderer, Fn, instancedArray, uniform, instanceIndex } = loaded ?? requireLibrary();
        const renderer = new WebGPURenderer({ device, canvas: noCanvas });
        await renderer.init();
        const [positions, speeds] = [instancedArray(numbers, "float"), instancedArray(numbers, "float")];
        const results = instancedArray(READ, "float");
        const seconds = uniform(0.01);
        const here = (array: Node) => array.element(instanceIndex);
        const start = Fn(() => {
          here(positions).assign(instanceIndex.toFloat().mul(1 / numbers));
          here(speeds).assign(instanceIndex.toFloat().mul(-2 / numbers));
        })().compute(numbers);
        const step = Fn(() => {
          here(positions).assign(here(positions).add(here(speeds).mul(seconds)));
          const isOutside = here(positions).abs().greaterThan(1);
          here(speeds).assign(isOutside.select(here(speeds).negate(), here(speeds)));
        })().compute(numbers);
        const take = Fn(() => here(results).assign(here(positions)))().compute(READ);
        return {
          run: async () => {
            renderer.compute(start);
            for (let i = 0; i < dispatchesPerRun; i++) renderer.compute(step);
            renderer.compute(take);
            return new Float32Array(await renderer.getArrayBufferAsync(results.value));
          },
        };
      },
    },
  ];
}

/** The canvas that the renderer requires. Nothing is drawn. */
const noCanvas = {
  width: 1,
  height: 1,
  style: {},
  setAttribute: () => {},
  addEventListener: () => {},
  removeEventListener: () => {},
  getContext: () => ({ configure: () => {}, unconfigure: () => {} }),
};

function requireLibrary(): Three {
  // Bundlers for pages find no import of Node.js here.
  const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  // The library needs this global, which browsers have. No frame is ever drawn.
  const self = { requestAnimationFrame: () => 0, cancelAnimationFrame: () => {} };
  if (!("self" in globalThis)) Object.defineProperty(globalThis, "self", { value: self });
  const library: Library = require("three/webgpu");
  const language: ShadingLanguage = require("three/tsl");
  return { ...library, ...language };
}
