import type { BodyStatement, IterationBound, LoopExpression, NumberType, ValueType } from "../../tree/ir.ts";
import { endsSoon } from "../../tree/walk.ts";
import { convert, elementOf, emitExpression, type StatementTarget } from "./expressions.ts";
import { toBits, toVariable, variableType, wgslName } from "./names.ts";

/** The facts about the loop that its statements need. */
export interface Surroundings {
  /** Returns the type of a variable that outlives the iteration: carried or reduced. */
  typeOf(name: string): NumberType;
  /** Returns the types of a reduction's companions. */
  companionsOf(name: string): readonly NumberType[];
  readonly indexType: "i32" | "u32";
}

/** The codes that a jump out of several nested loops leaves for the loop that it names. */
const LEAVE = { break: "1u", continue: "2u" } as const;

/** A writer of an iteration's statements as WGSL, one line at a time. */
export class StatementWriter implements StatementTarget {
  readonly lines: string[] = [];
  readonly #surroundings: Surroundings;
  /**
   * The loops around the current statement, innermost last. `jumped` is true if a loop inside jumps
   * to it.
   */
  readonly #loops: { readonly label: string; readonly jumped: boolean }[] = [];
  /** The types of the locals in scope, for the conversion of assigned values. */
  readonly #locals: Map<string, ValueType>[] = [new Map()];
  #temporaries = 0;
  /** True if the loop around the current place ends soon, whatever the data. */
  #isShort = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  line(text: string): void {
    this.lines.push(text);
  }

  temporary(): string {
    return `t${this.#temporaries++}`;
  }

  block(statements: readonly BodyStatement[]): void {
    this.#locals.push(new Map());
    for (const statement of statements) this.#statement(statement);
    this.#locals.pop();
  }

  #statement(statement: BodyStatement): void {
    switch (statement.kind) {
      case "declare": {
        const value = emitExpression(statement.value, this);
        const text = convert(statement.value.type, statement.type, value);
        this.#locals.at(-1)!.set(statement.name, statement.type);
        const type = variableType(statement.type);
        this.line(`var v_${wgslName(statement.name)}: ${type} = ${toVariable(statement.type, text)};`);
        break;
      }
      case "assign": {
        const { name, value } = statement;
        const type = this.#locals.findLast((scope) => scope.has(name))?.get(name) ?? value.type;
        const text = convert(value.type, type, emitExpression(value, this));
        this.line(`v_${wgslName(name)} = ${toVariable(type, text)};`);
        break;
      }
      case "assignCarried": {
        const type = this.#surroundings.typeOf(statement.name);
        const value = convert(statement.value.type, type, emitExpression(statement.value, this));
        this.line(`store_carried_${wgslName(statement.name)}(${toBits(type, value)});`);
        break;
      }
      case "store": {
        const { array, index, value } = statement;
        // JavaScript evaluates the index first; neither side changes what the other reads.
        const element = elementOf(index, emitExpression(index, this));
        const stored = emitExpression(value, this);
        this.line(`put_${wgslName(array)}_${value.type}(${element}, ${stored});`);
        break;
      }
      case "reduce": {
        const { name, value, companions = [] } = statement;
        const types = [this.#surroundings.typeOf(name), ...this.#surroundings.companionsOf(name)];
        const values = [value, ...companions].map((one, at) =>
          convert(one.type, types[at]!, emitExpression(one, this)),
        );
        this.line(`reduce_${wgslName(name)}(${values.join(", ")});`);
        break;
      }
      case "if":
        this.line(`if (${emitExpression(statement.test, this)}) {`);
        this.block(statement.yes);
        if (statement.no.length > 0) {
          this.line("} else {");
          this.block(statement.no);
        }
        this.line("}");
        break;
      case "loop":
        this.#loop(statement);
        break;
      case "break":
      case "continue":
        this.#jump(statement.kind, statement.label);
        break;
      case "endIteration":
        this.line("return;");
        break;
      case "endLoop":
        this.line("end_loop();");
        this.line("return;");
        break;
      case "misspeculate":
        this.#misspeculate(statement.which);
        break;
    }
  }

  #loop(statement: Extract<BodyStatement, { kind: "loop" }>): void {
    const { label, body, update } = statement;
    const wasShort = this.#isShort;
    this.#isShort ||= endsSoon(statement);
    const jumped = jumpsThrough(body, label);
    if (jumped) this.line(`var leave_${wgslName(label)} = 0u;`);
    this.line("loop {");
    if (!this.#isShort) {
      // On data that the sequential loop never sees, a loop may not end.
      this.line("if (fuel == 0u) { bail_out(BAIL_OUT_FUEL); return; }");
      this.line("fuel -= 1u;");
    }
    this.#loops.push({ label, jumped });
    this.block(body);
    if (update.length > 0) {
      this.line("continuing {");
      this.block(update);
      this.line("}");
    }
    this.#loops.pop();
    this.#isShort = wasShort;
    this.line("}");
    this.#continueJump();
  }

  /** Writes a jump. A jump to an outer loop leaves loop by loop. */
  #jump(kind: "break" | "continue", label: string): void {
    if (this.#loops.at(-1)?.label === label) {
      this.line(`${kind};`);
    } else {
      this.line(`leave_${wgslName(label)} = ${LEAVE[kind]};`);
      this.line("break;");
    }
  }

  /** Continues, after a loop, a jump to a loop around it. */
  #continueJump(): void {
    for (const [depth, { label, jumped }] of this.#loops.entries()) {
      const leave = `leave_${wgslName(label)}`;
      if (!jumped) continue;
      if (depth < this.#loops.length - 1) {
        this.line(`if (${leave} != 0u) { break; }`);
      } else {
        this.line(`if (${leave} == ${LEAVE.break}) { break; }`);
        this.line(`if (${leave} == ${LEAVE.continue}) { ${leave} = 0u; continue; }`);
      }
    }
  }

  #misspeculate(which: Extract<BodyStatement, { kind: "misspeculate" }>["which"]): void {
    switch (which.kind) {
      case "relative":
        for (const offset of which.offsets) this.line(`misspeculate(${offset | 0}i, ${offset | 0}i);`);
        break;
      case "range":
        this.line(
          `misspeculate(${which.from | 0}i, ${which.to === null ? "0x7fffffffi" : `${which.to | 0}i`});`,
        );
        break;
      case "absolute": {
        const distance = this.#distanceTo(which.index);
        this.line(`if (params.step != 0i && ${distance} % params.step == 0i) {`);
        this.line(`misspeculate(${distance} / params.step, ${distance} / params.step);`);
        this.line("}");
        break;
      }
      case "between":
        this.#misspeculateBetween(which.from, which.to);
    }
  }

  /**
   * Writes the misspeculation of the iterations whose indices lie between two bounds, in whichever
   * direction the loop counts.
   */
  #misspeculateBetween(from: IterationBound, to: IterationBound | null): void {
    const [first, last] = [from, to].map((bound) =>
      bound === null
        ? null
        : bound.kind === "relative"
          ? `${bound.offset | 0}i`
          : this.#distanceTo(bound.index),
    );
    const isCounted = (bound: IterationBound | null) => bound?.kind === "absolute";
    const up = (text: string) => `-floor_quotient_i32(-${text}, params.step)`;
    const down = (text: string) => `floor_quotient_i32(${text}, params.step)`;
    this.line("if (params.step != 0i) {");
    if (isCounted(from) && isCounted(to)) {
      const isDown = "params.step < 0i";
      const [low, high] = [`select(${first}, ${last}, ${isDown})`, `select(${last}, ${first}, ${isDown})`];
      this.line(`misspeculate(${up(low)}, ${down(high)});`);
    } else {
      const nearest = isCounted(from) ? up(first!) : first!;
      const farthest = last === null ? "0x7fffffffi" : isCounted(to) ? down(last!) : last!;
      this.line(`misspeculate(${nearest}, ${farthest});`);
    }
    this.line("}");
  }

  /** Writes and names the difference between an index and that of this iteration. */
  #distanceTo(index: LoopExpression): string {
    const value = convert(index.type, this.#surroundings.indexType, emitExpression(index, this));
    const distance = this.temporary();
    this.line(`let ${distance} = bitcast<i32>(${value} - index);`);
    return distance;
  }
}

/** Returns true if a loop inside `body` jumps to the loop with the label, across itself. */
function jumpsThrough(body: readonly BodyStatement[], label: string, inside = false): boolean {
  return body.some((statement) => {
    switch (statement.kind) {
      case "if":
        return jumpsThrough(statement.yes, label, inside) || jumpsThrough(statement.no, label, inside);
      case "loop":
        return jumpsThrough(statement.body, label, true) || jumpsThrough(statement.update, label, true);
      case "break":
      case "continue":
        return inside && statement.label === label;
      default:
        return false;
    }
  });
}
