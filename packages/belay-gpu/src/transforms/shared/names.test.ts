import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { Names } from "./names.ts";

const namesOf = (wgsl: string) => new Names(typed(wgsl));

describe("names", () => {
  it("share a prefix that no name of the module starts with", () => {
    expect(namesOf("fn f() {}").the("report")).toBe("belay_report");
    expect(namesOf("const belay_report = 1;").the("report")).toBe("belay1_report");
    expect(namesOf("const belay_x = 1; fn belay1_f() { let belay2_x = 1; }").prefix).toBe("belay3_");
    expect(namesOf("struct S { belay_member: u32 }").prefix).toBe("belay1_");
  });

  it("differ for each thing that may exist many times, whatever it stands for", () => {
    const names = namesOf("fn f() {}");
    expect([names.fresh("f"), names.fresh("f"), names.fresh("g")]).toEqual([
      "belay_f_1",
      "belay_f_2",
      "belay_g_1",
    ]);
    expect(names.fresh("belay_f_1")).toBe("belay_f_1_1");
    expect(names.fresh("f_1")).toBe("belay_f_1_2");
  });

  it("tell what is generated from what only got another name", () => {
    const names = namesOf("const min = 1; const min_1 = 2;");
    const another = names.another("min");
    expect(another).toBe("min_2");
    expect(names.another("min")).toBe("min_3");
    expect(names.isGenerated(another)).toBe(false);
    expect(names.isGenerated(names.fresh("min"))).toBe(true);
  });

  it("lead back to the user's, also in texts", () => {
    const names = namesOf("const min = 1; const min_1 = 2; const größe = 3;");
    const again = names.another(names.another("min"));
    const umlaut = names.another("größe");
    expect([again, umlaut]).toEqual(["min_2_1", "größe_1"]);
    expect([again, umlaut, "min_1", "other"].map((name) => names.own(name))).toEqual([
      "min",
      "größe",
      "min_1",
      "other",
    ]);
    expect(names.inOwnNames(`"min_2" and "${umlaut}" are not "min_1", größe_12 or xmin_2`)).toBe(
      `"min" and "größe" are not "min_1", größe_12 or xmin_2`,
    );
  });
});
