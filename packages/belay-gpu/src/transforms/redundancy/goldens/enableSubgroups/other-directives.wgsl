// --- input

enable f16;
requires packed_4x8_integer_dot_product;

fn f() {}

// --- passes: enableSubgroups

enable subgroups;
diagnostic(off, subgroup_uniformity);
