/** Makes all processes of tests rest while they wait for a device. */
export default function rest(): void {
  const module = new URL("restingPolls.mjs", import.meta.url).href;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import ${module}`.trim();
}
