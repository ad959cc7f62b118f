import { expect, it } from "vitest";
import { namesOf } from "./programs.ts";

it("asks for the package of known programs, unless files are named", async () => {
  const research = () => Promise.reject(new Error("not installed"));
  for (const workload of ["all", "bitonicSort", "workload.ts,bitonicSort"])
    await expect(namesOf(workload, research)).rejects.toThrow("not installed");
  expect(await namesOf("workload.ts,./bitonicSort", research)).toEqual(["workload.ts", "./bitonicSort"]);
});
