// --- input

override width: i32;
override height = 2u;

var<workgroup> row: array<u32, width + 1>;
var<workgroup> rows: array<array<vec2u, 4>, height>;

fn f(i: i32) {
  row[i] = row[-1 - i];
  rows[1][i].x = rows[i][0].y;
  _ = &row;
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

override belay_stride_1: u32 = u32(width + 1) + select(0u, (48u - u32(width + 1) % 32u) % 32u, u32(width + 1) >= 32u);

var<workgroup> row: array<u32, 2u * belay_stride_1>;
var<workgroup> rows: array<array<array<vec2<u32>, 2>, 4>, height>;

fn f(i: i32) {
  let belay_value_1: u32 = row[min(u32(-1 - i), u32(width + 1) - 1u) + belay_replica * belay_stride_1];
  row[min(u32(i), u32(width + 1) - 1u) + belay_replica * belay_stride_1] = belay_value_1;
  let belay_value_2: u32 = rows[i][0][belay_replica].y;
  rows[1][i][belay_replica].x = belay_value_2;
  _ = &row;
}
