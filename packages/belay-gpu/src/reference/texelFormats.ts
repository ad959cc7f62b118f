/** The layouts of texels. Source: WGSL specification, "Texel Formats". */

type ChannelKind = "unorm" | "snorm" | "uint" | "sint" | "float" | "srgb" | "shared";

/** A number of a texel. */
export interface TexelChannel {
  /** The component of a kernel's vector. */
  readonly component: number;
  /** The first bit in the texel. */
  readonly shift: number;
  readonly bits: number;
  readonly kind: ChannelKind;
}

/** The layout of a texel. */
export interface TexelFormat {
  readonly bytes: number;
  /** The channels in memory order. */
  readonly channels: readonly TexelChannel[];
}

/** Returns the layout of a format, or undefined for a compressed or an opaque one. */
export function texelFormat(name: string): TexelFormat | undefined {
  const packed = packedFormats[name];
  if (packed) return formatOf("rgba".slice(0, packed.bits.length), packed.bits, packed.kind);
  const plain = /^(r|rg|rgba|bgra)(8|16|32)(unorm|snorm|uint|sint|float)(-srgb)?$/.exec(
    plainNames[name] ?? name,
  );
  if (!plain) return undefined;
  const [, order, bits, kind, srgb] = plain as unknown as [string, string, string, ChannelKind, string?];
  const widths = Array.from({ length: order.length }, () => Number(bits));
  return formatOf(order, widths, srgb ? "srgb" : kind);
}

/** The color formats of the same texels as formats of depths and stencils. */
const plainNames: Readonly<Record<string, string>> = {
  depth16unorm: "r16unorm",
  depth32float: "r32float",
  stencil8: "r8uint",
};
const packedFormats: Readonly<
  Record<string, { readonly bits: readonly number[]; readonly kind: ChannelKind }>
> = {
  rgb10a2unorm: { bits: [10, 10, 10, 2], kind: "unorm" },
  rgb10a2uint: { bits: [10, 10, 10, 2], kind: "uint" },
  rg11b10ufloat: { bits: [11, 11, 10], kind: "float" },
  rgb9e5ufloat: { bits: [9, 9, 9], kind: "shared" },
};

function formatOf(order: string, widths: readonly number[], kind: ChannelKind): TexelFormat {
  let shift = 0;
  const channels = widths.map((bits, i): TexelChannel => {
    const component = "rgba".indexOf(order[i]!);
    shift += bits;
    // The transparency of a color has no curve.
    return {
      component,
      shift: shift - bits,
      bits,
      kind: kind === "srgb" && component === 3 ? "unorm" : kind,
    };
  });
  // The exponent that three channels share takes the rest of a word.
  return { bytes: 2 ** Math.ceil(Math.log2(shift / 8)), channels };
}
