import { Writable } from "node:stream";
import { afterEach, expect, it, vi } from "vitest";
import { colorsFor } from "./io.ts";

afterEach(() => vi.unstubAllEnvs());

it.each([
  [{ isTTY: true, columns: 80 }, {}, true],
  // A terminal in a container may have no known width.
  [{ isTTY: true, columns: 0 }, {}, true],
  [{}, {}, false],
  [{ isTTY: true }, { NO_COLOR: "1" }, false],
  [{ isTTY: true }, { TERM: "dumb" }, false],
  [{}, { FORCE_COLOR: "1" }, true],
])("colors %j with %j: %j", (stream, environment, expected) => {
  for (const name of ["NO_COLOR", "FORCE_COLOR", "TERM"]) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  expect(colorsFor(Object.assign(new Writable(), stream)).isColorSupported).toBe(expected);
});
