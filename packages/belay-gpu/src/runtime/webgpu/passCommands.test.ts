import { expect, it } from "vitest";
import { PassCommands, type SetGroup, type SetGroups } from "./passCommands.ts";
import { noOffsets } from "./replayStep.ts";

/** A pass that lists the commands which it gets. */
class ListedPass {
  readonly commands: string[] = [];

  setPipeline(pipeline: string): void {
    this.commands.push(`pipeline ${pipeline}`);
  }

  setBindGroup(index: number, group: string | null): void {
    this.commands.push(`group ${index} ${group}`);
  }

  dispatchWorkgroups(count: number): void {
    this.commands.push(`dispatch ${count}`);
  }

  end(): void {
    this.commands.push("end");
  }
}

const pipeline = (name: string) => name as unknown as GPUComputePipeline;
const set = (name: string): SetGroup => ({ group: name as unknown as GPUBindGroup, offsets: noOffsets });
const asPass = (pass: ListedPass) => pass as unknown as GPUComputePassEncoder;

it("encodes other commands in later executions, and then sets again what these have changed", () => {
  const first = new ListedPass();
  const commands = new PassCommands(asPass(first));
  const groups = [set("a"), set("b")];
  const run = (to: PassCommands, name: string, groups: SetGroups, count: number) => {
    to.use(pipeline(name), groups);
    to.dispatchWorkgroups([count]);
  };
  run(commands, "own", groups, 1);
  commands.onlyFirst(() => {
    commands.setPipeline(pipeline("check"));
    commands.setBindGroup(0, set("check"));
    commands.dispatchWorkgroups([2]);
  });
  commands.onlyLater((later) => run(later, "again", [undefined, set("report")], 3));
  run(commands, "own", groups, 4);
  commands.end();
  const before = ["pipeline own", "group 0 a", "group 1 b", "dispatch 1"];
  const after = ["pipeline own", "group 0 a", "dispatch 4", "end"];
  expect(first.commands).toEqual([...before, "pipeline check", "group 0 check", "dispatch 2", ...after]);
  const second = new ListedPass();
  commands.recorded.encodeIn(asPass(second));
  const later = ["pipeline again", "group 1 report", "dispatch 3"];
  const restored = ["pipeline own", "group 0 a", "group 1 b"];
  expect(second.commands).toEqual([...before, ...later, ...restored, ...after]);
});
