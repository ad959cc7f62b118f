/** Hardens the device of a page. */
import { harden, requestFullDevice } from "belay-gpu";
import blur from "./blur.ts";

const adapter = await navigator.gpu.requestAdapter();
const device = harden(await requestFullDevice(adapter!));
const { b } = await blur(device);
document.body.textContent = `b[3] = ${b[3]}`;
