import { expect, it, vi } from "vitest";
import { CommandFailure } from "../../shared/terminal/failure.ts";
import { namesOf } from "./programs.ts";

vi.mock("../../shared/research.ts", () => ({
  importResearch: () => Promise.reject(new CommandFailure("package-missing", "not installed")),
}));

it("asks for the package of known programs, unless files are named", async () => {
  await expect(namesOf("all")).rejects.toMatchObject({ code: "BELAY411" });
  await expect(namesOf("bitonicSort")).rejects.toMatchObject({ code: "BELAY411" });
  await expect(namesOf("workload.ts,bitonicSort")).rejects.toMatchObject({ code: "BELAY411" });
  expect(await namesOf("workload.ts,./bitonicSort")).toEqual(["workload.ts", "./bitonicSort"]);
});
