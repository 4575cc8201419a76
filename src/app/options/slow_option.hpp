// Ranks that are made slow: "rank=3,factor=4,steps=100:200", "rank=turn,factor=4,every=50,on=products",
// "rank=random,factor=2:4" or "trace=slow.csv", or several such texts with ; between them, or "off".
#pragma once

#include <vector>

#include "app/options/option.hpp"
#include "trireme/config/emulation.hpp"

namespace trireme::app {

// May be given several times. The option refers to `slow`, which must outlive it.
Option slow_option(std::vector<SlowRank>& slow);

}  // namespace trireme::app
