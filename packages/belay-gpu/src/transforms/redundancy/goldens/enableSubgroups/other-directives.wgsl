enable subgroups;
diagnostic(off, subgroup_uniformity);
