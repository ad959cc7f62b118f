import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { CommandGuard } from "../memory/memoryProtection.ts";
import { MemoryState } from "../memory/memoryState.ts";
import type { BindGroups } from "../pipelines/bindGroups.ts";
import type { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { noting, Overlay } from "../webgpu/overlay.ts";
import type { Owners } from "../webgpu/owners.ts";
import { type AnyMethod, copyArguments, type ReplayStep } from "../webgpu/replayStep.ts";
import { endOf, type ResourceRange, type Textures } from "../webgpu/resources.ts";
import { type CommandRecord, UsedResources } from "./commandRecord.ts";
import type { Effect } from "./dispatchUse.ts";

type View = GPUTextureView | GPUTexture;
type PassStep = ReplayStep<GPURenderPassEncoder>;

/** The effect of a render pass. Its commands add the resources that they use. */
class PassEffect extends UsedResources implements Effect {
  readonly replaced: ResourceRange[] = [];
}

/** The recorded commands of a bundle. */
interface Bundle {
  readonly effect: PassEffect;
  readonly memory: MemoryState;
}

interface RenderPass {
  readonly record: CommandRecord;
  readonly effect: PassEffect;
  readonly steps: PassStep[];
}

/** The commands that use no resources of their own. */
const settings = [
  "setPipeline",
  "setViewport",
  "setScissorRect",
  "setBlendConstant",
  "setStencilReference",
  "setImmediates",
  "beginOcclusionQuery",
  "endOcclusionQuery",
  "draw",
  "drawIndexed",
  "pushDebugGroup",
  "popDebugGroup",
] as const;

/**
 * A command that reads a buffer, with the required usage and the positions of its arguments.
 * `bytes` is the number of bytes it reads if no argument tells.
 */
interface Reading {
  readonly usage: number;
  readonly bufferAt: number;
  readonly offsetAt: number;
  readonly bytes?: number;
}

const readings = {
  setVertexBuffer: { usage: flags.bufferVertex, bufferAt: 1, offsetAt: 2 },
  setIndexBuffer: { usage: flags.bufferIndex, bufferAt: 0, offsetAt: 2 },
  drawIndirect: { usage: flags.bufferIndirect, bufferAt: 0, offsetAt: 1, bytes: 16 },
  drawIndexedIndirect: { usage: flags.bufferIndirect, bufferAt: 0, offsetAt: 1, bytes: 20 },
} as const;
type Reader = keyof typeof readings;
const readers = Object.keys(readings) as Reader[];

/**
 * The render passes and bundles of a device, which run unprotected. Records the resources that they
 * use and the commands, to run them again.
 */
export class RenderPasses {
  readonly #owners: Owners;
  readonly #textures: Textures;
  readonly #usages: DeclaredUsages;
  readonly #bundles = new WeakMap<GPURenderBundle, Bundle>();
  readonly #passes: Overlay<GPURenderPassEncoder, RenderPass>;
  readonly #bundleEncoders: Overlay<GPURenderBundleEncoder, Bundle>;

  constructor({ owners, textures, usages }: RuntimeContext, memory: CommandGuard, bindGroups: BindGroups) {
    this.#owners = owners;
    this.#textures = textures;
    this.#usages = usages;
    const asDeclared = (name: string, given: unknown[]) => {
      const args = given.map((each) => owners.accept(each));
      if (name in readings) return argumentsFor(readings[name as Reader], args, usages);
      if (name !== "setBindGroup" || !args[1]) return args;
      const [index, group, ...offsets] = args;
      return [index, bindGroups.toSet(group as GPUBindGroup, offsets).group, ...offsets];
    };
    const bundles = this.#bundles;
    const recordUse = (state: MemoryState, args: readonly unknown[], effect: PassEffect) =>
      recordArguments(state, args, bindGroups, memory, effect);
    const followedNames = [...settings, ...readers, "setBindGroup"] as const;
    const passes = new Overlay<GPURenderPassEncoder, RenderPass>((native, passOf) => ({
      ...noting(native, [...followedNames, "end", "executeBundles"], (pass, name) =>
        passOf(pass).record.noteUnknown(name),
      ),
      ...followed(native, followedNames, asDeclared, (pass, name, args) => {
        const { record, effect, steps } = passOf(pass);
        const copies = copyArguments(args);
        steps.push((again) => (again[name] as AnyMethod)(...copies));
        recordUse(record.memory, args, effect);
      }),
      end() {
        native.end.call(this);
        const { record, effect, steps } = passOf(this);
        steps.push((again) => again.end());
        record.addEffect(effect);
        record.isInPass = false;
        passes.detach(this);
      },
      executeBundles(list) {
        const all = [...list].map((bundle) => owners.accept(bundle));
        native.executeBundles.call(this, all);
        const { record, effect, steps } = passOf(this);
        steps.push((again) => again.executeBundles(all));
        for (const bundle of all) {
          const inside = bundles.get(bundle);
          if (!inside) continue;
          effect.add(inside.effect);
          memory.recordRenderPass(record.memory, inside.memory.verifiedFirst, inside.effect.written);
        }
      },
    }));
    this.#passes = passes;
    this.#bundleEncoders = new Overlay<GPURenderBundleEncoder, Bundle>((native, bundleOf) => ({
      ...followed(native, ["setPipeline", ...readers, "setBindGroup"], asDeclared, (encoder, _, args) => {
        const { effect, memory } = bundleOf(encoder);
        recordUse(memory, args, effect);
      }),
      finish(descriptor) {
        const bundle = owners.own("renderBundle", native.finish.call(this, descriptor));
        bundles.set(bundle, bundleOf(this));
        return bundle;
      },
    }));
  }

  /**
   * Returns the descriptor of a pass, with invalid objects in place of those of other hardened
   * devices.
   */
  accept(descriptor: GPURenderPassDescriptor): GPURenderPassDescriptor {
    return this.#owners.acceptIn(
      descriptor,
      "colorAttachments.view",
      "colorAttachments.resolveTarget",
      "depthStencilAttachment.view",
      "occlusionQuerySet",
      "timestampWrites.querySet",
    );
  }

  follow(pass: GPURenderPassEncoder, descriptor: GPURenderPassDescriptor, record: CommandRecord): void {
    const steps: PassStep[] = [];
    const effect = new PassEffect();
    this.#passes.attach(pass, { record, effect, steps });
    record.shadowSync.clear();
    this.#recordAttachments(descriptor, record, effect);
    record.steps.push((again) => {
      const passAgain = again.beginRenderPass(this.#again(descriptor));
      for (const step of steps) step(passAgain);
    });
  }

  followBundle(encoder: GPURenderBundleEncoder): void {
    this.#bundleEncoders.attach(encoder, { effect: new PassEffect(), memory: new MemoryState() });
  }

  #recordAttachments(descriptor: GPURenderPassDescriptor, record: CommandRecord, effect: PassEffect): void {
    const { colorAttachments, depthStencilAttachment: depth, occlusionQuerySet } = descriptor;
    if (occlusionQuerySet) record.obstacle = "it counts samples in a query set";
    const attach = (view: View, treatmentsOf: (format: GPUTextureFormat) => readonly Treatment[]) => {
      const texture = this.#textures.textureOf(view);
      if (!texture) {
        record.obstacle = "it draws to a texture that the hardened device did not create";
        return;
      }
      const treatments = treatmentsOf(texture.format);
      const allAre = (treatment: Treatment) => treatments.every((each) => each === treatment);
      if (!allAre("reads")) effect.written.add(texture);
      if (!allAre("replaces")) effect.read.add(texture);
      else if (this.#textures.isWhole(view)) effect.replaced.push(texture);
    };
    for (const attachment of colorAttachments) {
      if (!attachment) continue;
      attach(attachment.view, () => [treatment(attachment.loadOp)]);
      if (attachment.resolveTarget) attach(attachment.resolveTarget, () => ["replaces"]);
    }
    if (depth) attach(depth.view, (format) => depthStencilTreatments(format, depth));
  }

  /**
   * Returns the descriptor to pass to the device. Its textures have the usage that the program
   * declared.
   */
  asDeclared(descriptor: GPURenderPassDescriptor): GPURenderPassDescriptor {
    return mapViews(descriptor, (view) =>
      this.#usages.usedView(view, this.#textures, flags.renderAttachment),
    );
  }

  /** Returns the descriptor of a pass that is executed again. */
  #again(descriptor: GPURenderPassDescriptor): GPURenderPassDescriptor {
    return mapViews(this.asDeclared(descriptor), (view) => this.#textures.viewForReplay(view));
  }
}

/** Returns the descriptor with other views. */
function mapViews(descriptor: GPURenderPassDescriptor, map: (view: View) => View): GPURenderPassDescriptor {
  const { depthStencilAttachment: depth } = descriptor;
  const colorAttachments = Array.from(
    descriptor.colorAttachments,
    (attachment) =>
      attachment && {
        ...attachment,
        view: map(attachment.view),
        ...(attachment.resolveTarget && { resolveTarget: map(attachment.resolveTarget) }),
      },
  );
  return {
    ...descriptor,
    colorAttachments,
    ...(depth && { depthStencilAttachment: { ...depth, view: map(depth.view) } }),
  };
}

/** The effect of a pass on the contents of one aspect of an attachment: depth, stencil or color. */
type Treatment = "replaces" | "changes" | "reads";

/**
 * Returns the effect of a load operation. The store operation does not matter, as discarded
 * contents are zero afterwards.
 */
function treatment(loadOp: GPULoadOp | undefined, isReadOnly: boolean | undefined = false): Treatment {
  if (isReadOnly) return "reads";
  return loadOp === "clear" ? "replaces" : "changes";
}

/** Returns the effect of a pass on each aspect of a depth-stencil attachment. */
function depthStencilTreatments(
  format: GPUTextureFormat,
  attachment: GPURenderPassDepthStencilAttachment,
): readonly Treatment[] {
  const { depthLoadOp, depthReadOnly, stencilLoadOp, stencilReadOnly } = attachment;
  return [
    ...(format.startsWith("depth") ? [treatment(depthLoadOp, depthReadOnly)] : []),
    ...(format.endsWith("stencil8") ? [treatment(stencilLoadOp, stencilReadOnly)] : []),
  ];
}

/**
 * Returns methods that call the native ones with arguments from `argumentsOf`, and then `record`.
 */
function followed<T extends object, K extends keyof T & string>(
  native: T,
  names: readonly K[],
  argumentsOf: (name: K, args: unknown[]) => unknown[],
  record: (object: T, name: K, args: readonly unknown[]) => void,
): { [Name in K]: T[Name] } {
  const methods = names.map((name) => {
    const method = native[name] as AnyMethod;
    const follow = function (this: T, ...given: unknown[]) {
      const args = argumentsOf(name, given);
      method.apply(this, args);
      record(this, name, args);
    };
    return [name, follow];
  });
  return Object.fromEntries(methods);
}

/**
 * Returns the arguments to pass to the device. The device's buffer may be larger, and have more
 * usages, than the program's.
 */
function argumentsFor(
  { usage, bufferAt, offsetAt, bytes }: Reading,
  args: readonly unknown[],
  usages: DeclaredUsages,
): unknown[] {
  const buffer = args[bufferAt];
  if (!isBuffer(buffer)) return [...args];
  const offset = Number(args[offsetAt] ?? 0);
  const asked = bytes ?? args[offsetAt + 1];
  const range = { buffer, offset, size: asked === undefined ? buffer.size - offset : Number(asked) };
  const used = usages.used(buffer, usage, endOf(range));
  const handed = args.with(bufferAt, used);
  const unit = args[1] === "uint16" ? 2 : 4;
  // A range without a size ends where the program's buffer does, not the device's.
  const isOpen = asked === undefined && used === buffer && usages.isVerified(buffer) && offset % unit === 0;
  if (!isOpen) return handed;
  while (handed.length < offsetAt) handed.push(undefined);
  return [...handed.slice(0, offsetAt), offset, range.size];
}

function isBuffer(value: unknown): value is GPUBuffer {
  return typeof value === "object" && value !== null && "mapState" in value;
}

/** Records the buffers and bind groups among a command's arguments. */
function recordArguments(
  state: MemoryState,
  args: readonly unknown[],
  bindGroups: BindGroups,
  memory: CommandGuard,
  effect: PassEffect,
): void {
  for (const each of args.slice(0, 2)) {
    if (typeof each !== "object" || each === null) continue;
    const access = bindGroups.accessOf(each as GPUBindGroup);
    if (access) {
      effect.add(access);
      memory.recordRenderPass(state, access.read, access.written);
    } else if (isBuffer(each)) {
      effect.read.add(each);
      memory.recordRenderPass(state, [each], []);
    }
  }
}
