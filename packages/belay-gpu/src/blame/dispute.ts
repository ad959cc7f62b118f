/** Reads disputed dispatches, and refuses those that nobody can be blamed for. */
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { bytesOfVariables } from "../compiler/workgroups.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { listOf, refuseUnknown, type Values, wholeFrom } from "../diagnostics/options.ts";
import { featuresOf } from "../qualify/examine.ts";
import type { Dispute } from "../qualify/qualification.ts";
import { type Trial, trialsOf } from "../qualify/trials.ts";
import { RaceDetector } from "../reference/races.ts";
import {
  type ReferenceKernel,
  type ResolvedKernel,
  referenceOf,
  resolveKernel,
  whyUnsupported,
} from "../reference/referenceKernel.ts";
import { sizeOf } from "../wgsl/layout.ts";

const aText: Values = { what: "a text", has: (value) => typeof value === "string" };
const numbersByName: Values = {
  what: "an object of numbers",
  has: (value) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "number"),
};
const threeSizes: Values = {
  what: "a list of three whole numbers from 1 on",
  has: (value) => Array.isArray(value) && value.length === 3 && value.every(wholeFrom(1).has),
};
const isWord = (value: unknown) => wholeFrom(0).has(value) && Number(value) < 2 ** 32;

/**
 * Reads a dispatch from JSON. Throws a `TypeError` that names what is wrong with its form. Its
 * kernel is not looked at.
 */
export function disputeFrom(text: string): Dispute {
  let value: Dispute;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`the dispute is no JSON: ${messageOf(error)}`);
  }
  refuseUnknown<Dispute>(
    value,
    {
      source: aText,
      entryPoint: aText,
      constants: numbersByName,
      workgroups: threeSizes,
      buffers: { what: "a list of buffers", has: Array.isArray },
    },
    " of the dispute",
    ["source", "workgroups", "buffers"],
  );
  for (const buffer of value.buffers)
    refuseUnknown(
      buffer,
      { group: wholeFrom(0), binding: wholeFrom(0), words: listOf("whole numbers below 2^32", isWord) },
      " of a buffer of the dispute",
      ["group", "binding", "words"],
    );
  const places = value.buffers.map(({ group, binding }) => `binding ${binding} of group ${group}`);
  const twice = places.find((place, i) => places.indexOf(place) < i);
  if (twice !== undefined) throw new TypeError(`the dispute has two buffers for ${twice}`);
  return value;
}

/**
 * Throws a `TypeError` for a dispatch that says nothing about a device. Its kernel has an error or
 * a construct that the executor lacks, or the device need not accept the dispatch.
 */
export function refuseUnusable(dispute: Dispute, device: Accepting): void {
  const kernel = resolveKernel(dispute);
  racingReferenceOf(dispute, kernel);
  const obstacle = obstacleOn(device, kernel, trialOf(dispute, kernel));
  if (obstacle !== undefined) throw new TypeError(obstacle);
}

/** The part of a device that decides which dispatches it accepts. */
type Accepting = Pick<GPUDevice, "limits" | "features">;

/** Returns the feature or limit for which a device need not accept a dispatch, if there is one. */
export function obstacleOn(
  { features, limits }: Accepting,
  kernel: ResolvedKernel,
  trial: Trial,
): string | undefined {
  const missing = featuresOf(kernel).find((feature) => !features.has(feature));
  if (missing !== undefined) return `the device does not have the feature ${missing}`;
  for (const [limit, needed] of demandsOf(kernel, trial)) {
    const most = limits[limit];
    if (most !== undefined && needed > most)
      return `the dispatch needs ${needed} where the device allows ${most} (${limit})`;
  }
  return undefined;
}

/** Yields what a dispatch needs of each limit that WebGPU checks for it. */
function* demandsOf(
  kernel: ResolvedKernel,
  { workgroups, buffers }: Trial,
): Generator<readonly [Exclude<keyof GPUSupportedLimits, "__brand">, number]> {
  const [x, y, z] = kernel.size as [number, number, number];
  yield ["maxComputeWorkgroupsPerDimension", Math.max(...workgroups)];
  yield ["maxComputeWorkgroupSizeX", x];
  yield ["maxComputeWorkgroupSizeY", y];
  yield ["maxComputeWorkgroupSizeZ", z];
  yield ["maxComputeInvocationsPerWorkgroup", x * y * z];
  const { program, declaration } = kernel;
  const variables = variablesOf(program, reachableFrom(program, [declaration]));
  const bytes = bytesOfVariables({ program, variables }, (_, type) => sizeOf(type));
  yield ["maxComputeWorkgroupStorageSize", bytes ?? 0];
  for (const { group, binding, usage, bytes } of buffers) {
    yield ["maxBindGroups", group + 1];
    yield ["maxBindingsPerBindGroup", binding + 1];
    yield ["maxBufferSize", bytes.length];
    yield [usage === "uniform" ? "maxUniformBufferBindingSize" : "maxStorageBufferBindingSize", bytes.length];
  }
  const countOf = (kind: string) => buffers.filter(({ usage }) => usage === kind).length;
  yield ["maxUniformBuffersPerShaderStage", countOf("uniform")];
  yield ["maxStorageBuffersPerShaderStage", countOf("storage")];
}

/** Returns the executor of a dispatch that detects races. Throws a `TypeError` as `blame` does. */
export function racingReferenceOf({ source }: Dispute, kernel: ResolvedKernel): ReferenceKernel {
  const reference = referenceOf(kernel, { races: new RaceDetector() });
  if (!("construct" in reference)) return reference;
  throw new TypeError(whyUnsupported(source, reference));
}

/** Returns a dispatch with buffers of the device, for a kernel that may have lost bindings. */
export function trialOf({ source, workgroups, buffers }: Dispute, kernel: ResolvedKernel): Trial {
  const given = buffers.map(({ group, binding, words }) => ({
    group,
    binding,
    data: Uint32Array.from(words),
  }));
  const [trial] = trialsOf({ source, workgroups, buffers: given }, kernel, 32);
  if (!trial) throw new TypeError("a buffer of the kernel is too large to be made");
  return trial;
}
