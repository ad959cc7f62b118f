import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";

/**
 * Returns the size of a kernel's workgroups in each dimension; undefined where an override decides.
 */
export function workgroupSize(program: Program, kernel: FunctionDeclaration): (number | undefined)[] {
  const sizes = kernel.attributes.find(({ name }) => name === "workgroup_size")?.args ?? [];
  return [0, 1, 2].map((dimension) => {
    const size = sizes[dimension];
    if (!size) return 1;
    const constant = program.constantOf(size);
    return constant && "value" in constant ? Number(constant.value) : undefined;
  });
}

/** Returns the size of a kernel's workgroups, or undefined if an override decides one dimension. */
export function knownWorkgroupSize(
  program: Program,
  kernel: FunctionDeclaration,
): readonly number[] | undefined {
  const sizes = workgroupSize(program, kernel);
  return sizes.every((size) => size !== undefined) ? sizes : undefined;
}
