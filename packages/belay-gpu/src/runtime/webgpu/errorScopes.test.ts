/** A program gets its errors as on a plain device: in the same scopes, in the same order, once. */
import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices();

/** A device with two buffers, and calls that it rejects, each with a message of its own. */
function refusing(device: GPUDevice) {
  const texture = device.createTexture({
    size: [4],
    format: "rgba8unorm",
    usage: GPUTextureUsage.COPY_DST,
  });
  return {
    /** Belay does not watch this call. */
    create: () => void device.createBuffer({ size: 2 ** 52, usage: GPUBufferUsage.STORAGE }),
    finish: () => {
      const encoder = device.createCommandEncoder({ label: "open" });
      encoder.pushDebugGroup("open");
      return encoder.finish();
    },
    submit: () => {
      const gone = device.createBuffer({ label: "gone", size: 4, usage: GPUBufferUsage.COPY_DST });
      const encoder = device.createCommandEncoder({ label: "late" });
      encoder.clearBuffer(gone);
      const commands = encoder.finish();
      gone.destroy();
      device.queue.submit([commands]);
    },
    write: () => device.queue.writeTexture({ texture }, new Uint8Array(4), {}, [4]),
  };
}

type Act = (calls: ReturnType<typeof refusing>, device: GPUDevice) => Promise<unknown>;

const programs: Record<string, Act> = {
  "no error": (_, device) => {
    device.pushErrorScope("validation");
    device.queue.submit([]);
    return device.popErrorScope();
  },
  "an error of a submission": ({ submit }, device) => {
    device.pushErrorScope("validation");
    submit();
    return device.popErrorScope();
  },
  "an error of a write": ({ write }, device) => {
    device.pushErrorScope("validation");
    write();
    return device.popErrorScope();
  },
  "the first of several errors": async ({ create, submit, write }, device) => {
    const firsts: (GPUError | null)[] = [];
    for (const order of [
      [create, submit, write],
      [submit, create, write],
      [write, submit, create],
      [create, write],
    ]) {
      device.pushErrorScope("validation");
      for (const act of order) act();
      firsts.push(await device.popErrorScope());
    }
    return firsts;
  },
  "errors in scopes within scopes": ({ create, submit, write }, device) => {
    device.pushErrorScope("validation");
    device.queue.submit([]);
    device.pushErrorScope("out-of-memory");
    submit();
    device.pushErrorScope("validation");
    device.pushErrorScope("internal");
    write();
    create();
    return Promise.all([1, 2, 3, 4].map(() => device.popErrorScope()));
  },
  "errors of commands that could not be finished": async ({ finish }, device) => {
    device.pushErrorScope("validation");
    const commands = finish();
    device.queue.submit([commands]);
    const first = await device.popErrorScope();
    device.pushErrorScope("validation");
    device.queue.submit([commands]);
    return [first, await device.popErrorScope()];
  },
};

const messages = (result: unknown): unknown =>
  Array.isArray(result) ? result.map(messages) : ((result as GPUError | null)?.message ?? null);

it.each(Object.entries(programs))("reports %s as a plain device does", async (_, act) => {
  const plain = await newDevice();
  const expected = messages(await act(refusing(plain), plain));
  const device = await harden(await newDevice());
  expect(messages(await act(refusing(device), device))).toEqual(expected);
  plain.destroy();
  device.destroy();
});

it("rejects if no scope is open, as a plain device does", async () => {
  const plain = await newDevice();
  const device = await harden(await newDevice());
  const popped = (each: GPUDevice) => each.popErrorScope().then(String, String);
  expect(await popped(device)).toBe(await popped(plain));
  expect(() => device.pushErrorScope("none" as GPUErrorFilter)).toThrow(TypeError);
  plain.destroy();
  device.destroy();
});

it("dispatches an uncaught error once, and prints it unless the program prevents that", async () => {
  const device = await harden(await newDevice({ errorsAreExpected: true }));
  const printed = vi.spyOn(console, "warn").mockImplementation(() => {});
  const heard: GPUUncapturedErrorEvent[] = [];
  const listen = (event: GPUUncapturedErrorEvent) => heard.push(event);
  device.addEventListener("uncapturederror", listen);
  const { submit } = refusing(device);
  device.pushErrorScope("out-of-memory");
  submit();
  expect(await device.popErrorScope()).toBeNull();
  await device.queue.onSubmittedWorkDone();
  expect(heard.map(({ error }) => error.message)).toEqual([expect.stringContaining("gone")]);
  expect(heard[0]).toBeInstanceOf(GPUUncapturedErrorEvent);
  expect(heard[0]!.error).toBeInstanceOf(GPUValidationError);
  expect(printed).toHaveBeenCalledOnce();
  device.removeEventListener("uncapturederror", listen);

  const handled: string[] = [];
  device.onuncapturederror = (event) => {
    handled.push(event.error.message);
    event.preventDefault();
  };
  submit();
  await device.queue.onSubmittedWorkDone();
  expect(handled).toEqual([expect.stringContaining("gone")]);
  expect(heard).toHaveLength(1);
  expect(printed).toHaveBeenCalledOnce();
  printed.mockRestore();
  device.destroy();
});
