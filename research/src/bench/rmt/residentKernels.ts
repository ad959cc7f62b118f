import type { Expression } from "belay-gpu/internal/wgsl/ast";
import { strideOf } from "belay-gpu/internal/wgsl/layout";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { quote } from "belay-gpu/internal/wgsl/quote";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { type AnyNode, mapChildren, walk } from "belay-gpu/internal/wgsl/traverse";

/**
 * How much of each buffer such a kernel touches: too much for what is private to a compute unit,
 * little for a GPU.
 */
const RESIDENT_BYTES = 2 ** 20;

/**
 * The kernel with the indices of its runtime-sized buffers wrapped around, so that they stay in the
 * last-level cache: what it computes is of no use, but the time it takes is what is left when
 * memory costs nothing.
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
 * The largest index, all of whose bits are ones, of the part of a runtime-sized buffer that stays.
 */
function maskOf(program: Program, base: Expression): number | undefined {
  const type = program.typeOf(base);
  if (type.kind !== "reference" || type.space !== "storage") return undefined;
  if (type.store.kind !== "array" || type.store.count !== "runtime") return undefined;
  return 2 ** Math.floor(Math.log2(RESIDENT_BYTES / strideOf(type.store))) - 1;
}

/** The same device, but the WGSL that it is given is rewritten. */
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
