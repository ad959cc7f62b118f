import { injectionWords, type Protect, recordCause, reportWords } from "belay-gpu/internal/compiler/contract";

/**
 * Protects a module in place of the compiler, without a front end. It adds a report buffer and a
 * call at the start of each entry point. The first parameter of each entry point must be
 * `@builtin(global_invocation_id) id: vec3u`. An armed fault in invocation `localIndex` makes the
 * kernel report a disagreement between 1 and 2 at the entry point.
 */
export const standInProtect: Protect = (wgsl, options = {}) => {
  const variables = [...wgsl.matchAll(/@group\((\d+)\) *@binding\((\d+)\) var(?:<([^>]*)>)? (\w+)/g)];
  const bindings = variables.map(([, group, binding, space, name]) => ({
    group: Number(group),
    binding: Number(binding),
    kind: space === "uniform" ? ("uniform" as const) : space ? ("storage" as const) : ("other" as const),
    access: "read_write" as const,
    name: name!,
  }));
  const firstFree = Math.max(-1, ...bindings.map((point) => point.group)) + 1;
  const { group, binding } = options.reportBinding ?? { group: Math.min(firstFree, 3), binding: 7 };
  const entries = [...wgsl.matchAll(/@compute[^{]*?fn\s+(\w+)\s*\([^{]*\{/g)];
  /** Returns the bindings whose names occur from an entry point up to the next one. */
  const bindingsOf = (index: number) => {
    const text = wgsl.slice(entries[index]!.index, entries[index + 1]?.index);
    return bindings.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(text));
  };
  const unprotected = {
    code: wgsl,
    renamed: {},
    layout: null,
    checks: [],
    faultSites: [],
    entryPoints: entries.map((entry, i) => ({
      name: entry[1]!,
      redundancy: "none" as const,
      checks: [],
      usesReport: false,
      bindings: bindingsOf(i),
    })),
  };
  if (wgsl.includes("UNPROTECTABLE")) {
    const start = Math.max(wgsl.indexOf("UNPROTECTABLE"), 0);
    const span = { start, end: start + 1 };
    const severity = options.strict ? ("error" as const) : ("warning" as const);
    const diagnostic = { code: "BELAY299", severity, message: "this kernel stays alone", span, notes: [] };
    return { ...unprotected, diagnostics: [diagnostic] };
  }
  const { detections, records, recordStride, total } = reportWords;
  const { strikes, armedSite, armedLocalIndex } = injectionWords;
  const prelude = `
@group(${group}) @binding(${binding}) var<storage, read_write> belay_report: array<atomic<u32>, ${total}>;
fn belay_enter(site: u32, index: u32) {
  if (atomicLoad(&belay_report[${armedSite}]) != site || atomicLoad(&belay_report[${armedLocalIndex}]) != index) { return; }
  atomicAdd(&belay_report[${strikes}], 1u);
  for (var replica = 0u; replica < 2u; replica++) {
    let start = ${records}u + atomicAdd(&belay_report[${detections}], 1u) * ${recordStride}u;
    if (start >= ${total}u) { return; }
    atomicStore(&belay_report[start], site);
    atomicStore(&belay_report[start + 4u], index);
    atomicStore(&belay_report[start + 5u], replica);
    atomicStore(&belay_report[start + 6u], ${recordCause.mismatch}u);
    atomicStore(&belay_report[start + 8u], replica + 1u);
  }
}
`;
  let id = 0;
  const code = wgsl.replaceAll(
    /@compute[^{]*?fn\s+\w+\s*\([^{]*\{/g,
    (head) => `${head} belay_enter(${++id}u, id.x);`,
  );
  return {
    code: code + prelude,
    diagnostics: [],
    renamed: {},
    layout: { group, binding, bytes: 4 * total, cells: 0 },
    entryPoints: entries.map((entry, i) => ({
      name: entry[1]!,
      redundancy: "intra+lds",
      checks: [i + 1],
      usesReport: true,
      bindings: bindingsOf(i),
    })),
    checks: entries.map((entry, i) => {
      const span = { start: entry.index, end: entry.index + entry[0].length };
      return {
        id: i + 1,
        kind: "store",
        functionName: "main",
        span,
        name: entry[1]!,
        scalar: "u32",
        components: 1,
      };
    }),
    faultSites: entries.map((entry, i) => {
      const span = { start: entry.index, end: entry.index + entry[0].length };
      return { id: i + 1, kind: "value", uniform: false, span, functionName: entry[1]!, components: 1 };
    }),
  };
};

/** Works like `standInProtect`, with a fault that occurs again in each re-execution. */
export const stuckProtect: Protect = (wgsl, options) => {
  const result = standInProtect(wgsl, options);
  const code = result.code.replace(/if \(atomicLoad[^{]*\{ return; \}/, "if (index != 2) { return; }");
  return { ...result, code };
};
