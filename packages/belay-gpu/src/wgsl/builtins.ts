/**
 * The predeclared functions and operators, as one table of signatures. Source: the tables of the
 * WGSL specification, "Built-in Functions" and "Expressions".
 *
 * A line is `[const] name... (parameters) [-> result] [where variable: constraint, ...]`.
 * A name has one line per overload.
 * - `const` marks functions that const-expressions may call.
 * - Capital letters are variables. `T`, `S` stand for types, and `N`, `C`, `R`, `K` for sizes.
 * - A constraint is a set of scalars (see `scalarSets`). With `~` it includes the vectors of them.
 * - `F` in a storage texture is the scalar of its texels.
 * - `int` as a parameter is i32 or u32, independently of other parameters.
 * - `A | B` as a parameter gives one overload each.
 * - `?` marks a last parameter that may be omitted.
 */
import type { ScalarName } from "./types.ts";

/**
 * The sets of scalars that constrain type variables. `any` and `constructible` are constraints,
 * too.
 */
export const scalarSets: Readonly<Record<string, readonly ScalarName[]>> = {
  scalar: ["abstract-int", "abstract-float", "i32", "u32", "f32", "f16", "bool"],
  numeric: ["abstract-int", "abstract-float", "i32", "u32", "f32", "f16"],
  signed: ["abstract-int", "abstract-float", "i32", "f32", "f16"],
  float: ["abstract-float", "f32", "f16"],
  integer: ["abstract-int", "i32", "u32"],
  concrete: ["i32", "u32", "f32", "f16"],
  int: ["i32", "u32"],
  sampled: ["f32", "i32", "u32"],
  printed: ["i32", "u32", "f32", "f16", "bool"],
};

export const signatureTable = `
# Operators; a prefix operator has one parameter
const - (T) -> T where T: signed~
const ! (T) -> T where T: bool~
const ~ (T) -> T where T: integer~
const + - * / % (T, T) -> T where T: numeric~
const + - * / % (vecN<T>, T) -> vecN<T> where T: numeric
const + - * / % (T, vecN<T>) -> vecN<T> where T: numeric
const + - (matCxR<T>, matCxR<T>) -> matCxR<T> where T: float
const * (matCxR<T>, T) -> matCxR<T> where T: float
const * (T, matCxR<T>) -> matCxR<T> where T: float
const * (matCxR<T>, vecC<T>) -> vecR<T> where T: float
const * (vecR<T>, matCxR<T>) -> vecC<T> where T: float
const * (matKxR<T>, matCxK<T>) -> matCxR<T> where T: float
const & | ^ (T, T) -> T where T: integer~
const & | (T, T) -> T where T: bool~
const << >> (T, u32) -> T where T: integer
const << >> (vecN<T>, vecN<u32>) -> vecN<T> where T: integer
const && || (bool, bool) -> bool
const == != (T, T) -> bool where T: scalar
const == != (vecN<T>, vecN<T>) -> vecN<bool> where T: scalar
const < <= > >= (T, T) -> bool where T: numeric
const < <= > >= (vecN<T>, vecN<T>) -> vecN<bool> where T: numeric

# Logical
const all any (bool | vecN<bool>) -> bool
const select (T, T, bool) -> T where T: scalar~
const select (vecN<T>, vecN<T>, vecN<bool>) -> vecN<T> where T: scalar

# Arrays
arrayLength (ptr<storage|uniform|workgroup, array<E>, read|read_write>) -> u32 where E: any

# Numeric
const acos acosh asin asinh atan atanh cos cosh degrees exp exp2 fract inverseSqrt (T) -> T where T: float~
const log log2 radians saturate sin sinh sqrt tan tanh ceil floor round trunc (T) -> T where T: float~
const abs (T) -> T where T: numeric~
const sign (T) -> T where T: signed~
const atan2 pow step (T, T) -> T where T: float~
const max min (T, T) -> T where T: numeric~
const clamp (T, T, T) -> T where T: numeric~
const fma smoothstep (T, T, T) -> T where T: float~
const mix (T, T, T) -> T where T: float~
const mix (vecN<T>, vecN<T>, T) -> vecN<T> where T: float
const cross (vec3<T>, vec3<T>) -> vec3<T> where T: float
const determinant (matCxC<T>) -> T where T: float
const transpose (matCxR<T>) -> matRxC<T> where T: float
const distance (T, T) -> T where T: float
const distance (vecN<T>, vecN<T>) -> T where T: float
const length (T | vecN<T>) -> T where T: float
const normalize (vecN<T>) -> vecN<T> where T: float
const dot (vecN<T>, vecN<T>) -> T where T: numeric
const faceForward (vecN<T>, vecN<T>, vecN<T>) -> vecN<T> where T: float
const reflect (vecN<T>, vecN<T>) -> vecN<T> where T: float
const refract (vecN<T>, vecN<T>, T) -> vecN<T> where T: float
const frexp (T) -> __frexp_result<T> where T: float~
const modf (T) -> __modf_result<T> where T: float~
const ldexp (T, I) -> T where T: float, I: abstract-int|i32
const ldexp (vecN<T>, vecN<I>) -> vecN<T> where T: float, I: abstract-int|i32
const quantizeToF16 (T) -> T where T: f32~

# Integers and bits
const countLeadingZeros countOneBits countTrailingZeros firstLeadingBit firstTrailingBit reverseBits (T) -> T where T: int~
const extractBits (T, u32, u32) -> T where T: int~
const insertBits (T, T, u32, u32) -> T where T: int~
const dot4U8Packed (u32, u32) -> u32
const dot4I8Packed (u32, u32) -> i32

# Derivatives
dpdx dpdxCoarse dpdxFine dpdy dpdyCoarse dpdyFine fwidth fwidthCoarse fwidthFine (T) -> T where T: f32~

# Packing
const pack4x8snorm pack4x8unorm (vec4<f32>) -> u32
const pack4xI8 pack4xI8Clamp (vec4<i32>) -> u32
const pack4xU8 pack4xU8Clamp (vec4<u32>) -> u32
const pack2x16snorm pack2x16unorm pack2x16float (vec2<f32>) -> u32
const unpack4x8snorm unpack4x8unorm (u32) -> vec4<f32>
const unpack4xI8 (u32) -> vec4<i32>
const unpack4xU8 (u32) -> vec4<u32>
const unpack2x16snorm unpack2x16unorm unpack2x16float (u32) -> vec2<f32>

# Atomics
atomicLoad (ptr<storage|workgroup, atomic<T>, read|read_write>) -> T where T: int
atomicStore (ptr<storage|workgroup, atomic<T>, read_write>, T) where T: int
atomicAdd atomicSub atomicMax atomicMin (ptr<storage|workgroup, atomic<T>, read_write>, T) -> T where T: int
atomicAnd atomicOr atomicXor atomicExchange (ptr<storage|workgroup, atomic<T>, read_write>, T) -> T where T: int
atomicCompareExchangeWeak (ptr<storage|workgroup, atomic<T>, read_write>, T, T) -> __atomic_compare_exchange_result<T> where T: int
atomicStoreMax atomicStoreMin (ptr<storage, atomic<vec2<u32>>, read_write>, vec2<u32>)

# Messages
print (T) where T: printed~

# Synchronization
storageBarrier textureBarrier workgroupBarrier ()
workgroupUniformLoad (ptr<workgroup, T, read_write>) -> T where T: constructible
workgroupUniformLoad (ptr<workgroup, atomic<T>, read_write>) -> T where T: int

# Subgroups and quads
subgroupElect () -> bool
subgroupAll subgroupAny (bool) -> bool
subgroupBallot (bool) -> vec4<u32>
subgroupAdd subgroupExclusiveAdd subgroupInclusiveAdd subgroupMul subgroupExclusiveMul subgroupInclusiveMul (T) -> T where T: concrete~
subgroupMax subgroupMin subgroupBroadcastFirst (T) -> T where T: concrete~
subgroupAnd subgroupOr subgroupXor (T) -> T where T: int~
subgroupBroadcast subgroupShuffle quadBroadcast (T, int) -> T where T: concrete~
subgroupShuffleDown subgroupShuffleUp subgroupShuffleXor (T, u32) -> T where T: concrete~
quadSwapDiagonal quadSwapX quadSwapY (T) -> T where T: concrete~

# Texture queries
textureDimensions (texture_1d<S>, int?) -> u32 where S: sampled
textureDimensions (texture_storage_1d<F, read|write|read_write> | texel_buffer<F, read|read_write>) -> u32
textureDimensions (texture_2d<S> | texture_2d_array<S> | texture_cube<S> | texture_cube_array<S>, int?) -> vec2<u32> where S: sampled
textureDimensions (texture_depth_2d | texture_depth_2d_array | texture_depth_cube | texture_depth_cube_array, int?) -> vec2<u32>
textureDimensions (texture_multisampled_2d<S> | texture_multisampled_2d_array<S>) -> vec2<u32> where S: sampled
textureDimensions (texture_depth_multisampled_2d | texture_external) -> vec2<u32>
textureDimensions (texture_storage_2d<F, read|write|read_write> | texture_storage_2d_array<F, read|write|read_write>) -> vec2<u32>
textureDimensions (texture_3d<S>, int?) -> vec3<u32> where S: sampled
textureDimensions (texture_storage_3d<F, read|write|read_write>) -> vec3<u32>
textureNumLayers (texture_2d_array<S> | texture_cube_array<S> | texture_multisampled_2d_array<S>) -> u32 where S: sampled
textureNumLayers (texture_depth_2d_array | texture_depth_cube_array) -> u32
textureNumLayers (texture_storage_2d_array<F, read|write|read_write>) -> u32
textureNumLevels (texture_1d<S> | texture_2d<S> | texture_2d_array<S> | texture_3d<S> | texture_cube<S> | texture_cube_array<S>) -> u32 where S: sampled
textureNumLevels (texture_depth_2d | texture_depth_2d_array | texture_depth_cube | texture_depth_cube_array) -> u32
textureNumSamples (texture_multisampled_2d<S> | texture_multisampled_2d_array<S>) -> u32 where S: sampled
textureNumSamples (texture_depth_multisampled_2d) -> u32

# Texture reads
textureLoad (texture_1d<S>, int, int) -> vec4<S> where S: sampled
textureLoad (texture_2d<S> | texture_multisampled_2d<S>, vec2<int>, int) -> vec4<S> where S: sampled
textureLoad (texture_2d_array<S> | texture_multisampled_2d_array<S>, vec2<int>, int, int) -> vec4<S> where S: sampled
textureLoad (texture_3d<S>, vec3<int>, int) -> vec4<S> where S: sampled
textureLoad (texture_depth_2d | texture_depth_multisampled_2d, vec2<int>, int) -> f32
textureLoad (texture_depth_2d_array, vec2<int>, int, int) -> f32
textureLoad (texture_external, vec2<int>) -> vec4<f32>
textureLoad (texture_storage_1d<F, read|read_write> | texel_buffer<F, read|read_write>, int) -> vec4<F>
textureLoad (texture_storage_2d<F, read|read_write>, vec2<int>) -> vec4<F>
textureLoad (texture_storage_2d_array<F, read|read_write>, vec2<int>, int) -> vec4<F>
textureLoad (texture_storage_3d<F, read|read_write>, vec3<int>) -> vec4<F>

textureGather (int, texture_2d<S>, sampler, vec2<f32>, vec2<i32>?) -> vec4<S> where S: sampled
textureGather (int, texture_2d_array<S>, sampler, vec2<f32>, int, vec2<i32>?) -> vec4<S> where S: sampled
textureGather (int, texture_cube<S>, sampler, vec3<f32>) -> vec4<S> where S: sampled
textureGather (int, texture_cube_array<S>, sampler, vec3<f32>, int) -> vec4<S> where S: sampled
textureGather (texture_depth_2d, sampler, vec2<f32>, vec2<i32>?) -> vec4<f32>
textureGather (texture_depth_2d_array, sampler, vec2<f32>, int, vec2<i32>?) -> vec4<f32>
textureGather (texture_depth_cube, sampler, vec3<f32>) -> vec4<f32>
textureGather (texture_depth_cube_array, sampler, vec3<f32>, int) -> vec4<f32>
textureGatherCompare (texture_depth_2d, sampler_comparison, vec2<f32>, f32, vec2<i32>?) -> vec4<f32>
textureGatherCompare (texture_depth_2d_array, sampler_comparison, vec2<f32>, int, f32, vec2<i32>?) -> vec4<f32>
textureGatherCompare (texture_depth_cube, sampler_comparison, vec3<f32>, f32) -> vec4<f32>
textureGatherCompare (texture_depth_cube_array, sampler_comparison, vec3<f32>, int, f32) -> vec4<f32>

textureSample (texture_1d<f32>, sampler, f32) -> vec4<f32>
textureSample (texture_2d<f32>, sampler, vec2<f32>, vec2<i32>?) -> vec4<f32>
textureSample (texture_2d_array<f32>, sampler, vec2<f32>, int, vec2<i32>?) -> vec4<f32>
textureSample (texture_3d<f32>, sampler, vec3<f32>, vec3<i32>?) -> vec4<f32>
textureSample (texture_cube<f32>, sampler, vec3<f32>) -> vec4<f32>
textureSample (texture_cube_array<f32>, sampler, vec3<f32>, int) -> vec4<f32>
textureSample (texture_depth_2d, sampler, vec2<f32>, vec2<i32>?) -> f32
textureSample (texture_depth_2d_array, sampler, vec2<f32>, int, vec2<i32>?) -> f32
textureSample (texture_depth_cube, sampler, vec3<f32>) -> f32
textureSample (texture_depth_cube_array, sampler, vec3<f32>, int) -> f32

textureSampleCompare textureSampleCompareLevel (texture_depth_2d, sampler_comparison, vec2<f32>, f32, vec2<i32>?) -> f32
textureSampleCompare textureSampleCompareLevel (texture_depth_2d_array, sampler_comparison, vec2<f32>, int, f32, vec2<i32>?) -> f32
textureSampleCompare textureSampleCompareLevel (texture_depth_cube, sampler_comparison, vec3<f32>, f32) -> f32
textureSampleCompare textureSampleCompareLevel (texture_depth_cube_array, sampler_comparison, vec3<f32>, int, f32) -> f32

textureSampleGrad (texture_2d<f32>, sampler, vec2<f32>, vec2<f32>, vec2<f32>, vec2<i32>?) -> vec4<f32>
textureSampleGrad (texture_2d_array<f32>, sampler, vec2<f32>, int, vec2<f32>, vec2<f32>, vec2<i32>?) -> vec4<f32>
textureSampleGrad (texture_3d<f32>, sampler, vec3<f32>, vec3<f32>, vec3<f32>, vec3<i32>?) -> vec4<f32>
textureSampleGrad (texture_cube<f32>, sampler, vec3<f32>, vec3<f32>, vec3<f32>) -> vec4<f32>
textureSampleGrad (texture_cube_array<f32>, sampler, vec3<f32>, int, vec3<f32>, vec3<f32>) -> vec4<f32>

textureSampleLevel (texture_1d<f32>, sampler, f32, f32) -> vec4<f32>
textureSampleBias textureSampleLevel (texture_2d<f32>, sampler, vec2<f32>, f32, vec2<i32>?) -> vec4<f32>
textureSampleBias textureSampleLevel (texture_2d_array<f32>, sampler, vec2<f32>, int, f32, vec2<i32>?) -> vec4<f32>
textureSampleBias textureSampleLevel (texture_3d<f32>, sampler, vec3<f32>, f32, vec3<i32>?) -> vec4<f32>
textureSampleBias textureSampleLevel (texture_cube<f32>, sampler, vec3<f32>, f32) -> vec4<f32>
textureSampleBias textureSampleLevel (texture_cube_array<f32>, sampler, vec3<f32>, int, f32) -> vec4<f32>
textureSampleLevel (texture_depth_2d, sampler, vec2<f32>, int, vec2<i32>?) -> f32
textureSampleLevel (texture_depth_2d_array, sampler, vec2<f32>, int, int, vec2<i32>?) -> f32
textureSampleLevel (texture_depth_cube, sampler, vec3<f32>, int) -> f32
textureSampleLevel (texture_depth_cube_array, sampler, vec3<f32>, int, int) -> f32
textureSampleBaseClampToEdge (texture_2d<f32> | texture_external, sampler, vec2<f32>) -> vec4<f32>

# Texture writes
textureStore (texture_storage_1d<F, write|read_write> | texel_buffer<F, read_write>, int, vec4<F>)
textureStore (texture_storage_2d<F, write|read_write>, vec2<int>, vec4<F>)
textureStore (texture_storage_2d_array<F, write|read_write>, vec2<int>, int, vec4<F>)
textureStore (texture_storage_3d<F, write|read_write>, vec3<int>, vec4<F>)
`;
