/** Evaluates `bitcast`. Source: WGSL specification, "Bit Reinterpretation Built-in Functions". */

import { type ScalarType, u32Type } from "../../types.ts";
import type { ScalarValue } from "../../values.ts";
import { scalars, vector } from "../components.ts";
import { converted } from "../conversions.ts";
import { halfFromBits, halfToBits } from "../float16.ts";
import type { ConstantFunction } from "../folded.ts";
import { float, scalar } from "../scalars.ts";

const memory = new DataView(new ArrayBuffer(16));

const sizeOf = (type: ScalarType): number => (type.name === "f16" ? 2 : 4);

function store(offset: number, { type, value }: ScalarValue): void {
  const number = Number(value);
  if (type.name === "f32") memory.setFloat32(offset, number, true);
  else if (type.name === "f16") memory.setUint16(offset, halfToBits(number), true);
  else memory.setUint32(offset, number, true);
}

function load(offset: number, type: ScalarType): ScalarValue {
  if (type.name === "f32") return float(type, memory.getFloat32(offset, true));
  if (type.name === "f16") return float(type, halfFromBits(memory.getUint16(offset, true)));
  return {
    type,
    value: type.name === "i32" ? memory.getInt32(offset, true) : memory.getUint32(offset, true),
  };
}

export const bitReinterpretation: Readonly<Record<string, ConstantFunction>> = {
  bitcast: ([e], type) => {
    const parts = scalars(e!).map((part) =>
      part.type.name === "abstract-int" ? scalar(converted(part, u32Type)) : part,
    );
    for (const [i, part] of parts.entries()) store(i * sizeOf(part.type), part);
    if (type.kind === "scalar") return load(0, type);
    if (type.kind !== "vector") throw new TypeError(`bitcast makes no ${type.kind}`);
    return vector(Array.from({ length: type.size }, (_, i) => load(i * sizeOf(type.element), type.element)));
  },
};
