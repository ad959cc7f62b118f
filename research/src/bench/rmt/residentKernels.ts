import type { Expression } from "belay-gpu/internal/wgsl/ast";
import { strideOf } from "belay-gpu/internal/wgsl/layout";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { quote } from "belay-gpu/internal/wgsl/quote";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { type AnyNode, mapChildren, walk } from "belay-gpu/internal/wgsl/traverse";

/**
 * The bytes of each buffer that such a kernel touches: too much for the private memory of a compute
 * unit, little for a GPU.
 */
const RESIDENT_BYTES = 2 ** 20;

/**
 * Returns the kernel with wrapped indices of its runtime-sized buffers, so that they stay in the
 * last-level cache. Its results are useless, but its time is the rest when memory costs nothing.
 */
export function residentKernel(wgsl: string): string {
  const program = resolve(parse(wgsl).module);
  const masks = new Map<AnyNode, number>();
  walk(program.module, (node) => {
    const mask = node.kind === "index" ? maskOf(program, node.base) : undefined;
    if (mask !== undefined) masks.set(node, mask);
  });
  const fold = (node: AnyNode): AnyNode => {
    const mapped = mapChildren(node, fold);
    const mask = masks.get(node);
    if (mask === undefined || mapped.kind !== "index") return mapped;
    return { ...mapped, index: quote(node.span).expression`(${mapped.index}) & ${mask}` };
  };
  return print(mapChildren(program.module, fold));
}

/**
 * Returns the largest index of the part of a runtime-sized buffer that stays; all its bits are
 * ones.
 */
function maskOf(program: Program, base: Expression): number | undefined {
  const type = program.typeOf(base);
  if (type.kind !== "reference" || type.space !== "storage") return undefined;
  if (type.store.kind !== "array" || type.store.count !== "runtime") return undefined;
  return 2 ** Math.floor(Math.log2(RESIDENT_BYTES / strideOf(type.store))) - 1;
}

/** Returns the same device, which rewrites the WGSL that it gets. */
export function withKernels(device: GPUDevice, rewrite: (wgsl: string) => string): GPUDevice {
  return new Proxy(device, {
    get(target, name) {
      if (name === "createShaderModule") {
        return (descriptor: GPUShaderModuleDescriptor) =>
          target.createShaderModule({ ...descriptor, code: rewrite(descriptor.code) });
      }
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
