import { describe, expect, it } from "vitest";
import { newLibrary, runReplicas } from "../../../../../../test/support/kernels/replicas.ts";
import { quote } from "../../../wgsl/quote.ts";
import { recordCause } from "../reportBuffer.ts";
import { subgroupChannel } from "./subgroupChannel.ts";

const words = { expression: quote().expression`value`, count: 1, scalar: "u32" } as const;

/** The address and the value that a replica presents. A replica that has left presents nothing. */
type Presented = readonly [address: number, value: number] | "left";
/** Presents only values. */
const values = (...all: readonly number[]): Presented[] => all.map((each) => [0, each]);

/**
 * Runs neighboring replicas. Returns the results of the call, and the records. A replica whose
 * partner has left reads an undefined value, which happens to be its own.
 */
function presenting(
  presented: readonly Presented[],
  call: (channel: ReturnType<typeof subgroupChannel>) => string,
) {
  const library = newLibrary();
  const result = call(subgroupChannel(library, "1u"));
  const body = `
    let address = input[lane].x;
    let value = input[lane].y;
    if (input[lane].z == 0u) { output[lane] = u32(${result}); }`;
  const input = presented.map((each) => (each === "left" ? [0, 0, 1] : each));
  return presented.includes("left")
    ? runReplicas(library, body, input, (code) => code.replaceAll(/subgroupShuffleXor\((\w+), 1u\)/g, "$1"))
    : runReplicas(library, body, input);
}

describe("replicas agree", () => {
  const agree = (presented: readonly Presented[]) =>
    presenting(presented, (channel) => `${channel.agree({ address: true, words })}(1u, address, value)`);

  it("if both present the same", () => {
    expect(agree(values(70, 70, 0, 0))).toEqual({ output: [1, 1, 1, 1], records: [] });
  });

  it.each([
    ["values", [4, 71]],
    ["addresses", [8, 70]],
  ] as const)("not if their %s differ, which both record", (_, other) => {
    const { output, records } = agree([...values(1, 1), [4, 70], other]);
    expect(output).toEqual([1, 1, 0, 0]);
    const { mismatch: cause } = recordCause;
    expect(records).toEqual([
      { invocation: 1, replica: 0, cause, value: 70 },
      { invocation: 1, replica: 1, cause, value: other[1] },
    ]);
  });

  it("not if one of them is absent, which the other records", () => {
    const { output, records } = agree([[4, 70], "left", ...values(1, 1)]);
    expect(output).toEqual([0, 0, 1, 1]);
    expect(records).toEqual([{ invocation: 0, replica: 0, cause: recordCause.partnerAbsent, value: 70 }]);
  });
});

it("shares the words of the first replica, if it is there", () => {
  const share = (presented: readonly Presented[]) =>
    presenting(presented, (channel) => `${channel.share(1)}(1u, value)`).output;
  expect(share(values(5, 6, 7, 8))).toEqual([5, 5, 7, 7]);
  expect(share([[0, 5], "left", "left", [0, 8]])).toEqual([5, 0, 0, 8]);
});

it("tells whether the partner is absent", () => {
  const isAlone = (presented: readonly Presented[]) =>
    presenting(presented, (channel) => channel.isAlone()).output;
  expect(isAlone([[0, 5], [0, 6], "left", [0, 8]])).toEqual([0, 0, 0, 1]);
});
