/** Loops as programs have them, with data for each, and what becomes of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { evaluate, executeInParts } from "./loopPrograms.ts";

/** A function of the collection, with the package that its loop takes after. */
interface NaturalLoop {
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly type: string }[];
  /** The diagnostic that says why the loop is not translated; null if it is. */
  readonly refusal: string | null;
}

const file = join(import.meta.dirname, "../../speculation/naturalLoops.txt");

/** Reads the collection, which is compiled once. */
export function naturalLoops() {
  const source = readFileSync(file, "utf8");
  const { code, diagnostics } = replaceLoops(source, "naturalLoops.ts");
  const starts = [...source.matchAll(/^\/\/ [\w.-]+: /gm)].map(({ index }) => index);
  const loops = starts.map((index, at): NaturalLoop => {
    const end = starts[at + 1] ?? source.length;
    const text = source.slice(index, end);
    const [, name, list] = /^export async function (\w+)\(([\s\S]*?)\) \{/m.exec(text)!;
    const parameters = list!.split(/,\s*(?=\w+:|\{)/).flatMap((each) => {
      const [, parameter, type] = /^(\w+|\{.*\}): ([\s\S]+?),?$/.exec(each.trim()) ?? [];
      return parameter && type ? [{ name: parameter, type: type.replace(/^Readonly<(.*)>$/, "$1") }] : [];
    });
    const reasons = diagnostics.filter(
      ({ severity, span }) => severity === "error" && index <= span.start && span.start < end,
    );
    const [first] = reasons;
    return { name: name!, parameters, refusal: first ? labelOf(first.code) : null };
  });
  return {
    loops,
    /** The functions as they are written. */
    written: evaluate(source),
    /** The functions translated, executed in order. */
    inOrder: evaluate(code!, executeInParts),
    /** The functions translated, executed by an engine. */
    executedBy: (execute: (call: SpeculateCall) => Promise<unknown>) => evaluate(code!, execute),
  };
}

const length = 256;

/** Returns the data for a parameter. It follows from the parameter's name and type. */
function argument(name: string, type: string): unknown {
  const random = (at: number) => Math.imul(at + name.length * 77 + 1, 0x9e3779b1) >>> 0;
  const fill = <Data extends { [at: number]: number }>(data: Data, make: (at: number) => number) => {
    for (let at = 0; at < length; at++) data[at] = make(at);
    return data;
  };
  switch (type) {
    case "Float32Array":
      return fill(new Float32Array(length), (at) => ((random(at) >>> 8) / 2 ** 23 - 1) * 4);
    case "Float64Array":
      return fill(new Float64Array(length), (at) => (random(at) / 2 ** 31 - 1) * 4);
    case "Int32Array":
      if (name.startsWith("at")) return fill(new Int32Array(length), (at) => random(at) >>> 26);
      if (name === "starts") return fill(new Int32Array(length), (at) => at * 2);
      if (name === "sorted") return fill(new Int32Array(length), (at) => at * 3 - 300);
      if (name === "parents") return fill(new Int32Array(length), (at) => at >> 1);
      if (name === "level") return fill(new Int32Array(length), (at) => (at % 5 === 0 ? 3 : -1));
      return fill(new Int32Array(length), (at) => (random(at) >>> 22) - 512);
    case "Uint32Array":
      return fill(new Uint32Array(length), random);
    case "Uint8Array":
      return fill(new Uint8Array(length), (at) => random(at) >>> 24);
    case "Uint8ClampedArray":
      return new Uint8ClampedArray(length);
    case "Int16Array":
      return fill(new Int16Array(length), (at) => random(at) >>> 16);
    case "Int8Array":
      return new Int8Array(length);
    case "number[]":
      return fill(new Array<number>(length), (at) => random(at) >>> 22);
    case "Float32Array[]":
      return Array.from({ length: 3 }, (_, at) => argument("x".repeat(at + 1), "Float32Array"));
    case "Float64Array[]":
      return Array.from({ length: 3 }, (_, at) => argument("x".repeat(at + 1), "Float64Array"));
    case "number[][][]":
      return Array.from({ length: 4 }, () => argument(name, "number[][]"));
    case "[number, number][]":
      return Array.from({ length: 64 }, (_, at) => [random(at) / 2 ** 31 - 1, random(at + 64) / 2 ** 31 - 1]);
    case "number[][]":
      return Array.from({ length: 16 }, (_, row) =>
        Array.from({ length: 16 }, (_, at) => random(row * 16 + at) >>> 29),
      );
    case "Particle[]":
      return Array.from({ length: 64 }, (_, at) => {
        const [x, y, vx, vy] = [1, 2, 3, 4].map((part) => (random(at * 4 + part) / 2 ** 31 - 1) * 4);
        return { x, y, vx, vy, mass: 1 + (at % 3) };
      });
    case "Vec":
      return { x: 0.25, y: -0.125 };
    case "Body[]":
      return Array.from({ length: 64 }, (_, at) => {
        const [x, y, vx, vy] = [1, 2, 3, 4].map((part) => (random(at * 4 + part) / 2 ** 31 - 1) * 4);
        return { pos: { x, y }, vel: { x: vx, y: vy }, mass: 1 + (at % 3) };
      });
    case "Candle[]":
      return Array.from({ length: 64 }, (_, at) => {
        const [open, high, low, close] = [1, 2, 3, 4].map((part) => random(at * 4 + part) >>> 20);
        return { open, high, low, close };
      });
    case "Sample[]":
      return Array.from({ length: 64 }, (_, at) => ({
        features: [1, 2, 3].map((part) => random(at * 4 + part) >>> 28),
        kind: at % 3,
      }));
    case "Image":
      return { data: argument("data", "Uint8ClampedArray"), width: 8, height: 8 };
    case "string":
      if (name === "line") return Array.from({ length }, (_, at) => " (a)\n05)F("[random(at) % 10]).join("");
      return String.fromCharCode(...fill(new Array<number>(length), (at) => random(at) >>> 18));
    case "Bodies": {
      const part = (axis: string) => argument(axis, "Float32Array");
      return { x: part("x"), y: part("yy"), vx: part("vxx"), vy: part("vyyy") };
    }
    case "Rows":
      return {
        starts: argument("starts", "Int32Array"),
        columns: argument("at", "Int32Array"),
        values: argument("v", "Float64Array"),
      };
    case "Options":
      return { gain: 2, offset: 3 };
    case "number":
      return (
        { n: 64, width: 8, height: 8, k: 3, row: 2, seed: 12345, shift: 8, low: -100, high: 100 }[name] ?? 0.3
      );
    default:
      throw new Error(`no data for ${name}: ${type}`);
  }
}

export const dataFor = ({ parameters }: Pick<NaturalLoop, "parameters">): unknown[] =>
  parameters.map(({ name, type }) => argument(name, type));
