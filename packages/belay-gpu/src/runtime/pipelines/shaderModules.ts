import type { LocatedDiagnostic } from "../context/coverage.ts";
import { Layer } from "../webgpu/layer.ts";
import type { Kernels } from "./kernels.ts";

/** Puts warnings of what stays unprotected in a module behind the messages that the device has for it. */
export function shaderModules(kernels: Kernels): Layer<GPUShaderModule, string> {
  return new Layer<GPUShaderModule, string>((native, sourceOf) => ({
    async getCompilationInfo() {
      const info = await native.getCompilationInfo.call(this);
      const isInvalid = info.messages.some(({ type }) => type === "error");
      const warnings = isInvalid ? [] : kernels.shortfallsIn(sourceOf(this)).map(messageOf);
      if (warnings.length === 0) return info;
      const messages = Object.freeze([...info.messages, ...warnings]);
      return Object.create(info, { messages: { value: messages, enumerable: true } });
    },
  }));
}

function messageOf({ code, message, line, column, span }: LocatedDiagnostic): GPUCompilationMessage {
  const members = {
    message: `${code} ${message}`,
    type: "warning",
    lineNum: line,
    linePos: column,
    offset: span.start,
    length: span.end - span.start,
  } as const;
  // Node.js has the class only where a program has made it global.
  const prototype: object = globalThis.GPUCompilationMessage?.prototype ?? Object.prototype;
  return Object.create(prototype, Object.getOwnPropertyDescriptors(members)) as GPUCompilationMessage;
}
