fn f() {
  {
    var i = 0u;
    loop {
      if (!(i < workgroupUniformLoad(&most))) {
        break;
      }
      {
        workgroupBarrier();
      }
      continuing {
        i++;
      }
    }
  }
}
