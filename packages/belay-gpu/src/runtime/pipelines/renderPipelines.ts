import { type BindingAccess, bindingAccesses } from "../../analysis/bindings.ts";
import { functionsOf, stageOf } from "../../analysis/callGraph.ts";
import { parse } from "../../wgsl/parser.ts";
import { resolve } from "../../wgsl/resolve/index.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Overlay } from "../webgpu/overlay.ts";
import { type BindGroups, kindsIn } from "./bindGroups.ts";

type Stages = Pick<GPURenderPipelineDescriptor, "vertex" | "fragment">;

/**
 * The render pipelines of a device, which Belay leaves as they are. It records the kinds of
 * bindings in their default layouts, as the device no longer knows the usages that a program
 * declared.
 */
export class RenderPipelines {
  readonly #device: GPUDevice;
  readonly #sourceOf: (module: GPUShaderModule) => string | undefined;
  readonly #pipelines: Overlay<GPURenderPipeline, Stages>;

  constructor(
    { device, owners }: RuntimeContext,
    bindGroups: BindGroups,
    sourceOf: (module: GPUShaderModule) => string | undefined,
  ) {
    this.#device = device;
    this.#sourceOf = sourceOf;
    this.#pipelines = new Overlay((native, stagesOf) => {
      const bindingsOf = (stages: Stages) => this.#bindingsOf(stages);
      return {
        getBindGroupLayout(index) {
          const layout = native.getBindGroupLayout.call(this, index);
          const kinds = kindsIn(bindingsOf(stagesOf(this)), index);
          bindGroups.trackDefaultLayout(layout, { key: layout, kinds });
          return owners.own("bindGroupLayout", layout);
        },
      };
    });
  }

  create(descriptor: GPURenderPipelineDescriptor): GPURenderPipeline {
    return this.#follow(this.#device.createRenderPipeline(descriptor), descriptor);
  }

  async createAsync(descriptor: GPURenderPipelineDescriptor): Promise<GPURenderPipeline> {
    return this.#follow(await this.#device.createRenderPipelineAsync(descriptor), descriptor);
  }

  #follow(
    pipeline: GPURenderPipeline,
    { layout, vertex, fragment }: GPURenderPipelineDescriptor,
  ): GPURenderPipeline {
    if (layout === "auto") this.#pipelines.attach(pipeline, { vertex, ...(fragment && { fragment }) });
    return pipeline;
  }

  #bindingsOf({ vertex, fragment }: Stages): BindingAccess[] {
    return [
      ...this.#bindingsOfStage(vertex, "vertex"),
      ...(fragment ? this.#bindingsOfStage(fragment, "fragment") : []),
    ];
  }

  #bindingsOfStage({ module, entryPoint }: GPUProgrammableStage, stage: string): BindingAccess[] {
    const parsed = parse(this.#sourceOf(module) ?? "");
    if (parsed.diagnostics.some(({ severity }) => severity === "error")) return [];
    const program = resolve(parsed.module);
    const fn = functionsOf(program).find(
      (each) => stageOf(each) === stage && (entryPoint === undefined || each.name === entryPoint),
    );
    return fn ? bindingAccesses(program, fn) : [];
  }
}
