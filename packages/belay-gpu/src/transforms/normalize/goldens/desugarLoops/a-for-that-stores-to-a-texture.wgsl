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
