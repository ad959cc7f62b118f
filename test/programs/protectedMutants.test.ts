/**
 * Kernels with a few words replaced: protection returns a valid module or a diagnostic for each.
 */

import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { expect, test } from "vitest";
import { featureKernels } from "../support/kernels/featureKernels.ts";
import { startDawn } from "../support/wgsl/dawnValidator.ts";
import { type Mutation, mutant, type Pieces } from "../support/wgsl/mutants.ts";

const placesOf = (mutant: Pieces, pattern: RegExp) =>
  mutant.flatMap((piece, i) => (pattern.test(piece) ? [i] : []));

/** Replaces a match by one of `others`, or by the text of another match. */
const exchange =
  (pattern: RegExp, others?: readonly string[]): Mutation =>
  (mutant, random) => {
    const places = placesOf(mutant, pattern);
    if (places.length === 0) return;
    const [to, from] = [places[random(places.length)]!, places[random(places.length)]!];
    mutant[to] = others ? others[random(others.length)]! : mutant[from]!;
  };

/** Matches the end of one statement and the beginning of the next. */
function statement(mutant: Pieces, random: (below: number) => number): [from: number, to: number] {
  const ends = placesOf(mutant, /^[;{}]$/);
  const at = random(ends.length);
  return [ends[at]! + 1, (ends[at + 1] ?? ends[at]!) + 1];
}

const mutations: readonly Mutation[] = [
  exchange(/^[a-z]\w*$/i),
  exchange(/^\d/, ["0", "1u", "-1", "1.5", "2147483647", "4294967295u", "true"]),
  exchange(/^[-+*/%&|^<>]$/, ["-", "+", "*", "/", "%", "&", "|", "^", "<", ">"]),
  exchange(/^(storage|workgroup|private|uniform)$/, ["storage", "workgroup", "private", "uniform"]),
  exchange(/^([ui]32|f32|vec[234][ufi])$/, ["u32", "i32", "f32", "bool", "vec2u", "vec4f", "array<f32>"]),
  (mutant, random) => {
    const [from, to] = statement(mutant, random);
    mutant.splice(from, to - from);
  },
  (mutant, random) => {
    const [from, to] = statement(mutant, random);
    mutant.splice(statement(mutant, random)[0], 0, ...mutant.slice(from, to));
  },
];

const ways: readonly CompilerOptions[] = [
  { check: "store" },
  { redundancy: "intra-lds", channel: "workgroup", injectFaults: true },
  { redundancy: "inter", memory: "secded32" },
  { pairing: "passes", memory: "detect" },
];

/** The number of mutants can be raised beyond the time of a test run. */
const mutants = Number(process.env.FUZZ_MUTANTS ?? 4_000) / 10;

test(
  "no mutant of a kernel makes protection throw, and Dawn accepts the output for those that it accepts",
  async () => {
    const seeds = featureKernels.map(({ code }) => code);
    const made: { source: string; code: string }[] = [];
    for (let number = 0; number < mutants; number++) {
      const source = mutant(seeds, mutations, number);
      try {
        const { code, layout } = protect(source, { ...ways[number % ways.length], features: ["subgroups"] });
        if (layout) made.push({ source, code });
      } catch (cause) {
        throw new Error(`mutant ${number}:\n${source}`, { cause });
      }
    }
    const dawn = await startDawn();
    const before = await dawn.validateAll(made.map(({ source }) => source));
    const valid = made.filter((_, i) => before[i]!.ok);
    // Mutants that are all invalid would test little.
    expect(valid.length / mutants).toBeGreaterThan(0.05);
    const after = await dawn.validateAll(valid.map(({ code }) => code));
    await dawn.close();
    const broken = valid.flatMap(({ source }, i) => (after[i]!.ok ? [] : [{ source, verdict: after[i] }]));
    expect(broken).toEqual([]);
  },
  600_000 + 100 * mutants,
);
