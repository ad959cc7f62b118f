/**
 * The extension names that directives accept. Source: WGSL specification, "Extensions", and Dawn.
 */

export const enableExtensions: ReadonlySet<string> = new Set([
  "f16",
  "clip_distances",
  "dual_source_blending",
  "subgroups",
  "primitive_index",
  "subgroup_size_control",
  "atomic_vec2u_min_max",
  "chromium_disable_uniformity_analysis",
  "chromium_experimental_barycentric_coord",
  "chromium_experimental_framebuffer_fetch",
  "chromium_experimental_pixel_local",
  "chromium_experimental_resource_table",
  "chromium_experimental_subgroup_matrix",
  "chromium_internal_input_attachments",
]);

/** The language features that `requires` accepts. */
export const languageFeatures: ReadonlySet<string> = new Set([
  "readonly_and_readwrite_storage_textures",
  "packed_4x8_integer_dot_product",
  "unrestricted_pointer_parameters",
  "pointer_composite_access",
  "uniform_buffer_standard_layout",
  "subgroup_id",
  "subgroup_uniformity",
  "texture_and_sampler_let",
  "texture_formats_tier1",
  "linear_indexing",
  "immediate_address_space",
  "fragment_depth",
  "buffer_view",
  "swizzle_assignment",
  "sized_binding_array",
  "texel_buffers",
  "multisampled_array_textures",
  "chromium_print",
  "chromium_testing_experimental",
  "chromium_testing_shipped",
  "chromium_testing_shipped_with_killswitch",
  "chromium_testing_unimplemented",
  "chromium_testing_unsafe_experimental",
]);

/** The severities of a diagnostic filter. */
export const severities: ReadonlySet<string> = new Set(["error", "warning", "info", "off"]);
