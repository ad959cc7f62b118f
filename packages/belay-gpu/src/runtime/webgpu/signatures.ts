/**
 * The types of the arguments of those WebGPU methods that Belay overlays. Their arguments are
 * converted here once, before any other code of Belay reads them.
 * Source: WebGPU, interface definitions.
 */
import {
  asGiven,
  boolean,
  bufferSource,
  type Conversion,
  dictionary,
  isAbsent,
  isObject,
  isUint32Array,
  listOr,
  long,
  nullable,
  optional,
  record,
  rejected,
  sequence,
  string,
  toNumber,
  unsignedLong,
  unsignedLongLong,
} from "./conversions.ts";

/** Converts arguments in place. Returns false if the device rejects them with a `TypeError`. */
export type ArgumentConversion = (args: unknown[]) => boolean;

const takes =
  (...conversions: readonly Conversion[]): ArgumentConversion =>
  (args) => {
    for (let i = 0; i < conversions.length; i++) {
      const given = args[i];
      const converted = conversions[i]!(given);
      if (converted === rejected) return false;
      if (converted !== given) args[i] = converted;
    }
    return true;
  };

/** Returns whether a value needs no conversion to a count. Programs pass many of these. */
const isCount = (given: unknown): boolean => typeof given === "number" && given >>> 0 === given;

const offset = optional(unsignedLongLong);
const count = optional(unsignedLong);
const label = { label: string };

const extent = listOr(
  unsignedLong,
  dictionary({ width: unsignedLong, height: unsignedLong, depthOrArrayLayers: unsignedLong }, ["width"]),
);
const origin = listOr(unsignedLong, dictionary({ x: unsignedLong, y: unsignedLong, z: unsignedLong }));
const color = listOr(
  toNumber,
  dictionary({ r: toNumber, g: toNumber, b: toNumber, a: toNumber }, ["r", "g", "b", "a"]),
);

const texelLayout = {
  offset: unsignedLongLong,
  bytesPerRow: unsignedLong,
  rowsPerImage: unsignedLong,
};
const texelBuffer = dictionary({ ...texelLayout, buffer: asGiven }, ["buffer"]);
const textureInfo = { texture: asGiven, mipLevel: unsignedLong, origin, aspect: string };
const texelTexture = dictionary(textureInfo, ["texture"]);

const timestampWrites = dictionary(
  { querySet: asGiven, beginningOfPassWriteIndex: unsignedLong, endOfPassWriteIndex: unsignedLong },
  ["querySet"],
);

const bufferBinding = dictionary({ buffer: asGiven, offset: unsignedLongLong, size: unsignedLongLong }, [
  "buffer",
]);
const bindGroupEntry = dictionary(
  {
    binding: unsignedLong,
    resource: (given) => (isObject(given) && "buffer" in given ? bufferBinding(given) : given),
  },
  ["binding", "resource"],
);
const bindGroupLayoutEntry = dictionary(
  {
    binding: unsignedLong,
    visibility: unsignedLong,
    buffer: dictionary({ type: string, hasDynamicOffset: boolean, minBindingSize: unsignedLongLong }),
    sampler: dictionary({ type: string }),
    texture: dictionary({ sampleType: string, viewDimension: string, multisampled: boolean }),
    storageTexture: dictionary({ access: string, format: string, viewDimension: string }),
    externalTexture: asGiven,
  },
  ["binding", "visibility"],
);

/** The layout of a pipeline is an object, or else `"auto"`. */
const layout: Conversion = (given) => (isObject(given) && "label" in given ? given : string(given));
const stage = { module: asGiven, entryPoint: string, constants: record(toNumber) };
const computePipeline = takes(
  dictionary({ ...label, layout, compute: dictionary(stage, ["module"]) }, ["layout", "compute"]),
);
const renderPipeline = takes(
  dictionary(
    {
      ...label,
      layout,
      vertex: dictionary({ ...stage, buffers: asGiven }, ["module"]),
      primitive: asGiven,
      depthStencil: asGiven,
      multisample: asGiven,
      fragment: dictionary({ ...stage, targets: asGiven }, ["module", "targets"]),
    },
    ["layout", "vertex"],
  ),
);

const renderPass = dictionary(
  {
    ...label,
    colorAttachments: sequence(
      nullable(
        dictionary(
          {
            view: asGiven,
            depthSlice: unsignedLong,
            resolveTarget: asGiven,
            clearValue: color,
            loadOp: string,
            storeOp: string,
          },
          ["view", "loadOp", "storeOp"],
        ),
      ),
    ),
    depthStencilAttachment: dictionary(
      {
        view: asGiven,
        depthClearValue: toNumber,
        depthLoadOp: string,
        depthStoreOp: string,
        depthReadOnly: boolean,
        stencilClearValue: unsignedLong,
        stencilLoadOp: string,
        stencilStoreOp: string,
        stencilReadOnly: boolean,
      },
      ["view"],
    ),
    occlusionQuerySet: asGiven,
    timestampWrites,
    maxDrawCount: unsignedLongLong,
  },
  ["colorAttachments"],
);

const dynamicOffsets = sequence(unsignedLong);
const offsetsInArray = takes(unsignedLong, asGiven, bufferSource, unsignedLongLong, unsignedLong);
const offsetsInList = takes(unsignedLong, asGiven, dynamicOffsets);
const noOffsets = takes(unsignedLong);
const setBindGroup: ArgumentConversion = (args) => {
  if (args.length === 2 && isCount(args[0])) return true;
  while (args.length > 2 && isAbsent(args.at(-1))) args.pop();
  if (args.length <= 2) return noOffsets(args);
  return args.length >= 5 && isUint32Array(args[2]) ? offsetsInArray(args) : offsetsInList(args);
};

const copyAll = takes(asGiven, asGiven, offset);
const copyRange = takes(asGiven, unsignedLongLong, asGiven, unsignedLongLong, offset);
const copyBufferToBuffer: ArgumentConversion = (args) => {
  const to = args[1];
  return isObject(to) && "mapState" in to ? copyAll(args) : copyRange(args);
};

const anyGrid = takes(unsignedLong, count, count);
const dispatchWorkgroups: ArgumentConversion = (args) =>
  (args.length > 0 && args.every(isCount)) || anyGrid(args);

const setImmediates = takes(unsignedLong, bufferSource, offset, offset);
const pushDebugGroup = takes(string);
const getBindGroupLayout = takes(unsignedLong);

const drawing = {
  setBindGroup,
  setImmediates,
  setVertexBuffer: takes(unsignedLong, asGiven, offset, offset),
  setIndexBuffer: takes(asGiven, string, offset, offset),
  draw: takes(unsignedLong, count, count, count),
  drawIndexed: takes(unsignedLong, count, count, optional(long), count),
  drawIndirect: takes(asGiven, unsignedLongLong),
  drawIndexedIndirect: takes(asGiven, unsignedLongLong),
  pushDebugGroup,
};

const signatures: Readonly<Record<string, Readonly<Record<string, ArgumentConversion>>>> = {
  GPUDevice: {
    createBuffer: takes(
      dictionary({ ...label, size: unsignedLongLong, usage: unsignedLong, mappedAtCreation: boolean }, [
        "size",
        "usage",
      ]),
    ),
    createTexture: takes(
      dictionary(
        {
          ...label,
          size: extent,
          mipLevelCount: unsignedLong,
          sampleCount: unsignedLong,
          dimension: string,
          format: string,
          usage: unsignedLong,
          viewFormats: sequence(string),
          textureBindingViewDimension: string,
        },
        ["size", "format", "usage"],
      ),
    ),
    createBindGroupLayout: takes(
      dictionary({ ...label, entries: sequence(bindGroupLayoutEntry) }, ["entries"]),
    ),
    createBindGroup: takes(
      dictionary({ ...label, layout: asGiven, entries: sequence(bindGroupEntry) }, ["layout", "entries"]),
    ),
    createPipelineLayout: takes(
      dictionary({ ...label, bindGroupLayouts: sequence(asGiven), immediateSize: unsignedLong }, [
        "bindGroupLayouts",
      ]),
    ),
    createShaderModule: takes(dictionary({ ...label, code: string, compilationHints: asGiven }, ["code"])),
    createComputePipeline: computePipeline,
    createComputePipelineAsync: computePipeline,
    createRenderPipeline: renderPipeline,
    createRenderPipelineAsync: renderPipeline,
    pushErrorScope: takes(string),
  },
  GPUQueue: {
    writeBuffer: takes(asGiven, unsignedLongLong, bufferSource, offset, offset),
    writeTexture: takes(texelTexture, bufferSource, dictionary(texelLayout), extent),
    copyExternalImageToTexture: takes(
      dictionary({ source: asGiven, origin, flipY: boolean }, ["source"]),
      dictionary({ ...textureInfo, colorSpace: string, premultipliedAlpha: boolean }, ["texture"]),
      extent,
    ),
  },
  GPUBuffer: {
    mapAsync: takes(unsignedLong, offset, offset),
    getMappedRange: takes(offset, offset),
  },
  GPUTexture: {
    createView: takes(
      dictionary({
        ...label,
        format: string,
        dimension: string,
        usage: unsignedLong,
        aspect: string,
        baseMipLevel: unsignedLong,
        mipLevelCount: unsignedLong,
        baseArrayLayer: unsignedLong,
        arrayLayerCount: unsignedLong,
        swizzle: string,
      }),
    ),
  },
  GPUComputePipeline: { getBindGroupLayout },
  GPURenderPipeline: { getBindGroupLayout },
  GPUCommandEncoder: {
    copyBufferToBuffer,
    clearBuffer: takes(asGiven, offset, offset),
    resolveQuerySet: takes(asGiven, unsignedLong, unsignedLong, asGiven, unsignedLongLong),
    copyBufferToTexture: takes(texelBuffer, texelTexture, extent),
    copyTextureToBuffer: takes(texelTexture, texelBuffer, extent),
    copyTextureToTexture: takes(texelTexture, texelTexture, extent),
    pushDebugGroup,
    beginComputePass: takes(optional(dictionary({ ...label, timestampWrites }))),
    beginRenderPass: takes(renderPass),
  },
  GPUComputePassEncoder: {
    setBindGroup,
    setImmediates,
    dispatchWorkgroups,
    dispatchWorkgroupsIndirect: takes(asGiven, unsignedLongLong),
    pushDebugGroup,
  },
  GPURenderPassEncoder: {
    ...drawing,
    setViewport: takes(toNumber, toNumber, toNumber, toNumber, toNumber, toNumber),
    setScissorRect: takes(unsignedLong, unsignedLong, unsignedLong, unsignedLong),
    setBlendConstant: takes(color),
    setStencilReference: takes(unsignedLong),
    beginOcclusionQuery: takes(unsignedLong),
    executeBundles: takes(sequence(asGiven)),
  },
  GPURenderBundleEncoder: drawing,
};

/** Returns the signature of a method; undefined if Belay reads none of its arguments. */
export function signatureOf(prototype: object, method: PropertyKey): ArgumentConversion | undefined {
  return signatures[prototype.constructor.name]?.[method as string];
}
