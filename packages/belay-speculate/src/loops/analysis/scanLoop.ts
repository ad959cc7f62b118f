import type { BodyStatement, Loop, LoopExpression } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyStatement } from "../tree/walk.ts";
import { addressLoop, varyingIn } from "./addressLoop.ts";
import { addressesAreFixed } from "./fixedAddresses.ts";

/**
 * A loop whose iterations get the values of some carried variables from a scan, and so need not
 * wait for each other.
 */
export interface ScanLoop {
  /** The names of the variables. */
  readonly variables: readonly string[];
  /** The loop that only finds what each iteration adds to the variables. */
  readonly changes: Loop;
  /** The loop that reads the variables' values before each iteration from arrays. */
  readonly main: Loop;
}

/** Returns the name of the array with a variable's values before each iteration. */
export const valuesBefore = (variable: string): string => `$before ${variable}`;

/**
 * Returns the loops of a scan; null if no variable can be scanned. A variable can be if iterations
 * only add integers to it. Neither the integers nor the branches around the additions may depend on
 * a variable that iterations share, or on an array that the loop writes.
 *
 * Before:  if (a[i] > 0) { out[k] = a[i]; k = k + 1 }
 * Changes: if (a[i] > 0) reduce k by 1
 * Main:    let k = before[i]; if (a[i] > 0) { out[k] = a[i]; k = k + 1 }
 */
export const scanLoop = oncePerLoop((loop): ScanLoop | null => {
  const addresses = addressLoop(loop);
  // Windows that one execution finds for the same numbers need neither a scan nor a check.
  const isFound = addresses?.isPredicted && addresses.followsFromNumbers;
  if (loop.index.type !== "i32" || isFound) return null;
  const read = new Set(loop.arrays.filter(({ role }) => role === "read").map(({ name }) => name));
  const varies = varyingIn(loop, read, false);
  const scanned = loop.carried.filter(({ name, type }) =>
    type === "i32" || type === "u32" ? isScanned(loop, name, varies) : false,
  );
  if (scanned.length === 0) return null;
  const names = new Set(scanned.map(({ name }) => name));
  return {
    variables: [...names],
    changes: {
      ...loop,
      carried: [],
      reductions: scanned.map(({ name, type }) => ({
        name,
        type: type as "i32",
        operator: "+",
        wraps: true,
      })),
      body: changesOf(loop.body, names, varies),
    },
    main: mainLoop(loop, scanned),
  };
});

type Body = readonly BodyStatement[];
type Varies = (expression: LoopExpression) => boolean;

const isJump = ({ kind }: BodyStatement) =>
  kind === "break" || kind === "continue" || kind === "endIteration" || kind === "endLoop";

/** Returns true if all assignments to the variable add something that is known before the loop. */
function isScanned({ body }: Loop, name: string, varies: Varies): boolean {
  const isKnown = (statements: Body): boolean =>
    statements.every((statement) => {
      switch (statement.kind) {
        case "assignCarried": {
          const change = statement.name === name ? changeOf(statement) : undefined;
          return statement.name !== name || (change !== undefined && !varies(change));
        }
        case "if": {
          if (!varies(statement.test)) return isKnown(statement.yes) && isKnown(statement.no);
          return ![...everyStatement([...statement.yes, ...statement.no])].some(
            (inner) => isJump(inner) || (inner.kind === "assignCarried" && inner.name === name),
          );
        }
        case "loop":
          return isKnown(statement.body) && isKnown(statement.update);
        default:
          return true;
      }
    });
  return isKnown(body);
}

/**
 * Returns what `x = x + change` or `x = (x - change) | 0` adds, or undefined for other values. The
 * scan adds modulo 2^32. A checked sum that leaves its type bails out of the main loop, and all
 * values before this sum are exact.
 */
function changeOf({ name, value }: Extract<BodyStatement, { kind: "assignCarried" }>) {
  const isCoerced = value.kind === "convert" && !value.checked && isInteger(value.operand);
  const whole = isCoerced ? value.operand : value;
  if (whole.kind !== "binary" || !isInteger(whole)) return undefined;
  const { operator, left, right, type } = whole;
  const isName = (part: LoopExpression) => part.kind === "carried" && part.name === name;
  if (operator === "+" && isName(left)) return right;
  if (operator === "+" && isName(right)) return left;
  if (operator !== "-" || !isName(left)) return undefined;
  const operand: LoopExpression =
    right.type === type ? right : { kind: "convert", type, operand: right, implicit: true };
  return { kind: "unary", type, operator: "-", operand } as const;
}

const isInteger = ({ type }: LoopExpression) => type === "i32" || type === "u32";

/** Returns the statements that find the changes of the variables. */
function changesOf(statements: Body, names: ReadonlySet<string>, varies: Varies): BodyStatement[] {
  const isKnown = (name: string) => !varies({ kind: "local", type: "i32", name });
  return statements.flatMap((statement): BodyStatement[] => {
    switch (statement.kind) {
      case "declare":
      case "assign":
        return isKnown(statement.name) ? [statement] : [];
      case "assignCarried":
        return names.has(statement.name)
          ? [{ kind: "reduce", name: statement.name, value: changeOf(statement)! }]
          : [];
      case "if":
        if (varies(statement.test)) return [];
        return [
          {
            ...statement,
            yes: changesOf(statement.yes, names, varies),
            no: changesOf(statement.no, names, varies),
          },
        ];
      case "loop":
        return [
          {
            ...statement,
            body: changesOf(statement.body, names, varies),
            update: changesOf(statement.update, names, varies),
          },
        ];
      case "endLoop":
        return [{ kind: "endIteration" }];
      case "store":
      case "reduce":
      case "misspeculate":
        return [];
      default:
        return [statement];
    }
  });
}

function mainLoop(loop: Loop, scanned: Loop["carried"]): Loop {
  const names = new Set(scanned.map(({ name }) => name));
  const body: Body = JSON.parse(JSON.stringify(loop.body), (_, part) => {
    if (part?.kind === "carried" && names.has(part.name)) return { ...part, kind: "local" };
    return part?.kind === "assignCarried" && names.has(part.name) ? { ...part, kind: "assign" } : part;
  });
  const type = "i32";
  const input = (name: string): LoopExpression => ({ kind: "input", type, name });
  const index: LoopExpression = { kind: "index", type };
  const binary = (left: LoopExpression, operator: "-" | "/", right: LoopExpression): LoopExpression => ({
    kind: "binary",
    type,
    operator,
    left,
    right,
  });
  const iteration = binary(binary(index, "-", input("$first")), "/", input("$step"));
  const values = scanned.map(({ name, type }): BodyStatement => {
    const value: LoopExpression = {
      kind: "load",
      type,
      array: valuesBefore(name),
      index: iteration,
      span: loop.span,
      inside: true,
    };
    return { kind: "declare", name, type, value };
  });
  const arrays = [
    ...loop.arrays,
    ...scanned.map(({ name, type }) => ({ name: valuesBefore(name), element: type, role: "read" }) as const),
  ];
  const all = [...values, ...body];
  return {
    ...loop,
    arrays,
    inputs: [...loop.inputs, ...["$first", "$step"].map((name) => ({ name, type }) as const)],
    carried: loop.carried.filter(({ name }) => !names.has(name)),
    body: all,
    addressesAreFixed: addressesAreFixed(all, arrays),
    isOrdered: true,
  };
}
