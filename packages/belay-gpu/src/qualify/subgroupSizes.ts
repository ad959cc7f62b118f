/** Returns the sizes that subgroups of a device may have. */
export function subgroupSizes({ adapterInfo }: GPUDevice): number[] {
  const least = adapterInfo?.subgroupMinSize || 4;
  const most = adapterInfo?.subgroupMaxSize || 128;
  const sizes: number[] = [];
  for (let size = least; size <= most; size *= 2) sizes.push(size);
  return sizes;
}
