var<workgroup> row: array<u32, 2u * (u32(width + 1) + (48u - u32(width + 1) % 32u) % 32u)>;
var<workgroup> rows: array<array<vec2<u32>, 4>, 2u * u32(height)>;

fn f(i: i32) {
  let belay_value_1: u32 = row[min(u32(-1 - i), u32(width + 1) - 1u) + belay_replica * (u32(width + 1) + (48u - u32(width + 1) % 32u) % 32u)];
  row[min(u32(i), u32(width + 1) - 1u) + belay_replica * (u32(width + 1) + (48u - u32(width + 1) % 32u) % 32u)] = belay_value_1;
  let belay_value_2: u32 = rows[min(u32(i), u32(height) - 1u) + belay_replica * u32(height)][0].y;
  rows[min(u32(1), u32(height) - 1u) + belay_replica * u32(height)][i].x = belay_value_2;
  _ = &row;
}
