import { schemes } from "belay-gpu/internal/ecc/scheme";
import { expect, it } from "vitest";
import { codeOperations } from "./codeOperations.ts";

it("counts the operations of every code", () => {
  for (const scheme of Object.values(schemes)) {
    const { encode, syndrome, contribution } = codeOperations(scheme);
    expect(encode).toBeGreaterThan(0);
    expect(syndrome).toBeGreaterThan(encode);
    expect(contribution).toBeGreaterThan(0);
  }
});
