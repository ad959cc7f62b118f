import blur from "./examples/blur.wgsl?raw";
import histogram from "./examples/histogram.wgsl?raw";
import mandelbrot from "./examples/mandelbrot.wgsl?raw";
import matrixProduct from "./examples/matrixProduct.wgsl?raw";

/** A kernel of the picker. */
export interface KernelExample {
  readonly name: string;
  readonly title: string;
  readonly source: string;
}

/** The kernels of the picker. The first one is on the page at first. */
export const examples: readonly [KernelExample, ...KernelExample[]] = [
  { name: "mandelbrot", title: "Mandelbrot set", source: mandelbrot },
  { name: "blur", title: "Blur", source: blur },
  { name: "matrixProduct", title: "Matrix product", source: matrixProduct },
  { name: "histogram", title: "Histogram", source: histogram },
];
