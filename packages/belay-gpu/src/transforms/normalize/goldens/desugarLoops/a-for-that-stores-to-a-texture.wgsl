// --- input

@group(0) @binding(0) var image: texture_storage_1d<r32uint, write>;

fn f() {
  var i = 0u;
  for (; i < 3u; textureStore(image, i, vec4u(i))) {
    i++;
  }
}

// --- passes: desugarLoops

fn f() {
  var i = 0u;
  loop {
    if (!(i < 3u)) {
      break;
    }
    {
      i++;
    }
    continuing {
      textureStore(image, i, vec4u(i));
    }
  }
}
