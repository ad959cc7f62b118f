import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { diversifyReplicas } from "../transforms/diversity/diversifyReplicas.ts";
import { keepRounding } from "../transforms/diversity/keepRounding.ts";
import { splitSharedFunctions } from "../transforms/normalize/splitSharedFunctions.ts";
import { uniqueNames } from "../transforms/normalize/uniqueNames.ts";
import { hiddenZero, secondTextOf, zeroOf } from "../transforms/shared/diversity.ts";
import { wrapEntryPoint } from "../transforms/shared/entryPointWrapper.ts";
import { Names } from "../transforms/shared/names.ts";
import type { Module } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { statements } from "../wgsl/quote.ts";
import { resolve } from "../wgsl/resolve/index.ts";

/**
 * Returns a module whose kernels run the second text of `diversity` alone. The names of entry
 * points stay. Returns undefined if a name of an entry point hides one of the language.
 */
export function otherText(source: string): string | undefined {
  const program = resolve(parse(source).module);
  const names = new Names(program);
  const unique = uniqueNames(program, names, { hasCodes: false });
  if (unique.knownToHost.size > 0) return undefined;
  const named = resolve(unique.module);
  const entryPoints = new Set(
    functionsOf(named).flatMap((fn) => (stageOf(fn) === "compute" ? [fn.name] : [])),
  );
  const steps: ((program: Program) => Module)[] = [
    (before) => splitSharedFunctions(before, names, [entryPoints]),
    (before) => wrapped(before, names, entryPoints),
    (before) => keepRounding(before, names, { entryPoints }),
    (before) => diversifyReplicas(before, names, { entryPoints, roomy: new Set() }),
  ];
  return print(steps.reduce((before, step) => resolve(step(before)), named).module);
}

/** Returns the module whose entry points always choose the second text of their bodies. */
function wrapped(program: Program, names: Names, entryPoints: ReadonlySet<string>): Module {
  const inputs = ["workgroup_id", "num_workgroups"].map((name) => [name, "vec3<u32>"] as const);
  const second = secondTextOf(names);
  return {
    ...program.module,
    declarations: program.module.declarations.flatMap((each) =>
      each.kind === "function" && entryPoints.has(each.name)
        ? wrapEntryPoint(program, names, each, {
            inputs: new Map(inputs),
            derived: {},
            before: statements`
              let ${zeroOf(names)} = ${hiddenZero(names)};
              let ${second} = ${zeroOf(names)} == 0u;`,
            secondText: second,
            attributes: each.attributes,
          })
        : [each],
    ),
  };
}
