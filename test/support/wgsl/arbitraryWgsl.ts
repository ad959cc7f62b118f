/** Random syntax trees, for properties that hold for every program of the grammar. */

import type {
  Attribute,
  BinaryOperator,
  Block,
  Declaration,
  Directive,
  Expression,
  Identifier,
  Module,
  Parameter,
  Statement,
  StructMember,
  UnaryOperator,
} from "belay-gpu/internal/wgsl/ast";
import fc, { type Arbitrary } from "fast-check";

const span = { start: 0, end: 0 };
const nameSpan = span;

/** Returns a tree as plain data without positions in the source, to compare two trees. */
export function withoutSpans(tree: unknown): unknown {
  return JSON.parse(
    JSON.stringify(tree, (key, value) => (key === "span" || key === "nameSpan" ? undefined : value)),
  );
}

const name = fc.constantFrom("a", "b", "i", "foo", "vec3", "f32", "array", "Δέλτα", "_x", "x1");

const literal = fc
  .constantFrom("0", "1", "42u", "7i", "1.5", ".5", "1.", "0x1p-2f", "0xffu", "1e10", "2h", "true", "false")
  .map((text): Expression => ({ kind: "literal", span, text }));

const unaryOperators: UnaryOperator[] = ["-", "!", "~", "*", "&"];
const binaryOperators: BinaryOperator[] = [
  "+",
  "-",
  "*",
  "/",
  "%",
  "&",
  "|",
  "^",
  "<<",
  ">>",
  "&&",
  "||",
  "==",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
];

const expressions = fc.letrec<{ expression: Expression; identifier: Identifier }>((tie) => ({
  identifier: fc.record({
    kind: fc.constant("identifier" as const),
    span: fc.constant(span),
    name,
    templateArgs: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { arbitrary: fc.constant(null), weight: 3 },
      { arbitrary: fc.array(tie("expression"), { minLength: 1, maxLength: 3 }), weight: 1 },
    ),
  }),
  expression: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    tie("identifier"),
    literal,
    fc.record({
      kind: fc.constant("unary" as const),
      span: fc.constant(span),
      operator: fc.constantFrom(...unaryOperators),
      operand: tie("expression"),
    }),
    // Binary expressions appear twice, as most errors are in the nesting of operators.
    ...[0, 1].map(() =>
      fc.record({
        kind: fc.constant("binary" as const),
        span: fc.constant(span),
        operator: fc.constantFrom(...binaryOperators),
        left: tie("expression"),
        right: tie("expression"),
      }),
    ),
    fc.record({
      kind: fc.constant("call" as const),
      span: fc.constant(span),
      callee: tie("identifier"),
      args: fc.array(tie("expression"), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant("index" as const),
      span: fc.constant(span),
      base: tie("expression"),
      index: tie("expression"),
    }),
    fc.record({
      kind: fc.constant("memberAccess" as const),
      span: fc.constant(span),
      base: tie("expression"),
      member: name,
    }),
  ),
}));

export const arbitraryExpression: Arbitrary<Expression> = expressions.expression;
const type = expressions.identifier;
const optional = <T>(arbitrary: Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const several = <T>(arbitrary: Arbitrary<T>) => fc.array(arbitrary, { maxLength: 3 });

const place: Arbitrary<Expression> = fc.letrec<{ place: Expression }>((tie) => ({
  place: fc.oneof(
    { depthSize: "small" },
    name.map((each): Expression => ({ kind: "identifier", span, name: each, templateArgs: null })),
    tie("place").map((operand): Expression => ({ kind: "unary", span, operator: "*", operand })),
    tie("place").map((base): Expression => ({ kind: "memberAccess", span, base, member: "x" })),
    fc
      .tuple(tie("place"), arbitraryExpression)
      .map(([base, index]): Expression => ({ kind: "index", span, base, index })),
  ),
})).place;

const attributes: Arbitrary<Attribute[]> = several(
  fc
    .oneof(
      fc.constant({ name: "compute", args: [] }),
      fc.record({ name: fc.constant("location"), args: fc.tuple(arbitraryExpression) }),
      fc.record({
        name: fc.constant("workgroup_size"),
        args: fc.array(arbitraryExpression, { minLength: 1, maxLength: 3 }),
      }),
    )
    .map((attribute) => ({ kind: "attribute", span, ...attribute })),
);

const variable = { span: fc.constant(span), nameSpan: fc.constant(nameSpan), name };
const assignment = fc.record({
  kind: fc.constant("assign" as const),
  span: fc.constant(span),
  operator: fc.constantFrom("=", "+=", "<<=", ">>=", "&="),
  target: place,
  value: arbitraryExpression,
});
const phony = arbitraryExpression.map(
  (value) => ({ kind: "assign", span, operator: "=", target: null, value }) as const,
);
const increment = fc.record({
  kind: fc.constant("increment" as const),
  span: fc.constant(span),
  operator: fc.constantFrom("++", "--"),
  target: place,
});
const call = fc
  .tuple(type, several(arbitraryExpression))
  .map(
    ([callee, args]) =>
      ({ kind: "callStatement", span, call: { kind: "call", span, callee, args } }) as const,
  );
const letOrConst = fc.record({
  kind: fc.constantFrom("let", "const"),
  ...variable,
  type: optional(type),
  initializer: arbitraryExpression,
});
const varStatement = fc.record({
  kind: fc.constant("var" as const),
  ...variable,
  qualifiers: several(type),
  type: optional(type),
  initializer: optional(arbitraryExpression),
});
const constAssert = arbitraryExpression.map(
  (condition) => ({ kind: "constAssert", span, condition }) as const,
);
const simpleStatement: Arbitrary<Statement> = fc.oneof(
  letOrConst,
  varStatement,
  assignment,
  phony,
  increment,
  call,
  constAssert,
  optional(arbitraryExpression).map((value) => ({ kind: "return", span, value }) as const),
  fc.constantFrom("break", "continue", "discard").map((kind) => ({ kind, span })),
);

const statements = fc.letrec<{ statement: Statement; block: Block }>((tie) => {
  const ifStatement = fc
    .tuple(attributes, arbitraryExpression, tie("block"), optional(fc.oneof(tie("block"), tie("statement"))))
    .map(([own, condition, then, otherwise]): Statement => {
      const branch =
        otherwise?.kind === "if"
          ? { ...otherwise, attributes: [] }
          : otherwise?.kind === "block"
            ? otherwise
            : null;
      return { kind: "if", span, attributes: own, condition, then, otherwise: branch };
    });
  const clause = fc
    .tuple(
      fc.array(fc.oneof(arbitraryExpression, fc.constant("default" as const)), {
        minLength: 1,
        maxLength: 3,
      }),
      tie("block"),
    )
    .map(([selectors, body]) => ({ kind: "clause", span, selectors, body }) as const);
  return {
    block: fc.record({
      kind: fc.constant("block" as const),
      span: fc.constant(span),
      attributes,
      statements: several(tie("statement")),
    }),
    statement: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { arbitrary: simpleStatement, weight: 4 },
      tie("block"),
      ifStatement,
      fc.record({
        kind: fc.constant("switch" as const),
        span: fc.constant(span),
        attributes,
        selector: arbitraryExpression,
        bodyAttributes: attributes,
        clauses: fc.array(clause, { minLength: 1, maxLength: 2 }),
      }),
      fc
        .tuple(attributes, tie("block"), optional(tie("block")), optional(arbitraryExpression))
        .map(([own, body, continuing, breakIf]): Statement => {
          return { kind: "loop", span, attributes: own, body, continuing, breakIf: continuing && breakIf };
        }),
      fc.record({
        kind: fc.constant("for" as const),
        span: fc.constant(span),
        attributes,
        initializer: optional(fc.oneof(letOrConst, varStatement, assignment, phony, increment, call)),
        condition: optional(arbitraryExpression),
        update: optional(fc.oneof(assignment, phony, increment, call)),
        body: tie("block"),
      }),
      fc.record({
        kind: fc.constant("while" as const),
        span: fc.constant(span),
        attributes,
        condition: arbitraryExpression,
        body: tie("block"),
      }),
    ),
  };
});

const member: Arbitrary<StructMember> = fc.record({
  kind: fc.constant("member" as const),
  ...variable,
  attributes,
  type,
});
const parameter: Arbitrary<Parameter> = fc.record({
  kind: fc.constant("parameter" as const),
  ...variable,
  attributes,
  type,
});

const declaration: Arbitrary<Declaration> = fc.oneof(
  fc.record({
    kind: fc.constant("globalVariable" as const),
    ...variable,
    attributes,
    qualifiers: several(arbitraryExpression),
    type: optional(type),
    initializer: optional(arbitraryExpression),
  }),
  fc.record({
    kind: fc.constant("override" as const),
    ...variable,
    attributes,
    type: optional(type),
    initializer: optional(arbitraryExpression),
  }),
  letOrConst.map((each) => ({ ...each, kind: "const" as const })),
  fc.record({ kind: fc.constant("alias" as const), ...variable, type }),
  fc.record({
    kind: fc.constant("struct" as const),
    ...variable,
    members: fc.array(member, { minLength: 1, maxLength: 3 }),
  }),
  constAssert,
  fc
    .record({
      ...variable,
      attributes,
      parameters: several(parameter),
      returned: optional(fc.tuple(attributes, type)),
      body: statements.block,
    })
    .map(({ returned, ...fn }): Declaration => {
      const [returnAttributes, returnType] = returned ?? [[], null];
      return { kind: "function", ...fn, returnAttributes, returnType };
    }),
);

const directive: Arbitrary<Directive> = fc.constantFrom<Directive>(
  { kind: "enable", span, names: ["f16", "subgroups"] },
  { kind: "requires", span, names: ["unrestricted_pointer_parameters"] },
  { kind: "diagnostic", span, severity: "off", rule: "chromium.unreachable_code" },
);

export const arbitraryModule: Arbitrary<Module> = fc.record({
  kind: fc.constant("module" as const),
  span: fc.constant(span),
  directives: several(directive),
  declarations: several(declaration),
});
