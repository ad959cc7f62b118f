fn f() {
  {
    let belay_value_1 = atomicLoad(&n[0]);
    var i = belay_value_1;
    loop {
      let belay_value_5 = i;
      let belay_value_6 = atomicLoad(&n[1]);
      var belay_condition_1 = belay_value_5 < belay_value_6;
      if (belay_condition_1) {
        belay_condition_1 = i < 9u;
      }
      if (!belay_condition_1) {
        break;
      }
      {
        let belay_value_7 = i;
        let belay_value_8: u32 = i;
        a[belay_value_7] = belay_value_8;
      }
      continuing {
        let belay_value_2 = i;
        let belay_value_3 = i;
        let belay_value_4 = atomicAdd(&n[2], belay_value_3);
        i = belay_value_2 + belay_value_4;
      }
    }
  }
  loop {
    let belay_value_9 = workgroupUniformLoad(&most);
    if (!(belay_value_9.x > 3u)) {
      break;
    }
    {
      workgroupBarrier();
    }
  }
}
